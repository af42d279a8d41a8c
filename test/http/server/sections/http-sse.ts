import { createServer } from "portolan/server";
import { expect } from "vitest";
import { createFixture } from "../../fixture.ts";
import { plainHeaders, send, start, toInitialize, toRequest } from "../../kit.ts";
import { openOld } from "../../old-peer.ts";
import { begin, StatelessPeer, textOf, toMeta } from "../../peer.ts";
import { byUser } from "../../users.ts";
import type { HttpRequirement } from "../requirement.ts";

const form = { elicitation: {} };

/** A server whose notes can be subscribed to. */
function notes() {
  return createServer({ name: "notes", version: "1.0.0" }).template("note://{id}", {
    name: "note",
    subscribe: true,
    read: () => "text",
  });
}

export const httpSse: readonly HttpRequirement[] = [
  {
    row: "D1",
    says: "a client reads the stream at one address and posts to the other",
    async test(revision) {
      const { url } = await start(createFixture().server, { httpSse: true });
      const peer = await openOld(url);
      expect((await peer.initialize(revision)).result).toMatchObject({ protocolVersion: revision });
      expect(textOf(await peer.request("tools/call", { name: "echo", arguments: { text: "hi" } }))).toBe("hi");
    },
  },
  {
    row: "D1",
    says: "options set both addresses",
    on: ["2024-11-05"],
    async test(revision) {
      const { url } = await start(createFixture().server, { httpSse: { path: "/old", messagesPath: "/old/in" } });
      const stream = await send(new URL("/old", url).href, { method: "GET" });
      expect((await stream.event())?.data).toMatch(/^\/old\/in\/[\w-]{32,}$/);
      expect((await send(new URL("/sse", url).href, { body: toInitialize(revision) })).status).toBe(404);
    },
  },
  {
    row: "D1",
    says: "each address accepts its own method only",
    on: ["2024-11-05"],
    async test() {
      const { url } = await start(createFixture().server, { httpSse: true });
      const peer = await openOld(url);
      const posted = await send(new URL("/sse", url).href, { body: toRequest("ping") });
      expect([posted.status, posted.headers.allow]).toEqual([405, "GET"]);
      const got = await send(peer.url, { method: "GET" });
      expect([got.status, got.headers.allow]).toEqual([405, "POST"]);
    },
  },
  {
    row: "D1",
    says: "both addresses are 404 without the httpSse option",
    on: ["2024-11-05"],
    async test() {
      const { url } = await start(createFixture().server);
      expect((await send(new URL("/sse", url).href, { method: "GET" })).status).toBe(404);
      expect((await send(new URL("/messages/x", url).href, { body: toRequest("ping") })).status).toBe(404);
    },
  },
  {
    row: "D2",
    says: "the first event is the endpoint, each later one a message",
    async test(revision) {
      const { url } = await start(createFixture().server, { httpSse: true });
      const stream = await send(new URL("/sse", url).href, { method: "GET" });
      expect(stream.headers["content-type"]).toBe("text/event-stream");
      const first = await stream.event();
      expect(first?.event).toBe("endpoint");
      const posted = await send(new URL(first!.data, url).href, { body: toInitialize(revision) });
      expect([posted.status, await posted.text()]).toEqual([202, ""]);
      const second = await stream.event();
      expect(second?.event).toBe("message");
      expect(JSON.parse(second!.data)).toMatchObject({ jsonrpc: "2.0", id: "init", result: {} });
    },
  },
  {
    row: "D2",
    says: "notifications, requests and errors are sent on the stream",
    on: ["2025-06-18"],
    async test(revision) {
      const { url } = await start(createFixture().server, { httpSse: true });
      const peer = await openOld(url);
      await peer.initialize(revision, form);
      await peer.post(toRequest("tools/call", { name: "progress", _meta: { progressToken: 7 } }));
      for (const progress of [1, 2, 3])
        expect(await peer.next()).toMatchObject({ params: { progressToken: 7, progress } });
      expect(textOf(await peer.next())).toBe("done");
      await peer.post(toRequest("tools/call", { name: "ask" }, 2));
      const question = await peer.next();
      expect(question.method).toBe("elicitation/create");
      await peer.post({ jsonrpc: "2.0", id: question.id, result: { action: "accept", content: { name: "Ada" } } });
      expect(textOf(await peer.next())).toBe("Hello Ada");
      expect((await peer.request("no/such", {}, 3)).error?.code).toBe(-32601);
    },
  },
  {
    row: "D2",
    says: "a malformed body is answered with 400, and the session goes on",
    async test(revision) {
      const { url } = await start(createFixture().server, { httpSse: true });
      const peer = await openOld(url);
      await peer.initialize(revision);
      for (const [body, code] of [
        ["{", -32700],
        ['{"jsonrpc":"2.0","id":7}', -32600],
      ] as const) {
        const answer = await peer.post(body);
        expect([answer.status, (await answer.json()).error?.code]).toEqual([400, code]);
      }
      expect(textOf(await peer.request("tools/call", { name: "echo", arguments: { text: "hi" } }))).toBe("hi");
    },
  },
  {
    row: "T18",
    says: "a stream counts as a session of its caller until it ends",
    on: ["2024-11-05"],
    async test() {
      const { url } = await start(createFixture().server, {
        httpSse: true,
        verify: byUser,
        sessions: { maxPerCaller: 1 },
      });
      const openAs = (authorization: string) =>
        send(new URL("/sse", url).href, { method: "GET", headers: { authorization, accept: "text/event-stream" } });
      const first = await openAs("ada");
      const [second, other] = [await openAs("ada"), await openAs("grace")];
      expect([first.status, second.status, other.status]).toEqual([200, 429, 200]);
      expect((await second.json()).error?.code).toBe(-31429);
      first.drop();
      await first.closed;
      let status = 429;
      while (status === 429) status = (await openAs("ada")).status;
      expect(status).toBe(200);
    },
  },
  {
    row: "T18",
    says: "calls in flight are limited per caller, and one that ends makes room",
    on: ["2024-11-05"],
    async test(revision) {
      const fixture = createFixture();
      const { url } = await start(fixture.server, {
        httpSse: true,
        caller: () => "everyone",
        limits: { callsPerCaller: 1 },
      });
      const peer = await openOld(url);
      await peer.initialize(revision);
      const hold = (key: string, id: number) =>
        peer.post(toRequest("tools/call", { name: "hold", arguments: { key } }, id));
      expect((await hold("a", 1)).status).toBe(202);
      const refused = await hold("b", 2);
      expect([refused.status, (await refused.json()).error?.code]).toEqual([429, -31429]);
      fixture.release("a");
      expect(textOf(await peer.next())).toBe("released a");
      expect((await hold("c", 3)).status).toBe(202);
      await peer.post({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 3 } });
      await fixture.noted("aborted c");
      expect((await hold("d", 4)).status).toBe(202);
    },
  },
  {
    row: "T18",
    says: "a call counts until its handler has ended, also after it was cancelled or its client has gone",
    on: ["2024-11-05"],
    async test(revision) {
      const ends: (() => void)[] = [];
      const server = createServer({ name: "deaf", version: "1.0.0" }).tool("deaf", {
        run: () => new Promise<string>((resolve) => ends.push(() => resolve("done"))),
      });
      const { url } = await start(server, {
        httpSse: true,
        caller: () => "everyone",
        limits: { callsPerCaller: 1 },
      });
      let id = 0;
      const call = async (peer: Awaited<ReturnType<typeof openOld>>) => {
        id += 1;
        return (await peer.post(toRequest("tools/call", { name: "deaf", arguments: {} }, id))).status;
      };
      const [peer, other] = [await openOld(url), await openOld(url)];
      for (const each of [peer, other]) await each.initialize(revision);
      expect(await call(peer)).toBe(202);
      await peer.post({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 1 } });
      expect(await call(peer)).toBe(429);
      ends[0]?.();
      expect(await call(peer)).toBe(202);
      peer.stream.drop();
      // The endpoint is gone when the server has noticed that its client is.
      while ((await peer.post({ jsonrpc: "2.0", method: "notifications/initialized" })).status !== 404);
      expect(await call(other)).toBe(429);
      ends[1]?.();
      expect(await call(other)).toBe(202);
      expect(ends).toHaveLength(3);
    },
  },
  {
    row: "T18",
    says: "the id of a cancelled call cannot be used again while its handler runs",
    on: ["2024-11-05"],
    async test(revision) {
      let calls = 0;
      const server = createServer({ name: "deaf", version: "1.0.0" }).tool("deaf", {
        run: () => {
          calls += 1;
          return new Promise<string>(() => {});
        },
      });
      const { url } = await start(server, { httpSse: true, caller: () => "everyone", limits: { callsPerCaller: 2 } });
      const peer = await openOld(url);
      await peer.initialize(revision);
      const call = toRequest("tools/call", { name: "deaf", arguments: {} }, 1);
      await peer.post(call);
      for (let n = 0; n < 4; n++) {
        await peer.post({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 1 } });
        expect((await peer.post(call)).status).toBe(202);
        expect((await peer.next()).error?.code).toBe(-32600);
      }
      expect(calls).toBe(1);
    },
  },
  {
    row: "T18",
    says: "a subscription counts until it ends: a refused unsubscribe request ends none",
    on: ["2024-11-05"],
    async test(revision) {
      const { url } = await start(notes(), {
        httpSse: true,
        caller: () => "everyone",
        limits: { subscriptionsPerCaller: 1 },
      });
      const peer = await openOld(url);
      await peer.initialize(revision);
      expect((await peer.request("resources/subscribe", { uri: "note://a" })).result).toEqual({});
      // Revision 2026-07-28 has no such method.
      await peer.post(toRequest("resources/unsubscribe", { uri: "note://a", _meta: toMeta() }));
      expect((await peer.next()).error?.code).toBe(-32601);
      expect((await peer.post(toRequest("resources/subscribe", { uri: "note://b" }, 2))).status).toBe(429);
      expect((await peer.request("resources/unsubscribe", { uri: "note://a" })).result).toEqual({});
      expect((await peer.request("resources/subscribe", { uri: "note://b" })).result).toEqual({});
    },
  },
  {
    row: "T18",
    says: "subscriptions take kept bytes of their caller until they end",
    on: ["2024-11-05"],
    async test(revision) {
      const { url } = await start(notes(), {
        httpSse: true,
        caller: () => "everyone",
        limits: { keptBytesPerCaller: 10_000 },
      });
      let id = 0;
      const subscribing = async (method: string, uri: string) => {
        id += 1;
        const answer = await peer.post(toRequest(method, { uri }, id));
        return answer.status === 202 ? 202 : [answer.status, (await answer.json()).error?.code];
      };
      const [one, other] = ["1", "2"].map((digit) => `note://${digit.repeat(6_000)}`) as [string, string];
      let peer = await openOld(url);
      await peer.initialize(revision);
      expect(await subscribing("resources/subscribe", one)).toBe(202);
      expect(await subscribing("resources/subscribe", other)).toEqual([429, -31429]);
      expect(await subscribing("resources/unsubscribe", one)).toBe(202);
      expect(await subscribing("resources/subscribe", other)).toBe(202);
      peer.stream.drop();
      await peer.stream.closed;
      peer = await openOld(url);
      await peer.initialize(revision);
      let again = await subscribing("resources/subscribe", one);
      while (again !== 202) again = await subscribing("resources/subscribe", one);
    },
  },
  {
    row: "D3",
    says: "the endpoint has no host and is unguessable",
    async test() {
      const { url } = await start(createFixture().server, { httpSse: true });
      const [one, other] = [await openOld(url), await openOld(url)];
      for (const { endpoint } of [one, other]) expect(endpoint).toMatch(/^\/messages\/[\w-]{32,}$/);
      expect(one.endpoint).not.toBe(other.endpoint);
      expect((await send(new URL("/messages/guess", url).href, { body: toRequest("ping") })).status).toBe(404);
    },
  },
  {
    row: "D3",
    says: "the endpoint is 404 after its stream has closed",
    async test(revision) {
      const fixture = createFixture();
      const { url } = await start(fixture.server, { httpSse: true });
      const peer = await openOld(url);
      await peer.initialize(revision);
      await peer.post(toRequest("tools/call", { name: "hold", arguments: { key: "a" } }));
      await fixture.noted("holding a");
      peer.stream.drop();
      await fixture.noted("aborted a");
      expect((await peer.post(toRequest("ping"))).status).toBe(404);
    },
  },
  {
    row: "D3",
    says: "an endpoint belongs to the principal that opened the stream",
    async test() {
      const verify = ({ header }: { header(name: string): string | undefined }) => ({
        key: header("x-user") ?? "none",
      });
      const { url } = await start(createFixture().server, {
        httpSse: true,
        verify: (request) => verify({ header: (name) => request.header(name) }),
      });
      const peer = await openOld(url, { "x-user": "ada" });
      expect((await peer.post(toRequest("ping"), { "x-user": "mallory" })).status).toBe(404);
      expect((await peer.post(toRequest("ping"), { "x-user": "ada" })).status).toBe(202);
    },
  },
  {
    row: "D4",
    says: "a foreign origin and a foreign host are refused at both addresses",
    async test() {
      const { url } = await start(createFixture().server, { httpSse: true });
      const peer = await openOld(url);
      for (const bad of [{ origin: "https://evil.example" }, { host: "evil.example" }]) {
        const headers = { ...plainHeaders, ...bad };
        expect((await send(new URL("/sse", url).href, { method: "GET", headers })).status).toBe(403);
        expect((await send(peer.url, { headers, body: toRequest("ping") })).status).toBe(403);
      }
    },
  },
  {
    row: "D5",
    says: "clients of both transports and both eras use one server at the same time",
    async test() {
      const { url } = await start(createFixture().server, { httpSse: true });
      const [old, session] = [await openOld(url), await begin(url, "2025-11-25")];
      await old.initialize("2024-11-05");
      const answers = [
        textOf(await old.request("tools/call", { name: "whoami" })),
        await session.textOf("whoami"),
        await new StatelessPeer(url).textOf("whoami"),
      ];
      expect(answers).toEqual(["anonymous 2024-11-05", "anonymous 2025-11-25", "anonymous 2026-07-28"]);
    },
  },
];
