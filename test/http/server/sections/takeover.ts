import { createMemoryStorage } from "portolan/storage";
import { expect } from "vitest";
import type { RevisionDate } from "../../../kit/revisions.ts";
import { beginFixture } from "../../begin-fixture.ts";
import { createFixture } from "../../fixture.ts";
import { start } from "../../kit.ts";
import { begin } from "../../peer.ts";
import { byUser } from "../../users.ts";
import type { HttpRequirement } from "../requirement.ts";

/** Begins a session with a GET stream at one of two processes; `there` is the same session at the other. */
async function listenInOneOfTwo(revision: RevisionDate) {
  const { server } = createFixture();
  const storage = createMemoryStorage();
  const [one, other] = [await start(server, { storage }), await start(server, { storage })];
  const peer = await begin(one.url, revision);
  return { server, peer, there: peer.at(other.url), first: await peer.get() };
}

/** The rules for taking over the GET stream of a session. */
export const takeover: readonly HttpRequirement[] = [
  {
    row: "X-takeover",
    says: "a second GET of the same principal takes over, and the first stream ends",
    async test(revision) {
      const { server, peer } = await beginFixture(revision, { verify: byUser }, { headers: { authorization: "Ada" } });
      const first = await peer.get();
      const second = await peer.get();
      expect(second.status).toBe(200);
      expect(await first.messages()).toEqual([]);
      server.update((current) => current.tool("grown", { run: () => "new" }));
      expect((await second.message()).method).toBe("notifications/tools/list_changed");
    },
  },
  {
    row: "X-takeover",
    says: "the stream of an anonymous client cannot be taken over while it reads, in any process",
    async test(revision) {
      const { server, peer, there, first } = await listenInOneOfTwo(revision);
      for (const lastEventId of [undefined, "get_", "get_1", "get-_", "get-guessed_1"]) {
        for (const at of [peer, there]) {
          const refused = await at.get(lastEventId);
          expect([lastEventId, refused.status < 500 && refused.status >= 400]).toEqual([lastEventId, true]);
        }
      }
      expect((await peer.get()).status).toBe(409);
      server.update((current) => current.tool("grown", { run: () => "new" }));
      expect((await first.message()).method).toBe("notifications/tools/list_changed");
    },
  },
  {
    row: "X-takeover",
    says: "a client that sends the last event id takes over, in any process",
    async test(revision) {
      const { server, there, first } = await listenInOneOfTwo(revision);
      server.update((current) => current.tool("grown", { run: () => "new" }));
      const { id } = await first.messageEvent();
      const second = await there.get(id);
      expect(second.status).toBe(200);
      expect(await first.messages()).toEqual([]);
      server.update((current) => current.prompt("grown", { get: () => "new" }));
      expect((await second.message()).method).toBe("notifications/prompts/list_changed");
    },
  },
  {
    row: "X-takeover",
    says: "an anonymous client opens a new stream after its connection has ended",
    async test(revision) {
      const { server, peer } = await beginFixture(revision);
      const first = await peer.get();
      first.drop();
      let second = await peer.get();
      for (let tries = 0; second.status === 409 && tries < 100; tries += 1) second = await peer.get();
      server.update((current) => current.tool("grown", { run: () => "new" }));
      expect((await second.message()).method).toBe("notifications/tools/list_changed");
    },
  },
  {
    row: "X-takeover",
    says: "a GET above the stream limit does not end existing streams",
    on: ["2025-11-25"],
    async test(revision) {
      const { server } = createFixture();
      const { url } = await start(server, { limits: { streams: 2 } });
      const [peer, other] = [await begin(url, revision), await begin(url, revision)];
      const [first, others] = [await peer.get(), await other.get()];
      const third = await begin(url, revision);
      expect((await third.get()).status).toBe(503);
      server.update((current) => current.tool("grown", { run: () => "new" }));
      for (const stream of [first, others]) {
        expect((await stream.message()).method).toBe("notifications/tools/list_changed");
      }
    },
  },
];
