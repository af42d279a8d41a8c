import type { Verifier } from "portolan/server/http";
import { createMemoryStorage } from "portolan/storage";
import { expect } from "vitest";
import type { RevisionDate } from "../../../kit/revisions.ts";
import { beginFixture } from "../../begin-fixture.ts";
import { createFixture } from "../../fixture.ts";
import { start } from "../../kit.ts";
import { begin, open, SessionPeer, textOf } from "../../peer.ts";
import type { HttpRequirement } from "../requirement.ts";

/** Begins a call that reports progress once and keeps running; also returns the id of the progress event. */
async function beginHeld(revision: RevisionDate) {
  const { fixture, peer } = await beginFixture(revision, { quietMs: 1 });
  const answer = await peer.call("hold", { key: "a" }, "call");
  fixture.step("a");
  const { id } = await answer.messageEvent();
  return { fixture, peer, answer, id: String(id) };
}

/** The ends of streams. */
export const endings: readonly HttpRequirement[] = [
  {
    row: "X-end",
    says: "a client that resumes the stream of a cancelled call receives its end",
    async test(revision) {
      const { fixture, peer, answer, id } = await beginHeld(revision);
      answer.drop();
      await peer.cancel("call");
      await fixture.noted("aborted a");
      expect(await (await peer.get(id)).messages()).toEqual([]);
    },
  },
  {
    row: "X-end",
    says: "a resumed stream ends when its call is cancelled",
    async test(revision) {
      const { peer, answer, id } = await beginHeld(revision);
      answer.drop();
      const resumed = await peer.get(id);
      await peer.cancel("call");
      expect(await resumed.messages()).toEqual([]);
    },
  },
  {
    row: "X-end",
    says: "a resumed stream ends with its session",
    async test(revision) {
      const { peer, answer, id } = await beginHeld(revision);
      answer.drop();
      const resumed = await peer.get(id);
      await peer.delete();
      expect(await resumed.messages()).toEqual([]);
    },
  },
  {
    row: "X-end",
    says: "a stream whose process has stopped ends when it is resumed at another process",
    async test(revision) {
      const storage = createMemoryStorage();
      const [a, b] = [createFixture(), createFixture()];
      const first = await start(a.server, { storage, quietMs: 1 });
      const second = await start(b.server, { storage, quietMs: 1 });
      const peer = await begin(first.url, revision);
      const answer = await peer.call("hold", { key: "a" }, "call");
      a.step("a");
      const { id } = await answer.messageEvent();
      await first.close(0);
      const resumed = await (await peer.at(second.url).get(String(id))).messages();
      expect(resumed.filter((said) => "result" in said)).toEqual([]);
      expect(await peer.at(second.url).textOf("echo", { text: "alive" })).toBe("alive");
    },
  },
  {
    row: "X-end",
    says: "a completed answer can be replayed more than once",
    async test(revision) {
      const { fixture, peer, answer, id } = await beginHeld(revision);
      fixture.release("a");
      expect(textOf((await answer.messages()).at(-1)!)).toBe("released a");
      for (const _ of ["once", "twice"])
        expect(textOf((await (await peer.get(id)).messages()).at(-1)!)).toBe("released a");
    },
  },
  {
    row: "E11",
    says: "the GET stream carries log messages outside requests, at or above the set level",
    async test(revision) {
      const { server, peer } = await beginFixture(revision);
      const stream = await peer.get();
      await (await peer.request("logging/setLevel", { level: "error" })).json();
      server.publish("message", { level: "info", data: "quiet" });
      server.publish("message", { level: "error", data: "loud" });
      expect(await stream.message()).toMatchObject({ method: "notifications/message", params: { data: "loud" } });
    },
  },
  {
    row: "E11",
    says: "a change for one principal is sent to that principal only",
    async test(revision) {
      const { server } = createFixture();
      const verify: Verifier = (request) => ({ key: request.header("authorization") ?? "nobody" });
      const { url } = await start(server, { verify });
      const [ada, grace] = [
        await begin(url, revision, { headers: { authorization: "ada" } }),
        await begin(url, revision, { headers: { authorization: "grace" } }),
      ];
      const streams = [await ada.get(), await grace.get()] as const;
      server.publish("tools/list_changed", {}, { principal: "ada" });
      server.publish("prompts/list_changed", {});
      expect((await streams[0].message()).method).toBe("notifications/tools/list_changed");
      expect((await streams[1].message()).method).toBe("notifications/prompts/list_changed");
    },
  },
  {
    row: "X-token",
    says: "a listening stream ends when the caller's token expires",
    async test(revision) {
      let left = 60_000;
      const verify: Verifier = () => ({ key: "ada", expiresAt: Date.now() + left });
      const { url } = await start(createFixture().server, { verify, keepAliveMs: 5 });
      const peer = await open(url, revision);
      left = 50;
      const filter = { notifications: { toolsListChanged: true } };
      const stream = await (peer instanceof SessionPeer ? peer.get() : peer.request("subscriptions/listen", filter));
      expect(stream.isStream).toBe(true);
      await stream.messages();
    },
  },
];
