import { createClock, type ManualClock } from "portolan/testing";
import { expect } from "vitest";
import { isStateless } from "../../../kit/revisions.ts";
import { allAnswers, asks, gate, textOf } from "../kit/calls.ts";
import type { Requirement, Scene } from "../requirement.ts";

const silent = () => undefined;

/** Resolves to the cancellation of a request. */
function cancelled({ server }: Scene, id: unknown) {
  return server.until(() => server.of("notifications/cancelled").find(({ params }) => params.requestId === id));
}

/** Sends progress, waits for its arrival, then advances the clock. */
async function progressThen(scene: Scene, clock: ManualClock, progress: number, ms: number): Promise<void> {
  const { progressToken } = scene.server.of("tools/call").at(-1)!.params._meta;
  scene.server.notify("notifications/progress", { progressToken, progress });
  await scene.settled();
  await clock.advance(ms);
}

export const time: Requirement[] = [
  {
    row: "C-B13",
    says: "a silent call rejects after its idle timeout, and the request is cancelled",
    async test({ open, revision, transport }) {
      const clock = createClock();
      const scene = await open({ clock, on: { "tools/call": silent, "resources/read": silent } });
      const { client, server } = scene;
      const usual = expect(client.callTool("a")).rejects.toMatchObject({ code: "timeout", name: "TimeoutError" });
      const { id } = await server.arrival("tools/call");
      await clock.advance(59_000);
      expect(server.of("notifications/cancelled")).toEqual([]);
      await clock.advance(1_000);
      await usual;
      const { reason } = (await cancelled(scene, id)).params;
      // Closing a connection carries no reason.
      if (transport === "http" && isStateless(revision)) expect(reason).toBeUndefined();
      else expect(reason).toMatch(/60000 ms/);
      const own = expect(client.readResource("note://a", { idleMs: 100 })).rejects.toMatchObject({
        code: "timeout",
        requestMayHaveRun: true,
        message: expect.stringMatching(/note:\/\/a.*100 ms.*idleMs/),
      });
      const read = await server.arrival("resources/read");
      await clock.advance(100);
      await own;
      await cancelled(scene, read.id);
    },
  },
  {
    row: "C-B13",
    says: "progress resets the idle timeout, but not the total timeout",
    async test({ open }) {
      const clock = createClock();
      const scene = await open({ clock, idleMs: 1_000, totalMs: 3_500, on: { "tools/call": silent } });
      const { client, server } = scene;
      let outcome = "none";
      const call = client.callTool("a").catch(({ message }) => {
        outcome = message;
      });
      const { id } = await server.arrival("tools/call");
      for (const step of [1, 2, 3, 4]) await progressThen(scene, clock, step, 800);
      expect(outcome).toBe("none");
      await progressThen(scene, clock, 5, 800);
      await call;
      expect(outcome).toMatch(/3500 ms.*totalMs/);
      await cancelled(scene, id);
    },
  },
  {
    row: "C-B13",
    says: "an answer in time resolves, and nothing is cancelled later",
    async test({ open }) {
      const clock = createClock();
      const { client, server, settled } = await open({ clock, idleMs: 1_000 });
      expect(textOf(await client.callTool("a"))).toBe("done");
      await clock.advance(3_600_000);
      await settled();
      expect(server.of("notifications/cancelled")).toEqual([]);
    },
  },
  {
    row: "C-B13",
    says: "timeouts are paused while a request of the server is open",
    async test({ open, revision }) {
      const clock = createClock();
      const thinking = gate();
      const asked = gate();
      const { client, server } = await open({
        clock,
        idleMs: 1_000,
        totalMs: 5_000,
        on: { "tools/call": asks(revision, "roots/list") },
        answers: {
          ...allAnswers,
          roots: async () => {
            asked.open();
            await thinking.promise;
            return [];
          },
        },
      });
      const call = client.callTool("a");
      await asked.promise;
      await clock.advance(3_600_000);
      thinking.open();
      expect(JSON.parse(textOf(await call))).toEqual({ roots: [] });
      expect(server.of("notifications/cancelled")).toEqual([]);
    },
  },
  {
    row: "C-B13",
    says: "after an answer the idle timeout runs again",
    async test({ open, revision }) {
      const clock = createClock();
      const scene = await open({
        clock,
        idleMs: 1_000,
        on: {
          "tools/call": async (request, scripted) => {
            if (request.params.inputResponses) return undefined as never;
            if (isStateless(revision)) return (await asks(revision, "roots/list")(request, scripted)) ?? {};
            await scripted.ask("roots/list");
            return undefined as never;
          },
        },
        answers: { roots: [] },
      });
      const failed = expect(scene.client.callTool("a")).rejects.toMatchObject({ code: "timeout" });
      const { id } = isStateless(revision)
        ? await scene.server.arrival("tools/call", 2)
        : await scene.server.arrival("tools/call");
      if (!isStateless(revision)) await scene.server.until(() => scene.server.responseTo("question 1"));
      await clock.advance(999);
      expect(scene.server.of("notifications/cancelled")).toEqual([]);
      await clock.advance(11);
      await failed;
      await cancelled(scene, id);
    },
  },
  {
    row: "C-G16",
    says: "a result without valid content rejects, and a call that never ends times out",
    async test({ open }) {
      const clock = createClock();
      const bad = [{}, { content: "text" }, { content: [5] }, { content: [{ text: "untyped" }] }];
      const { client, server } = await open({
        clock,
        on: { "tools/call": ({ params }) => (params.name === "hang" ? undefined : bad[Number(params.name)]) },
      });
      for (const index of bad.keys()) {
        const failing = client.callTool(String(index));
        await expect(failing).rejects.toMatchObject({
          code: "answer-invalid",
          message: expect.stringMatching(/content/),
        });
      }
      const hanging = expect(client.callTool("hang")).rejects.toMatchObject({ code: "timeout" });
      await server.arrival("tools/call", bad.length + 1);
      await clock.advance(60_000);
      await hanging;
    },
  },
];
