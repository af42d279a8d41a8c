import type { JsonObject } from "portolan";
import { expect } from "vitest";
import { isStateless, type RevisionDate, stateful, stateless } from "../../../kit/revisions.ts";
import type { Requirement } from "../../requirement.ts";
import { answersTo, childOf, mentions, noId, received, sendOdd, simplest, textOf, wireServer } from "../../wire.ts";

const server = wireServer;

/** One valid request of every kind that a revision has, by method. */
function everyRequest(revision: RevisionDate): [method: string, params: JsonObject][] {
  const shared: [string, JsonObject][] = [
    ["tools/list", {}],
    ["tools/call", { name: "echo", arguments: { message: "hi" } }],
    ["tools/call", { name: "is_error" }],
    ["resources/list", {}],
    ["resources/templates/list", {}],
    ["resources/read", { uri: "note://a" }],
    ["prompts/list", {}],
    ["prompts/get", { name: "greet", arguments: { who: "Ada" } }],
    ["completion/complete", { ref: { type: "ref/prompt", name: "greet" }, argument: { name: "who", value: "A" } }],
    ["example.com/double", { value: 2 }],
  ];
  if (isStateless(revision)) return [...shared, ["server/discover", {}]];
  return [
    ...shared,
    ["ping", {}],
    ["logging/setLevel", { level: "error" }],
    ["resources/subscribe", { uri: "note://a" }],
    ["resources/unsubscribe", { uri: "note://a" }],
  ];
}

/** The answer of a client without roots. */
const answer = () => ({ roots: [] });

/** Ids, responses, results and notifications. */
export const messages: readonly Requirement[] = [
  {
    row: "A1",
    says: "every message is JSON-RPC 2.0, and only stateful clients receive requests",
    async test(open, { revision }) {
      const peer = await open({ capabilities: { roots: {} }, answer });
      expect(textOf(await peer.callTool("ask_roots"))).toBe("[]");
      await peer.request("no/such/method");
      const messages = received(peer);
      expect(messages.length).toBeGreaterThan(1);
      for (const message of messages) expect(message.jsonrpc).toBe("2.0");
      const requests = messages.filter((message) => message.method !== undefined && message.id !== undefined);
      expect(requests.map(({ method }) => method)).toEqual(isStateless(revision) ? [] : ["roots/list"]);
    },
  },
  {
    row: "A2",
    says: "string and integer ids are returned with their type; other ids are refused",
    async test(open, { revision }) {
      const peer = await open();
      const ids = [0, "", 1, "1", -5, 2 ** 53 - 1, "a b", "日本 😀", "x".repeat(2_000), "null", '\u0000\n"'];
      const responses = await Promise.all(ids.map((id) => peer.request(simplest(revision), {}, id)));
      expect(responses.map(({ id }) => id)).toEqual(ids);
      for (const response of responses) expect(response).toHaveProperty("result");
      const bad = [null, 1.5, true, {}, [1]];
      for (const id of bad)
        sendOdd(peer, { jsonrpc: "2.0", id, method: simplest(revision), params: peer.describe({}) });
      await peer.settled();
      expect(peer.strays).toHaveLength(bad.length);
      for (const stray of peer.strays) {
        expect(stray).toEqual({
          jsonrpc: "2.0",
          ...noId(revision),
          error: { code: -32600, message: expect.any(String) },
        });
      }
    },
  },
  {
    row: "A3",
    says: "the server never reuses the id of a request",
    on: stateful,
    async test(open) {
      const peer = await open({ capabilities: { roots: {} }, answer });
      await Promise.all([peer.callTool("ask_roots"), peer.callTool("ask_roots"), peer.callTool("ask_roots")]);
      await peer.callTool("ask_roots");
      const ids = peer.questions.map(({ id }) => id);
      expect(ids).toHaveLength(4);
      expect(new Set(ids).size).toBe(4);
    },
  },
  {
    row: "A3",
    says: "an id can be reused after its response",
    on: stateless,
    async test(open, { revision }) {
      const peer = await open();
      const first = await peer.request(simplest(revision), {}, "again");
      const second = await peer.request("tools/call", { name: "echo", arguments: { message: "second" } }, "again");
      expect([first.id, second.id]).toEqual(["again", "again"]);
      expect(first.result.supportedVersions).toBeDefined();
      expect(textOf(second)).toBe("second");
    },
  },
  {
    row: "A4",
    says: "each response has the id and either a result or an error",
    async test(open, { revision }) {
      const peer = await open();
      const requests: [string, JsonObject][] = [
        ...everyRequest(revision),
        ["no/such/method", {}],
        ["tools/call", { name: 7 }],
        ["tools/call", { name: "nobody" }],
        ["tools/call", { name: "unserializable" }],
        ["resources/read", { uri: "note://throws" }],
      ];
      for (const [index, [method, params]] of requests.entries()) {
        const response = await peer.request(method, params, `id ${index}`);
        expect(Object.keys(response).sort(), method).toEqual(
          ["id", "jsonrpc", "error" in response ? "error" : "result"].sort(),
        );
        expect(response.id).toBe(`id ${index}`);
        if (response.error)
          expect(response.error).toMatchObject({ code: expect.any(Number), message: expect.any(String) });
        else expect(response.result).toBeTypeOf("object");
        expect(answersTo(peer, `id ${index}`)).toBe(1);
      }
      sendOdd(peer, { jsonrpc: "2.0", id: null, method: "ping" });
      await peer.settled();
      expect(peer.strays).toEqual([
        { jsonrpc: "2.0", ...noId(revision), error: expect.objectContaining({ code: -32600 }) },
      ]);
    },
  },
  {
    row: "A5",
    says: "every result has a resultType on the stateless revision and on no other",
    async test(open, { revision }) {
      const peer = await open();
      for (const [method, params] of everyRequest(revision)) {
        const { result } = await peer.request(method, params);
        expect(result, method).toBeTypeOf("object");
        if (isStateless(revision)) expect(result.resultType, method).toBe("complete");
        else
          for (const later of ["resultType", "ttlMs", "cacheScope"])
            expect(mentions(result, later), `${method}: ${later}`).toBe(false);
      }
      if (peer.initialized) expect(peer.initialized.result).not.toHaveProperty("resultType");
    },
  },
  {
    row: "A7",
    says: "no notification is answered, valid or not",
    async test(open) {
      const peer = await open({ server });
      const before = received(peer).length;
      for (const params of [
        undefined,
        {},
        { requestId: "nobody" },
        { requestId: {} },
        { progressToken: 1, progress: "x" },
        { _meta: null },
      ]) {
        peer.notify("notifications/cancelled", params);
        peer.notify("notifications/progress", params);
        peer.notify("notifications/initialized", params);
        peer.notify("notifications/roots/list_changed", params);
        peer.notify("notifications/of/nobody", params);
        peer.notify("tools/call", params);
        peer.notify("initialize", params);
        peer.notify("example.com/throws", params);
      }
      await peer.settled();
      expect(received(peer)).toHaveLength(before + 1);
    },
  },
  {
    row: "A9",
    says: "Unicode text is returned unchanged, also when its bytes arrive one by one",
    async test(open) {
      const peer = await open();
      const message = "Zürich 東京 🗺️ \u2028 \ufeff é e\u0301";
      const response = peer.responseTo("u");
      const line = JSON.stringify({
        jsonrpc: "2.0",
        id: "u",
        method: "tools/call",
        params: peer.describe({ name: "echo", arguments: { message } }),
      });
      for (const byte of new TextEncoder().encode(`${line}\n`)) childOf(peer).write(Uint8Array.of(byte));
      expect(textOf(await response)).toBe(message);
    },
  },
];
