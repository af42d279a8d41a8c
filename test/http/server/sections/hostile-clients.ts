import { expect } from "vitest";
import { createFixture } from "../../fixture.ts";
import { start } from "../../kit.ts";
import { begin, open, StatelessPeer, textOf } from "../../peer.ts";
import { byUser } from "../../users.ts";
import type { HttpRequirement } from "../requirement.ts";

const form = { elicitation: {} };

export const hostileClients: readonly HttpRequirement[] = [
  {
    row: "T05",
    says: "100 clients with equal ids and progress tokens each receive their own answer",
    async test(revision) {
      const { url } = await start(createFixture().server);
      const peers = await Promise.all(Array.from({ length: 100 }, () => open(url, revision)));
      const texts = await Promise.all(peers.map((peer, index) => peer.textOf("echo", { text: `text ${index}` })));
      expect(texts).toEqual(peers.map((_, index) => `text ${index}`));
      const streams = await Promise.all(peers.slice(0, 20).map((peer) => peer.call("progress")));
      for (const stream of streams)
        expect((await stream.messages()).map(({ params }) => params?.progress)).toEqual([1, 2, 3, undefined]);
    },
  },
  {
    row: "T06",
    says: "another principal cannot take over the stream of a session",
    async test(revision) {
      const { server } = createFixture();
      const { url } = await start(server, { verify: byUser });
      const ada = await begin(url, revision, { headers: { authorization: "ada" } });
      const stream = await ada.get();
      expect((await ada.at(url, { authorization: "mallory" }).get()).status).toBe(404);
      expect((await ada.at(url, { authorization: "mallory" }).get("get_1")).status).toBe(404);
      server.update((current) => current.tool("grown", { run: () => "new" }));
      expect((await stream.message()).method).toBe("notifications/tools/list_changed");
    },
  },
  {
    row: "T07",
    says: "a foreign session and an unknown one get the same answer",
    async test(revision) {
      const { url } = await start(createFixture().server, { verify: byUser });
      const ada = await begin(url, revision, { headers: { authorization: "ada" } });
      const foreign = ada.at(url, { authorization: "mallory" });
      const unknown = foreign.at(url, { "mcp-session-id": "A".repeat(32) });
      const bodies = await Promise.all([foreign, unknown].map(async (peer) => (await peer.request("ping")).text()));
      expect(bodies[0]).toBe(bodies[1]);
    },
  },
  {
    row: "T07",
    says: "a request to one session cannot be answered in another",
    async test(revision) {
      const fixture = createFixture();
      const { url } = await start(fixture.server);
      const declared = { capabilities: revision < "2025-06-18" ? { roots: {} } : form };
      const [ada, mallory] = [await begin(url, revision, declared), await begin(url, revision, declared)];
      fixture.server.update((current) =>
        current.tool("look", { run: async (_, context) => (await context.roots()).map(({ uri }) => uri).join() }),
      );
      if (revision < "2025-06-18") {
        const answer = await ada.call("look");
        const question = await answer.message();
        await mallory.answer(question.id, { roots: [{ uri: "file:///evil" }] });
        await ada.answer(question.id, { roots: [{ uri: "file:///ada" }] });
        expect(textOf(await answer.message())).toBe("file:///ada");
        return;
      }
      const answer = await ada.call("ask");
      const question = await answer.message();
      await mallory.answer(question.id, { action: "accept", content: { name: "Mallory" } });
      await ada.answer(question.id, { action: "accept", content: { name: "Ada" } });
      expect(textOf(await answer.message())).toBe("Hello Ada");
    },
  },
  {
    row: "T08",
    says: "a request state with any changed character is refused",
    async test() {
      const { url } = await start(createFixture().server);
      const peer = new StatelessPeer(url, { capabilities: form });
      const { result } = await (await peer.call("ask")).json();
      const state: string = result.requestState;
      const inputResponses = { who: { action: "accept", content: { name: "Ada" } } };
      const codeWith = async (requestState: string) => {
        const answer = await peer.request("tools/call", { name: "ask", arguments: {}, inputResponses, requestState });
        return (await answer.json()).error?.code;
      };
      for (let at = 0; at < state.length; at += 7) {
        const changed = state.slice(0, at) + (state[at] === "A" ? "B" : "A") + state.slice(at + 1);
        expect([at, await codeWith(changed)]).toEqual([at, -32602]);
      }
      for (const odd of ["", "x", state.slice(1), `${state}A`, "x".repeat(100_000)])
        expect(await codeWith(odd)).toBe(-32602);
      expect(await codeWith(state)).toBeUndefined();
    },
  },
  {
    row: "T23",
    says: "requests with the same id are each answered on their own connection",
    async test(revision) {
      const fixture = createFixture();
      const { url } = await start(fixture.server);
      const peer = await open(url, revision);
      const calls = ["a", "b"].map((key) => peer.call("hold", { key }, 1));
      await Promise.all([fixture.noted("holding a"), fixture.noted("holding b")]);
      fixture.release("b");
      fixture.release("a");
      const answers = await Promise.all(calls.map(async (answer) => textOf(await (await answer).response())));
      expect(answers).toEqual(["released a", "released b"]);
    },
  },
  {
    row: "T28",
    says: "a cancel aborts all requests with that id in that session, and no others",
    async test(revision) {
      const fixture = createFixture();
      const { url } = await start(fixture.server, { quietMs: 1 });
      const [ada, grace] = [await begin(url, revision), await begin(url, revision)];
      const [, , graces] = [
        await ada.call("hold", { key: "a1" }, 0),
        await ada.call("hold", { key: "a2" }, 0),
        await grace.call("hold", { key: "g" }, 0),
      ];
      for (const odd of ["0", 7, "init"]) await ada.cancel(odd);
      await ada.cancel(0);
      await Promise.all([fixture.noted("aborted a1"), fixture.noted("aborted a2")]);
      fixture.release("g");
      expect(textOf((await graces.messages()).at(-1)!)).toBe("released g");
      expect(fixture.journal).not.toContain("aborted g");
    },
  },
  {
    row: "T28",
    says: "a cancel with an invalid request id is answered 202 and ignored",
    async test(revision) {
      const { url } = await start(createFixture().server);
      const peer = await begin(url, revision);
      for (const requestId of [null, {}, [], 1.5, undefined]) {
        const answer = await peer.notify("notifications/cancelled", { requestId });
        expect(answer.status).toBe(202);
      }
      expect((await peer.request("ping")).status).toBe(200);
    },
  },
];
