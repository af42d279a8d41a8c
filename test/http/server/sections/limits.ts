import { createMemoryStorage } from "portolan/storage";
import { expect, onTestFinished, vi } from "vitest";
import { createFixture } from "../../fixture.ts";
import { plainHeaders, send, start, toInitialize } from "../../kit.ts";
import { begin, open, SessionPeer, textOf } from "../../peer.ts";
import { byUser } from "../../users.ts";
import type { HttpRequirement } from "../requirement.ts";

const form = { elicitation: {} };

/** Stops the clock, which the server shares with the test; `pass` advances it. */
function stopClock(): { pass(ms: number): void } {
  vi.useFakeTimers({ toFake: ["Date", "performance"], now: 1_800_000_000_000 });
  onTestFinished(() => {
    vi.useRealTimers();
  });
  return { pass: (ms) => vi.advanceTimersByTime(ms) };
}

export const limits: readonly HttpRequirement[] = [
  {
    row: "T16",
    says: "a stream above the limit is refused with 503, and open streams continue",
    async test(revision) {
      const fixture = createFixture();
      const { url } = await start(fixture.server, { limits: { streams: 2 } });
      const peer = await open(url, revision);
      const filter = { notifications: { toolsListChanged: true } };
      const listen = (id: string) =>
        peer instanceof SessionPeer
          ? begin(url, "2025-11-25").then((own) => own.get())
          : peer.request("subscriptions/listen", filter, id);
      const first = [await listen("a"), await listen("b")];
      if (!(peer instanceof SessionPeer)) for (const stream of first) await stream.message();
      const refused = await listen("c");
      expect(refused.isStream).toBe(false);
      expect([refused.status, refused.headers["retry-after"]]).toEqual([503, expect.stringMatching(/^\d+$/)]);
      expect((await refused.json()).error?.code).toEqual(expect.any(Number));
      fixture.server.update((current) => current.tool("grown", { run: () => "new" }));
      for (const stream of first) expect((await stream.message()).method).toBe("notifications/tools/list_changed");
    },
  },
  {
    row: "T16",
    says: "streams are limited per caller",
    async test(revision) {
      const { url } = await start(createFixture().server, { verify: byUser, limits: { streamsPerCaller: 1 } });
      const calls = ["ada", "ada", "grace"].map(async (authorization) => {
        const peer = await open(url, revision, { headers: { authorization } });
        const filter = { notifications: { toolsListChanged: true } };
        return peer instanceof SessionPeer ? peer.get() : peer.request("subscriptions/listen", filter);
      });
      const statuses = (await Promise.all(calls)).map(({ status, isStream }) => (isStream ? 200 : status));
      expect([statuses.slice(0, 2).sort(), statuses[2]]).toEqual([[200, 429], 200]);
    },
  },
  {
    row: "T16",
    says: "a call that must ask the client fails when no stream is left",
    on: ["2025-11-25"],
    async test(revision) {
      const { url } = await start(createFixture().server, { limits: { streams: 1 } });
      const peer = await begin(url, revision, { capabilities: form });
      await peer.get();
      const { result, error } = await (await peer.call("ask")).json();
      expect(error !== undefined || result.isError).toBe(true);
    },
  },
  {
    row: "T16",
    says: "a call is answered with JSON when no stream is left",
    async test(revision) {
      const { url } = await start(createFixture().server, { limits: { streams: 0 } });
      const answer = await (await open(url, revision)).call("progress");
      expect([answer.isStream, textOf(await answer.json())]).toEqual([false, "done"]);
    },
  },
  {
    row: "T17",
    says: "a client that does not read is disconnected, and other requests are served",
    async test(revision) {
      const fixture = createFixture();
      const piece = "x".repeat(64 * 1024);
      let isStalled = false;
      fixture.server.update((current) =>
        current.tool("flood", {
          run: async (_, context) => {
            for (let step = 1; !context.signal.aborted && !isStalled; step += 1) {
              context.progress(step, undefined, piece);
              await new Promise((resolve) => setImmediate(resolve));
            }
            return "ended";
          },
        }),
      );
      const { url } = await start(fixture.server, { limits: { backlog: 256 * 1024 }, keepAliveMs: 20 });
      const peer = await open(url, revision);
      const answer = await peer.call("flood");
      answer.stall();
      await answer.gone();
      isStalled = true;
      expect(await peer.textOf("echo", { text: "alive" })).toBe("alive");
    },
  },
  {
    row: "T18",
    says: "sessions above the limit are refused with 503 until one ends",
    async test(revision) {
      const { url } = await start(createFixture().server, { sessions: { max: 2 } });
      const [first] = [await begin(url, revision), await begin(url, revision)];
      const refused = await send(url, { body: toInitialize(revision, {}, "x") });
      expect([refused.status, refused.headers["retry-after"]]).toEqual([503, expect.stringMatching(/^\d+$/)]);
      expect(refused.headers["mcp-session-id"]).toBeUndefined();
      expect(await refused.json()).toMatchObject({ id: "x", error: { code: -31429 } });
      expect((await first.request("ping")).status).toBe(200);
      await first.delete();
      await begin(url, revision);
    },
  },
  {
    row: "T18",
    says: "sessions above the rate limit are refused with 503, those of one caller with 429",
    async test(revision) {
      const clock = stopClock();
      const sessions = { perMinute: 3, perMinutePerCaller: 2 };
      const { url } = await start(createFixture().server, { verify: byUser, sessions });
      const tryAs = async (authorization: string) =>
        (await send(url, { headers: { ...plainHeaders, authorization }, body: toInitialize(revision) })).status;
      const statuses = [];
      for (const user of ["ada", "ada", "ada", "grace", "grace"]) statuses.push(await tryAs(user));
      expect(statuses).toEqual([200, 200, 429, 200, 503]);
      clock.pass(60_000);
      expect(await tryAs("ada")).toBe(200);
    },
  },
  {
    row: "T18",
    says: "an idle session expires and makes room for another",
    async test(revision) {
      const clock = stopClock();
      const { url } = await start(createFixture().server, { sessions: { max: 1, idleMs: 120_000 } });
      const first = await begin(url, revision);
      expect((await send(url, { body: toInitialize(revision) })).status).toBe(503);
      clock.pass(120_001);
      await begin(url, revision);
      expect((await first.request("ping")).status).toBe(404);
    },
  },
  {
    row: "T18",
    says: "a session in use does not expire",
    async test(revision) {
      const clock = stopClock();
      const storage = createMemoryStorage();
      const { url } = await start(createFixture().server, { storage, sessions: { idleMs: 90_000 } });
      const peer = await begin(url, revision);
      for (let uses = 0; uses < 20; uses += 1) {
        clock.pass(59_000);
        expect([uses, (await peer.request("ping")).status]).toEqual([uses, 200]);
      }
    },
  },
  {
    row: "T18",
    says: "a session with an open stream does not expire",
    async test(revision) {
      const clock = stopClock();
      const { url } = await start(createFixture().server, { sessions: { idleMs: 90_000 }, keepAliveMs: 5 });
      const peer = await begin(url, revision);
      const stream = await peer.get();
      stream.messages().catch(() => {});
      clock.pass(90_001);
      await stream.commented();
      expect((await peer.request("ping")).status).toBe(200);
    },
  },
];
