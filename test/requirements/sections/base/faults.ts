import type { JsonObject, Message } from "portolan";
import { expect } from "vitest";
import { metaKey, type RawPeer } from "../../../kit/raw-peer.ts";
import { isStateless } from "../../../kit/revisions.ts";
import type { Requirement } from "../../requirement.ts";
import { answersTo, askOdd, childOf, hold, noId, received, sendOdd, simplest, textOf, wireServer } from "../../wire.ts";

const server = wireServer;

/** Malformed messages, faulty handlers and concurrent calls. */
export const faults: readonly Requirement[] = [
  {
    row: "X-T21",
    says: "after each malformed message the next request is served",
    async test(open, { revision }) {
      const peer = await open({ server, capabilities: { roots: {} } });
      const deep = (depth: number): unknown => {
        let value: unknown = 1;
        for (let level = 0; level < depth; level += 1) value = [value];
        return value;
      };
      const meta = peer.describe({})["_meta"] as JsonObject | undefined;
      const version = metaKey("protocolVersion");
      const odd: unknown[] = [
        ...[null, true, 5, "text", {}, [], [[]], [null], { jsonrpc: "2.0" }],
        { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: { toString: 1 } } },
        { jsonrpc: "2.0", method: "example.com/throws" },
        { jsonrpc: "2.0", id: "m1", method: "tools/list", params: { _meta: { [version]: { toString: 1 } } } },
        { jsonrpc: "2.0", id: "m2", method: "tools/list", params: { _meta: { [version]: null } } },
        { jsonrpc: "2.0", id: "m3", method: "tools/list", params: { _meta: "x" } },
        { jsonrpc: "2.0", id: "m4", method: "tools/list", params: { _meta: [meta] } },
        { jsonrpc: "2.0", id: "m5", method: "tools/list", params: [meta] },
        { jsonrpc: "2.0", id: "m6", method: "initialize", params: { protocolVersion: {}, capabilities: 1 } },
        { jsonrpc: "2.0", id: "m7", method: "x".repeat(100_000), params: peer.describe({}) },
        {
          jsonrpc: "2.0",
          id: "m8",
          method: "tools/call",
          params: peer.describe({ name: "any", arguments: { deep: deep(900) } }),
        },
        {
          jsonrpc: "2.0",
          id: "m9",
          method: "tools/call",
          params: peer.describe({ name: "any", arguments: [], _meta: { progressToken: {} } }),
        },
      ];
      const ids = Array.from({ length: 9 }, (_, index) => `m${index + 1}`);
      const responses = ids.map((id) => peer.responseTo(id));
      for (const message of odd) sendOdd(peer, message);
      const answered = await Promise.all(responses);
      const codes = answered.map(({ error }) => error?.code);
      expect(codes[0]).toBe(-32602);
      expect(codes[4]).toBe(-32602);
      expect(codes[5]).toBe(-32602);
      expect(codes[6]).toBe(-32601);
      expect(codes[8]).toBe(-32602);
      expect((await peer.request(simplest(revision))).result).toBeDefined();
      for (const id of ids) expect(answersTo(peer, id), id).toBe(1);
    },
  },
  {
    row: "X-T21",
    says: "deeply nested arguments are an error and do not crash the server",
    over: ["stdio"],
    async test(open) {
      const peer = await open({ server });
      const nested = `${"[".repeat(200_000)}${"]".repeat(200_000)}`;
      const params = JSON.stringify(
        peer.describe({ name: "any", arguments: { deep: "DEEP" }, extra: "DEEP" }),
      ).replaceAll('"DEEP"', nested);
      const response = peer.responseTo("deep");
      childOf(peer).write(`{"jsonrpc":"2.0","id":"deep","method":"tools/call","params":${params}}\n`);
      const { error, result } = await response;
      expect(error?.code === -32603 || result?.isError === true).toBe(true);
      await peer.settled();
    },
  },
  {
    row: "X-T23",
    says: "a second request with an id in use is refused, and both eras share the ids",
    async test(open, { revision }) {
      const peer = await open({ server });
      const [first] = await hold(peer, "k", "same");
      sendOdd(peer, { jsonrpc: "2.0", id: "same", method: simplest(revision), params: peer.describe({}) });
      expect((await first)?.error).toMatchObject({ code: -32600, message: expect.stringContaining('"same"') });
      const _meta = { [metaKey("protocolVersion")]: "2026-07-28", [metaKey("clientCapabilities")]: {} };
      const otherEra = isStateless(revision) ? { method: "ping" } : { method: "server/discover", params: { _meta } };
      expect((await askOdd(peer, { jsonrpc: "2.0", id: "same", ...otherEra })).error?.code).toBe(-32600);
      const held = peer.responseTo("same");
      await peer.callTool("release", { keys: ["k"] });
      expect(textOf(await held)).toBe("released k");
      expect((await peer.request(simplest(revision), {}, "same")).result).toBeDefined();
    },
  },
  {
    row: "X-T25",
    says: "names of Object.prototype are unknown features and methods, and such arguments do not pollute objects",
    async test(open) {
      const peer = await open({ server });
      for (const name of ["__proto__", "constructor", "toString", "hasOwnProperty"]) {
        expect((await peer.request("tools/call", { name })).error?.code, name).toBe(-32602);
        expect((await peer.request("prompts/get", { name })).error?.code, name).toBe(-32601);
        expect((await peer.request(name)).error?.code, name).toBe(-32601);
        expect((await peer.request("resources/read", { uri: name })).error, name).toBeDefined();
        peer.notify(name);
      }
      const args = JSON.parse(
        '{"__proto__":{"polluted":"yes"},"constructor":{"prototype":{"polluted":"yes"}},"plain":1}',
      );
      const { polluted, keys } = JSON.parse(textOf(await peer.callTool("polluted", args)));
      expect(polluted).toBeNull();
      expect(keys).toContain("plain");
      const _meta = { ...JSON.parse('{"__proto__":{"polluted":"yes"}}') };
      await peer.callTool("any", {}, { _meta });
      expect(JSON.parse(textOf(await peer.callTool("polluted"))).polluted).toBeNull();
    },
  },
  {
    row: "X-T27",
    says: "a batch of 100 members is served, one of 101 is refused",
    async test(open) {
      const peer = await open();
      const pings = (count: number): Message[] =>
        Array.from({ length: count }, (_, id) => ({ jsonrpc: "2.0", id: 1_000 + id, method: "ping" }));
      const last = peer.responseTo(1_099);
      peer.sendBatch(pings(100));
      await last;
      expect(peer.batches.map((batch) => batch.length)).toEqual([100]);
      const strays = peer.strays.length;
      peer.sendBatch(pings(101));
      await peer.settled();
      expect(peer.strays.slice(strays)).toEqual([
        { jsonrpc: "2.0", id: null, error: expect.objectContaining({ code: -32600 }) },
      ]);
    },
  },
  {
    row: "X-R01",
    says: "results, errors and messages without a JSON form become errors that name the path",
    async test(open) {
      const peer = await open({ server, capabilities: { elicitation: {} }, meta: {} });
      const bad = await peer.callTool("bad_result");
      expect(bad.error).toMatchObject({ code: -32603, message: expect.stringContaining("list[1]") });
      expect((await peer.callTool("loop")).error?.code).toBe(-32603);
      for (const name of ["bad_error", "bad_error_later"]) {
        const { error } = await peer.callTool(name);
        expect([4711, -32603], name).toContain(error?.code);
      }
      const logged = await peer.callTool(
        "bad_log",
        {},
        { _meta: peer.meta(isStateless(peer.revision) ? { [metaKey("logLevel")]: "debug" } : {}) },
      );
      expect(logged).toHaveProperty("result");
      const asked = await peer.callTool("bad_question");
      expect(asked.result?.isError === true || asked.error !== undefined).toBe(true);
      expect(textOf(await peer.callTool("any"))).toBe("{}");
    },
  },
  {
    row: "X-R11",
    says: "a malformed request is answered, a malformed response never",
    async test(open, { revision }) {
      const peer = await open();
      const before = received(peer).length;
      for (const silent of [
        { jsonrpc: "2.0", id: 1, result: 5 },
        { jsonrpc: "2.0", id: 1, result: {}, error: { code: 1, message: "both" } },
        { jsonrpc: "2.0", id: 1, error: "text" },
        { jsonrpc: "1.0", id: 1, result: {} },
        { jsonrpc: "2.0", error: { code: 1.5, message: 5 } },
        { jsonrpc: "2.0" },
        {},
        { id: null },
        7,
        "text",
        null,
      ])
        sendOdd(peer, silent);
      await peer.settled();
      expect(received(peer)).toHaveLength(before + 1);
      expect((await askOdd(peer, { jsonrpc: "2.0", id: "a" })).error?.code).toBe(-32600);
      expect((await askOdd(peer, { id: "b", method: "ping" })).error?.code).toBe(-32600);
      sendOdd(peer, { jsonrpc: "2.0", method: 5 });
      await peer.settled();
      expect(peer.strays).toEqual([
        { jsonrpc: "2.0", ...noId(revision), error: expect.objectContaining({ code: -32600 }) },
      ]);
    },
  },
  {
    row: "X-R18",
    says: "unknown, late, repeated and mistyped responses are ignored",
    async test(open, { revision }) {
      const peer = await open({ capabilities: { roots: {} } });
      for (const id of [0, 1, "0", "nobody", -1]) {
        peer.send({ jsonrpc: "2.0", id, result: {} });
        peer.send({ jsonrpc: "2.0", id, error: { code: 1, message: "nothing was asked" } });
      }
      sendOdd(peer, { jsonrpc: "2.0", id: null, error: { code: 1, message: "nothing was asked" } });
      await peer.settled();
      expect(peer.strays).toEqual([]);
      if (isStateless(revision)) return;
      const response = peer.request("tools/call", { name: "ask_roots" });
      const question = await peer.until(({ questions }) => questions[0]);
      peer.send({ jsonrpc: "2.0", id: String(question.id), result: { roots: [{ uri: "file:///wrong" }] } });
      peer.send({ jsonrpc: "2.0", id: question.id, result: { roots: [{ uri: "file:///right" }] } });
      peer.send({ jsonrpc: "2.0", id: question.id, result: { roots: [{ uri: "file:///late" }] } });
      expect(JSON.parse(textOf(await response))).toEqual([{ uri: "file:///right" }]);
      await peer.settled();
      expect(peer.strays).toEqual([]);
    },
  },
  {
    row: "X-R19",
    says: "an id beyond 2^53 is refused instead of being answered with another",
    async test(open, { revision }) {
      const peer = await open();
      for (const id of [2 ** 53, -(2 ** 53), 1e300])
        sendOdd(peer, { jsonrpc: "2.0", id, method: simplest(revision), params: peer.describe({}) });
      await peer.settled();
      expect(peer.strays).toHaveLength(3);
      for (const stray of peer.strays) {
        expect(stray).toEqual({
          jsonrpc: "2.0",
          ...noId(revision),
          error: { code: -32600, message: expect.stringContaining("id") },
        });
      }
    },
  },
  {
    row: "X-methods",
    says: "a custom method is served and its params are checked",
    async test(open, { revision }) {
      const peer = await open({ server });
      const { result } = await peer.request("example.com/twice", { value: 21 });
      expect(result.value).toBe(42);
      expect(result.resultType).toBe(isStateless(revision) ? "complete" : undefined);
      const { error } = await peer.request("example.com/twice", { value: "21" });
      expect(error).toEqual({ code: -32602, message: "Invalid params: params.value: expected a number" });
      peer.notify("example.com/heard", { n: 1 });
      const notified = JSON.parse(textOf(await peer.callTool("heard")));
      expect(notified).toEqual(isStateless(revision) ? [] : [{ n: 1 }]);
    },
  },
  {
    row: "X-order",
    says: "concurrent calls are answered in the order in which they end",
    async test(open) {
      const peer = await open({ server });
      const calls = await Promise.all(["a", "b", "c"].map((key) => hold(peer, key, `call ${key}`)));
      await peer.callTool("release", { keys: ["c", "a", "b"] });
      const responses = await Promise.all(calls.flat());
      expect(responses.map(textOf)).toEqual(["released a", "released b", "released c"]);
      expect(orderOf(peer, ["call a", "call b", "call c"])).toEqual(["call c", "call a", "call b"]);
    },
  },
];

function orderOf(peer: RawPeer, ids: string[]): unknown[] {
  return received(peer).flatMap(({ id, method }) => (method === undefined && ids.includes(String(id)) ? [id] : []));
}
