import { createMemoryStorage } from "portolan/storage";
import { expect } from "vitest";
import { isStateless, stateful } from "../../../kit/revisions.ts";
import { createFixture } from "../../fixture.ts";
import { start } from "../../kit.ts";
import { begin, open, textOf } from "../../peer.ts";
import { byUser } from "../../users.ts";
import type { HttpRequirement } from "../requirement.ts";

const priming = "2025-11-25";
const form = { elicitation: {} };

export const streams: readonly HttpRequirement[] = [
  {
    row: "E8",
    says: "a stream opens with an id and no data on the revision that has it, and on no other",
    async test(revision) {
      const { url } = await start(createFixture().server);
      const peer = await begin(url, revision);
      const posted = await (await peer.call("steps")).event();
      const got = await peer.get();
      if (revision === priming) {
        for (const first of [posted, await got.event()])
          expect([first?.data, first?.id]).toEqual(["", expect.stringMatching(/./)]);
        return;
      }
      expect(JSON.parse(posted!.data)).toMatchObject({ method: "notifications/progress" });
    },
  },
  {
    row: "E9",
    says: "the first event of a stream says how long to wait",
    async test(revision) {
      const { url } = await start(createFixture().server);
      const peer = await begin(url, revision);
      for (const answer of [await peer.call("steps"), await peer.get()]) {
        expect(Number((await answer.event())?.retry)).toBeGreaterThan(0);
      }
    },
  },
  {
    row: "E10",
    says: "a client that goes cancels its request if nothing else would tell, and only then",
    async test(revision) {
      const fixture = createFixture();
      const { url } = await start(fixture.server, { quietMs: 1 });
      const peer = await open(url, revision);
      const answer = await peer.call("hold", { key: "a" });
      answer.drop();
      await answer.closed;
      if (isStateless(revision)) {
        await fixture.noted("aborted a");
        return;
      }
      expect(await peer.textOf("echo", { text: "still there" })).toBe("still there");
      fixture.release("a");
      expect(await peer.textOf("echo", { text: "and later" })).toBe("and later");
      expect(fixture.journal).toEqual(["holding a"]);
    },
  },
  {
    row: "E10",
    says: "a client that goes before there is a stream cancels its request",
    on: ["2026-07-28"],
    async test(revision) {
      const fixture = createFixture();
      const { url } = await start(fixture.server);
      const peer = await open(url, revision);
      const gone = new AbortController();
      const lost = peer.call("hold", { key: "a" }, 1, {}, gone.signal).catch((error: Error) => error.name);
      await fixture.noted("holding a");
      gone.abort();
      expect(await lost).toBe("AbortError");
      await fixture.noted("aborted a");
    },
  },
  {
    row: "E11",
    says: "the GET stream tells of changes and of nothing that belongs to a request",
    async test(revision) {
      const { server } = createFixture();
      const { url } = await start(server);
      const peer = await begin(url, revision);
      const stream = await peer.get();
      expect(stream.isStream).toBe(true);
      const answer = await peer.call("progress");
      expect(await answer.messages()).toHaveLength(4);
      server.update((current) => current.tool("grown", { run: () => "new" }));
      expect((await stream.message()).method).toBe("notifications/tools/list_changed");
    },
  },
  {
    row: "E11",
    says: "the GET stream tells subscribers of their resources",
    async test(revision) {
      const { server } = createFixture();
      const { url } = await start(server);
      const peer = await begin(url, revision);
      const stream = await peer.get();
      await (await peer.request("resources/subscribe", { uri: "note://1" })).json();
      server.publish("resources/updated", { uri: "note://1" });
      expect(await stream.message()).toMatchObject({
        method: "notifications/resources/updated",
        params: { uri: "note://1" },
      });
      await (await peer.request("resources/unsubscribe", { uri: "note://1" })).json();
      server.publish("resources/updated", { uri: "note://1" });
      server.update((current) => current.tool("grown", { run: () => "new" }));
      expect((await stream.message()).method).toBe("notifications/tools/list_changed");
    },
  },
  {
    row: "E11",
    says: "a stream that is opened after a subscription hears of it too",
    async test(revision) {
      const { server } = createFixture();
      const { url } = await start(server);
      const peer = await begin(url, revision);
      await (await peer.request("resources/subscribe", { uri: "note://1" })).json();
      const stream = await peer.get();
      await peer.textOf("echo", { text: "one round trip" });
      server.publish("resources/updated", { uri: "note://1" });
      expect((await stream.message()).params).toMatchObject({ uri: "note://1" });
    },
  },
  {
    row: "E12",
    says: "a change is told once to each session, and a message never to two streams",
    async test(revision) {
      const { server } = createFixture();
      const { url } = await start(server);
      const [one, other] = [await begin(url, revision), await begin(url, revision)];
      const streams = [await one.get(), await other.get()];
      server.update((current) => current.tool("grown", { run: () => "new" }));
      server.update((current) => current.prompt("grown", { get: () => "new" }));
      for (const stream of streams) {
        const methods = [(await stream.message()).method, (await stream.message()).method];
        expect(methods.sort()).toEqual(["notifications/prompts/list_changed", "notifications/tools/list_changed"]);
      }
      expect(await (await one.call("progress")).messages()).toHaveLength(4);
    },
  },
  {
    row: "E12",
    says: "a question goes on the stream of its request, also while a GET stream is open",
    on: ["2025-06-18", "2025-11-25"],
    async test(revision) {
      const { url } = await start(createFixture().server);
      const peer = await begin(url, revision, { capabilities: form });
      await peer.get();
      const answer = await peer.call("ask");
      const question = await answer.message();
      expect(question.method).toBe("elicitation/create");
      await peer.answer(question.id, { action: "accept", content: { name: "Ada" } });
      expect(textOf(await answer.message())).toBe("Hello Ada");
    },
  },
  {
    row: "X-takeover",
    says: "a second GET of the same user takes over, and the first one ends",
    async test(revision) {
      const { server } = createFixture();
      const { url } = await start(server, { verify: byUser });
      const peer = await begin(url, revision, { headers: { authorization: "Ada" } });
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
    says: "nobody takes a stream from an anonymous client that reads it, in any process",
    async test(revision) {
      const { server } = createFixture();
      const storage = createMemoryStorage();
      const [here, there] = [await start(server, { storage }), await start(server, { storage })];
      const peer = await begin(here.url, revision);
      const first = await peer.get();
      for (const lastEventId of [undefined, "get_", "get_1", "get-_", "get-guessed_1"]) {
        for (const at of [peer, peer.at(there.url)]) {
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
    says: "who has read the last event takes over, in any process",
    async test(revision) {
      const { server } = createFixture();
      const storage = createMemoryStorage();
      const [here, there] = [await start(server, { storage }), await start(server, { storage })];
      const peer = await begin(here.url, revision);
      const first = await peer.get();
      server.update((current) => current.tool("grown", { run: () => "new" }));
      let event = await first.event();
      while (event?.data === "") event = await first.event();
      const second = await peer.at(there.url).get(event?.id);
      expect(second.status).toBe(200);
      expect(await first.messages()).toEqual([]);
      server.update((current) => current.prompt("grown", { get: () => "new" }));
      expect((await second.message()).method).toBe("notifications/prompts/list_changed");
    },
  },
  {
    row: "X-takeover",
    says: "an anonymous client whose connection ended opens another",
    async test(revision) {
      const { server } = createFixture();
      const { url } = await start(server);
      const peer = await begin(url, revision);
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
    says: "a GET that is refused for the number of streams does not end the one that is there",
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
  {
    row: "X-cancel",
    says: "a cancelled request aborts its handler, and its stream ends without a response",
    async test(revision) {
      const fixture = createFixture();
      const { url } = await start(fixture.server, { quietMs: 1 });
      const peer = await begin(url, revision);
      const answer = await peer.call("hold", { key: "a" }, 0);
      expect((await peer.cancel(0)).status).toBe(202);
      await fixture.noted("aborted a");
      expect(await answer.messages()).toEqual([]);
    },
  },
  {
    row: "X-cancel",
    says: "the connection of a cancelled request is answered although nothing was said before",
    async test(revision) {
      const fixture = createFixture();
      const { url } = await start(fixture.server);
      const peer = await begin(url, revision);
      const answer = peer.call("hold", { key: "a" }, "");
      await fixture.noted("holding a");
      await peer.cancel("");
      await fixture.noted("aborted a");
      expect((await (await answer).text()).includes('"result"')).toBe(false);
    },
  },
  {
    row: "X-cancel",
    says: "a question is taken back with its call",
    on: ["2025-06-18", "2025-11-25"],
    async test(revision) {
      const { url } = await start(createFixture().server);
      const peer = await begin(url, revision, { capabilities: form });
      const answer = await peer.call("ask", {}, "call");
      const question = await answer.message();
      await peer.cancel("call");
      const rest = await answer.messages();
      expect(rest).toMatchObject([{ method: "notifications/cancelled", params: { requestId: question.id } }]);
    },
  },
  {
    row: "X-cancel",
    says: "one member of a batch is cancelled and the others are answered",
    on: ["2025-03-26"],
    async test(revision) {
      const fixture = createFixture();
      const { url } = await start(fixture.server);
      const peer = await begin(url, revision);
      const call = (id: string) => ({
        jsonrpc: "2.0",
        id,
        method: "tools/call",
        params: { name: "hold", arguments: { key: id } },
      });
      const answer = peer.post([call("a"), call("b")]);
      await fixture.noted("holding b");
      await peer.cancel("a");
      await fixture.noted("aborted a");
      fixture.release("b");
      const responses = [await (await answer).json()].flat();
      expect(responses).toMatchObject([{ id: "b" }]);
    },
  },
  {
    row: "X-cancel",
    says: "a batch whose members are all cancelled is answered without responses",
    on: ["2025-03-26"],
    async test(revision) {
      const fixture = createFixture();
      const { url } = await start(fixture.server);
      const peer = await begin(url, revision);
      const hold = { name: "hold", arguments: { key: "a" } };
      const answer = peer.post([{ jsonrpc: "2.0", id: 1, method: "tools/call", params: hold }]);
      await fixture.noted("holding a");
      await peer.cancel(1);
      await fixture.noted("aborted a");
      expect((await (await answer).text()).includes('"result"')).toBe(false);
    },
  },
  {
    row: "E18",
    says: "DELETE ends the session, its stream and its calls",
    on: stateful,
    async test(revision) {
      const fixture = createFixture();
      const { url } = await start(fixture.server, { quietMs: 1 });
      const peer = await begin(url, revision);
      const stream = await peer.get();
      const answer = await peer.call("hold", { key: "a" });
      const deleted = await peer.delete();
      expect([deleted.status, await deleted.text()]).toEqual([204, ""]);
      await fixture.noted("aborted a");
      expect(await stream.messages()).toEqual([]);
      expect(await answer.messages()).toEqual([]);
      for (const again of [peer.request("ping"), peer.get(), peer.delete()]) expect((await again).status).toBe(404);
    },
  },
];
