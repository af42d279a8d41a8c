import type { ServeHttpOptions } from "portolan/server/http";
import { createMemoryStorage } from "portolan/storage";
import { expect } from "vitest";
import { isStateless } from "../../../kit/revisions.ts";
import { createFixture } from "../../fixture.ts";
import { plainHeaders, send, start, toInitialize, toRequest } from "../../kit.ts";
import { begin, open, SessionPeer, StatelessPeer, textOf, toHeaders, toMeta } from "../../peer.ts";
import { byUser } from "../../users.ts";
import type { HttpRequirement } from "../requirement.ts";

const form = { elicitation: {} };

/** Starts two servers that share only their storage. */
async function startTwo(options: ServeHttpOptions = {}) {
  const shared = { ...options, storage: createMemoryStorage(), quietMs: 1 };
  const [a, b] = [createFixture(), createFixture()];
  const [{ url: urlA }, { url: urlB }] = [await start(a.server, shared), await start(b.server, shared)];
  return { a, b, urlA, urlB };
}

export const whole: readonly HttpRequirement[] = [
  {
    row: "X-status",
    says: "every refusal has a JSON-RPC error, with the id if it could be read",
    async test(revision) {
      const { url } = await start(createFixture().server, { limits: { bodyBytes: 2_000 } });
      const peer = await open(url, revision);
      const base = peer instanceof SessionPeer ? peer.headers : toHeaders("tools/list");
      const request = toRequest("tools/list", isStateless(revision) ? { _meta: toMeta() } : {}, "x");
      const cases = [
        [{ method: "PUT", headers: base }, 405, false],
        [{ headers: { ...base, "content-type": "text/plain" }, body: request }, 415, false],
        [{ headers: base, body: "x".repeat(3_000) }, 413, false],
        [{ headers: base, body: '{"jsonrpc":"2.0","id":"x","method":1}' }, 400, true],
        [{ headers: base, body: "{" }, 400, false],
      ] as const;
      for (const [sent, status, hasId] of cases) {
        const answer = await send(url, sent);
        expect([sent, answer.status]).toEqual([sent, status]);
        expect(answer.headers["content-type"]).toBe("application/json");
        const { id, error } = await answer.json();
        expect([sent, id, typeof error?.code]).toEqual([sent, hasId ? "x" : undefined, "number"]);
      }
    },
  },
  {
    row: "X-sessionless",
    says: "a server without sessions refuses a handshake and lists its versions",
    async test(revision) {
      const { url } = await start(createFixture().server, { sessions: false });
      if (isStateless(revision)) {
        expect(await new StatelessPeer(url).textOf("echo", { text: "hi" })).toBe("hi");
        return;
      }
      const answer = await send(url, { body: toInitialize(revision, {}, "x") });
      expect([400, 405]).toContain(answer.status);
      const { id, error } = await answer.json();
      expect(id).toBe("x");
      expect(error?.message).toContain("2026-07-28");
      expect(error?.data).toMatchObject({ supported: ["2026-07-28"] });
    },
  },
  {
    row: "X-eras",
    says: "initialize with stateless metadata is an unknown method",
    on: ["2026-07-28"],
    async test() {
      const { url } = await start(createFixture().server);
      const answer = await new StatelessPeer(url).request("initialize", { protocolVersion: "2025-11-25" }, "x");
      expect([answer.status, answer.headers["mcp-session-id"]]).toEqual([404, undefined]);
      expect(await answer.json()).toMatchObject({ id: "x", error: { code: -32601 } });
    },
  },
  {
    row: "X-eras",
    says: "a stateless request is served as such, even with a session header",
    async test(revision) {
      const { url } = await start(createFixture().server);
      const session = await begin(url, "2025-11-25");
      const peer = isStateless(revision)
        ? new StatelessPeer(url, { headers: { "mcp-session-id": session.id } })
        : session;
      expect(await peer.textOf("whoami")).toBe(`anonymous ${revision}`);
    },
  },
  {
    row: "X-eras",
    says: "a handshake with an unknown version is answered with the newest stateful version",
    on: ["2025-11-25"],
    async test() {
      const { url } = await start(createFixture().server);
      for (const version of ["2099-01-01", "2026-07-28", "1.0"]) {
        const answer = await send(url, { headers: plainHeaders, body: toInitialize(version) });
        expect([version, (await answer.json()).result?.protocolVersion]).toEqual([version, "2025-11-25"]);
      }
    },
  },
  {
    row: "X-close",
    says: "close refuses new requests, waits for running calls and then resolves",
    async test(revision) {
      const fixture = createFixture();
      const { url, close } = await start(fixture.server, { quietMs: 1 });
      const peer = await open(url, revision);
      const answer = await peer.call("hold", { key: "a" });
      const closed = close();
      const late = await peer.call("echo", { text: "late" }).catch((error: Error) => error);
      expect(late instanceof Error || late.status === 503).toBe(true);
      fixture.release("a");
      expect(textOf((await answer.messages()).at(-1)!)).toBe("released a");
      await closed;
      await expect(peer.call("echo", { text: "later" })).rejects.toThrow("ECONNREFUSED");
    },
  },
  {
    row: "X-close",
    says: "close aborts calls that do not end within the grace period",
    async test(revision) {
      const fixture = createFixture();
      const { url, close } = await start(fixture.server, { quietMs: 1 });
      const answer = await (await open(url, revision)).call("hold", { key: "a" });
      await close(1);
      await fixture.noted("aborted a");
      expect((await answer.messages()).at(-1)?.error?.message).toBe("The server is shutting down");
      await answer.closed;
    },
  },
  {
    row: "X-close",
    says: "close ends GET streams, and can be called twice",
    on: ["2025-11-25"],
    async test(revision) {
      const fixture = createFixture();
      const { url, close } = await start(fixture.server, { quietMs: 1 });
      const peer = await begin(url, revision);
      const stream = await peer.get();
      const answer = await peer.call("hold", { key: "a" });
      const first = await answer.event();
      answer.drop();
      const resumed = await peer.get(first?.id);
      fixture.release("a");
      await resumed.messages();
      await close();
      expect(await stream.messages()).toEqual([]);
      await close();
    },
  },
  {
    row: "X-two",
    says: "a session that begins at one process is served by the other, with its log level",
    async test(revision) {
      const { urlA, urlB } = await startTwo();
      const peer = await begin(urlA, revision);
      expect(await peer.at(urlB).textOf("whoami")).toBe(`anonymous ${revision}`);
      await (await peer.at(urlB).request("logging/setLevel", { level: "error" })).response();
      const said = await (await peer.call("shout")).messages();
      expect(said.map(({ method }) => method)).toContain("notifications/message");
    },
  },
  {
    row: "X-two",
    says: "a request sent by one process is answered at the other",
    async test(revision) {
      const { a, urlA, urlB } = await startTwo();
      a.server.update((current) =>
        current.tool("look", { run: async (_, context) => (await context.roots()).map(({ uri }) => uri).join() }),
      );
      const peer = await begin(urlA, revision, { capabilities: { ...form, roots: {} } });
      const answer = await peer.call("look");
      const question = await answer.message();
      expect(question.method).toBe("roots/list");
      const accepted = await peer.at(urlB).answer(question.id, { roots: [{ uri: "file:///ada" }] });
      expect(accepted.status).toBe(202);
      expect(textOf(await answer.message())).toBe("file:///ada");
    },
  },
  {
    row: "X-two",
    says: "a call that runs at one process is cancelled at the other",
    async test(revision) {
      const { a, urlA, urlB } = await startTwo();
      const peer = await begin(urlA, revision);
      const answer = await peer.call("hold", { key: "a" }, "call");
      await peer.at(urlB).cancel("call");
      await a.noted("aborted a");
      expect(await answer.messages()).toEqual([]);
    },
  },
  {
    row: "X-two",
    says: "a stream that broke at one process is resumed at the other",
    async test(revision) {
      const { a, urlA, urlB } = await startTwo();
      const peer = await begin(urlA, revision);
      const answer = await peer.call("hold", { key: "a" });
      a.step("a");
      let event = await answer.event();
      if (event?.data === "") event = await answer.event();
      answer.drop();
      a.step("a");
      const resumed = await peer.at(urlB).get(event?.id);
      expect((await resumed.message()).params.progress).toBe(2);
      a.release("a");
      expect(textOf(await resumed.message())).toBe("released a");
      expect(await resumed.event()).toBeUndefined();
    },
  },
  {
    row: "X-two",
    says: "a session deleted at one process ends at the other, with its calls and its stream",
    async test(revision) {
      const { b, urlA, urlB } = await startTwo();
      const peer = await begin(urlA, revision);
      const other = peer.at(urlB);
      const [stream, answer] = [await other.get(), await other.call("hold", { key: "b" })];
      expect((await peer.delete()).status).toBe(204);
      await b.noted("aborted b");
      expect(await stream.messages()).toEqual([]);
      expect(await answer.messages()).toEqual([]);
      expect((await other.request("ping")).status).toBe(404);
    },
  },
  {
    row: "X-two",
    says: "a subscription made at one process applies to a stream at the other",
    async test(revision) {
      const { b, urlA, urlB } = await startTwo();
      const peer = await begin(urlA, revision);
      const stream = await peer.at(urlB).get();
      await (await peer.request("resources/subscribe", { uri: "note://1" })).response();
      await peer.at(urlB).textOf("echo", { text: "one round trip" });
      b.server.publish("resources/updated", { uri: "note://1" });
      expect((await stream.message()).params).toMatchObject({ uri: "note://1" });
    },
  },
  {
    row: "X-two",
    says: "a new GET stream at one process ends the older one at the other",
    async test(revision) {
      const { urlA, urlB } = await startTwo({ verify: byUser });
      const peer = await begin(urlA, revision, { headers: { authorization: "Ada" } });
      const first = await peer.get();
      const second = await peer.at(urlB).get();
      expect(second.status).toBe(200);
      expect(await first.messages()).toEqual([]);
    },
  },
  {
    row: "X-two",
    says: "a message published at one process is sent once at the other, to its principal only",
    async test(revision) {
      const { a, b, urlA, urlB } = await startTwo({ verify: byUser });
      const ada = await begin(urlA, revision, { headers: { authorization: "Ada" } });
      const bob = await begin(urlA, revision, { headers: { authorization: "Bob" } });
      const [toAda, toBob] = [await ada.at(urlB).get(), await bob.at(urlB).get()];
      for (const peer of [ada, bob]) await (await peer.request("resources/subscribe", { uri: "note://1" })).response();
      for (const peer of [ada, bob]) await peer.at(urlB).textOf("echo", { text: "one round trip" });
      a.server.publish("resources/updated", { uri: "note://1" }, { principal: "Ada" });
      a.server.publish("message", { level: "emergency", data: "to all" });
      expect((await toAda.message()).params).toMatchObject({ uri: "note://1" });
      for (const stream of [toAda, toBob]) expect((await stream.message()).params).toMatchObject({ data: "to all" });
      b.server.publish("message", { level: "emergency", data: "the end" });
      for (const stream of [toAda, toBob]) expect((await stream.message()).params).toMatchObject({ data: "the end" });
    },
  },
];
