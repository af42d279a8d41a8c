import type { JsonObject, Message } from "portolan";
import { expect } from "vitest";
import { metaKey } from "../../kit/raw-peer.ts";
import { isStateless, type RevisionDate, stateful, stateless } from "../../kit/revisions.ts";
import type { Requirement } from "../requirement.ts";
import {
  answersTo,
  askOdd,
  childOf,
  mentions,
  noId,
  received,
  sendOdd,
  simplest,
  textOf,
  wireServer,
} from "../wire.ts";
import { faults } from "./faults.ts";

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

/** Whether the tool that asks was asked for its roots, and how often. */
const answer = () => ({ roots: [] });

const rules: Requirement[] = [
  {
    row: "A1",
    says: "every message is JSON-RPC 2.0, and only stateful clients are sent requests",
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
    says: "strings and integers come back with their type, other ids are refused",
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
    says: "the server never uses an id of its own twice",
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
    says: "an id is free again once it was answered",
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
    says: "every result names its type on the stateless revision and on no other",
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
    says: "no notification is answered, whatever it says",
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
    row: "A8",
    says: "a batch is answered as a batch, without its notifications",
    on: ["2025-03-26"],
    async test(open) {
      const peer = await open();
      const responses = ["a", "b", "c"].map((id) => peer.responseTo(id));
      peer.sendBatch([
        { jsonrpc: "2.0", id: "a", method: "ping" },
        { jsonrpc: "2.0", method: "notifications/of/nobody" },
        { jsonrpc: "2.0", id: "b", method: "tools/call", params: { name: "echo", arguments: { message: "hi" } } },
        { jsonrpc: "2.0", id: "c", method: "no/such/method" },
      ]);
      const [a, b, c] = await Promise.all(responses);
      expect(a?.result).toEqual({});
      expect(textOf(b ?? {})).toBe("hi");
      expect(c?.error?.code).toBe(-32601);
      expect(peer.batches).toHaveLength(1);
      expect(peer.batches[0]).toHaveLength(3);

      const before = received(peer).length;
      peer.sendBatch([{ jsonrpc: "2.0", method: "notifications/of/nobody" }]);
      await peer.settled();
      expect(received(peer)).toHaveLength(before + 1);

      const initialize: Message = {
        jsonrpc: "2.0",
        id: "i",
        method: "initialize",
        params: { protocolVersion: "2025-03-26", capabilities: {}, clientInfo: { name: "x", version: "1" } },
      };
      for (const refused of [
        [],
        [initialize],
        [
          { jsonrpc: "2.0", id: 1, result: {} },
          { jsonrpc: "2.0", id: 2, method: "ping" },
        ],
      ]) {
        peer.strays.length = 0;
        peer.sendBatch(refused as Message[]);
        await peer.until(({ strays }) => strays.length === 1);
        expect(peer.strays[0]).toMatchObject({ id: null, error: { code: -32600 } });
      }
      expect(peer.batches).toHaveLength(1);
    },
  },
  {
    row: "A8",
    says: "a member of a batch that is cancelled or has no JSON form does not spoil the others",
    on: ["2025-03-26"],
    async test(open) {
      const peer = await open({ server });
      const responses = ["bad", "good"].map((id) => peer.responseTo(id));
      const call = (id: string, params: JsonObject): Message => ({ jsonrpc: "2.0", id, method: "tools/call", params });
      peer.sendBatch([
        call("held", { name: "hold", arguments: { key: "k" }, _meta: { progressToken: 1 } }),
        call("bad", { name: "bad_result" }),
        call("good", { name: "any" }),
      ]);
      await peer.notification("notifications/progress");
      peer.notify("notifications/cancelled", { requestId: "held" });
      const [bad, good] = await Promise.all(responses);
      expect(bad?.error?.code).toBe(-32603);
      expect(textOf(good ?? {})).toBe("{}");
      expect(peer.batches.map((batch) => batch.length)).toEqual([2]);
    },
  },
  {
    row: "A8",
    says: "a batch is refused as a whole where there are none",
    on: ["2024-11-05", "2025-06-18", "2025-11-25", "2026-07-28"],
    async test(open, { revision }) {
      const peer = await open({ server });
      const call = (id: string): Message => ({
        jsonrpc: "2.0",
        id,
        method: "tools/call",
        params: peer.describe({ name: "any" }),
      });
      peer.sendBatch([call("a"), call("b")]);
      await peer.settled();
      expect(peer.strays).toEqual([
        { jsonrpc: "2.0", ...noId(revision), error: { code: -32600, message: expect.stringContaining("batch") } },
      ]);
      expect(answersTo(peer, "a") + answersTo(peer, "b")).toBe(0);
      expect(peer.batches).toEqual([]);
    },
  },
  {
    row: "A8",
    says: "a handshake in a batch is no handshake",
    async test(open) {
      const peer = await open({ handshake: false });
      const params = { protocolVersion: "2025-03-26", capabilities: {}, clientInfo: { name: "x", version: "1" } };
      peer.sendBatch([{ jsonrpc: "2.0", id: "i", method: "initialize", params }]);
      const { error } = await peer.requestExactly({ jsonrpc: "2.0", id: "t", method: "tools/list" });
      expect(error).toMatchObject({ code: -32602, data: { supported: ["2026-07-28"] } });
      expect(answersTo(peer, "i")).toBe(0);
      expect(peer.strays.map((stray) => stray.error?.code)).toEqual([-32600]);
    },
  },
  {
    row: "A9",
    says: "text of every script passes, also when its bytes come one by one",
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
  {
    row: "A10",
    says: "unknown methods, bad params, bad requests and failures have their codes",
    async test(open, { revision }) {
      const peer = await open();
      const codeOf = async (method: string, params: JsonObject) => (await peer.request(method, params)).error?.code;
      expect(await codeOf("no/such/method", {})).toBe(-32601);
      expect(await codeOf("no/such/method", { name: 7, cursor: {} })).toBe(-32601);
      expect(await codeOf("tools/call", {})).toBe(-32602);
      expect(await codeOf("tools/call", { name: "echo", arguments: [] })).toBe(-32602);
      expect(await codeOf("tools/list", { cursor: 5 })).toBe(-32602);
      expect(await codeOf("prompts/get", { name: "greet", arguments: { who: 5 } })).toBe(-32602);
      expect(
        await codeOf("completion/complete", { ref: { type: "ref/other" }, argument: { name: "x", value: "" } }),
      ).toBe(-32602);
      expect(await codeOf("resources/read", { uri: "note://throws" })).toBe(-32603);
      const method = simplest(revision);
      const params = peer.describe({});
      expect((await askOdd(peer, { jsonrpc: "1.0", id: "v", method, params })).error?.code).toBe(-32600);
      expect((await askOdd(peer, { id: "w", method, params })).error?.code).toBe(-32600);
      expect((await askOdd(peer, { jsonrpc: "2.0", id: "x", method: 5, params })).error?.code).toBe(-32600);
      expect((await askOdd(peer, { jsonrpc: "2.0", id: "y", params })).error?.code).toBe(-32600);
      expect((await askOdd(peer, { jsonrpc: "2.0", id: "z", method, params: "text" })).error?.code).toBe(-32600);
      for (const { error } of received(peer)) if (error) expect(error.message).not.toContain("\n");
    },
  },
  {
    row: "A10",
    says: "text that is no JSON is a parse error, under its id where that can be read",
    over: ["stdio"],
    async test(open, { revision }) {
      const peer = await open();
      const response = peer.responseTo("p");
      childOf(peer).write('{"jsonrpc":"2.0","id":"p","method":"tools/list",,}\n');
      expect((await response).error?.code).toBe(-32700);
      childOf(peer).write('{"jsonrpc":"2.0","method"\n');
      await peer.settled();
      expect(peer.strays).toEqual([
        { jsonrpc: "2.0", ...noId(revision), error: expect.objectContaining({ code: -32700 }) },
      ]);
    },
  },
  {
    row: "A11",
    says: "a missing resource has the code of the revision and names its URI",
    async test(open, { revision }) {
      const peer = await open();
      for (const uri of ["note://gone", "nobody://knows"]) {
        const { error, result } = await peer.request("resources/read", { uri });
        expect(result).toBeUndefined();
        expect(error).toMatchObject({ code: isStateless(revision) ? -32602 : -32002, data: { uri } });
      }
    },
  },
  {
    row: "A12",
    says: "only the revision that defines the code lets a handler send it",
    async test(open, { revision }) {
      const peer = await open({ server });
      const { error } = await peer.callTool("throw_code", { code: -32042, data: { elicitations: [] } });
      expect(error?.code).toBe(revision === "2025-11-25" ? -32042 : -32603);
    },
  },
  {
    row: "A13",
    says: "an unsupported version and a missing capability have codes that older clients never see",
    async test(open, { revision }) {
      const peer = await open();
      const missing = await peer.callTool("needs_elicitation");
      if (isStateless(revision)) {
        expect(missing.error).toMatchObject({
          code: -32021,
          data: { requiredCapabilities: { elicitation: { form: {} } } },
        });
        const version = await peer.request("tools/list", { _meta: { [metaKey("protocolVersion")]: "1999-01-01" } });
        expect(version.error).toMatchObject({
          code: -32022,
          data: { supported: ["2026-07-28"], requested: "1999-01-01" },
        });
        return;
      }
      expect(missing.error?.code).toBe(-32602);
      expect((await peer.callTool("ask_name")).error?.code).toBe(-32602);
      const wire = await open({ server });
      for (const code of [-32020, -32021, -32022]) {
        expect((await wire.callTool("throw_code", { code })).error?.code).toBe(-32603);
      }
    },
  },
  {
    row: "A14",
    says: "codes of applications pass with their data, reserved ones do not",
    async test(open, { revision }) {
      const peer = await open({ server });
      const data = { why: ["a", { b: null }] };
      for (const code of [1, 4711, -1, -31999, -32769]) {
        const { error } = await peer.callTool("throw_code", { code, data });
        expect(error).toEqual({ code, message: "thrown by a handler", data });
      }
      for (const code of [-32023, -32050, -32099]) {
        expect((await peer.callTool("throw_code", { code })).error?.code).toBe(-32603);
      }
      expect((await peer.callTool("throw_code", { code: -32002 })).error?.code).toBe(
        isStateless(revision) ? -32602 : -32002,
      );
      expect((await peer.callTool("throw_code", { code: 1.5 })).error?.code).toBe(-32603);
    },
  },
  {
    row: "A15",
    says: "metadata of a request reaches the handler, metadata of a result the client",
    async test(open) {
      const peer = await open();
      const _meta = { "example.com/deep": { list: [1, "two", null] }, "com.example.mcp/x": true, plain: "x" };
      const { meta } = JSON.parse(textOf(await peer.callTool("who", {}, { _meta })));
      expect(meta).toMatchObject(_meta);
      const { result } = await peer.callTool("mixed", {}, { _meta: { progressToken: "t" } });
      expect(result._meta).toMatchObject({ "example.com/note": "kept" });
      expect(result["example.com/extra"]).toBe(1);
      expect(result._meta).not.toHaveProperty("progressToken");
    },
  },
  {
    row: "A16",
    says: "trace context arrives as it was sent",
    async test(open) {
      const peer = await open();
      const trace = {
        traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
        tracestate: "rojo=00f067aa0ba902b7,congo=t61rcWkgMzE",
        baggage: "userId=alice,serverNode=DF%2028",
      };
      expect(JSON.parse(textOf(await peer.callTool("who", {}, { _meta: trace }))).meta).toMatchObject(trace);
    },
  },
  {
    row: "A18",
    says: "capabilities, log level and identity count for one request only",
    async test(open) {
      const peer = await open();
      const rich = {
        [metaKey("clientCapabilities")]: { elicitation: {} },
        [metaKey("logLevel")]: "debug",
        [metaKey("clientInfo")]: { name: "rich", version: "2" },
      };
      expect((await peer.callTool("needs_elicitation", {}, { _meta: rich })).result).toMatchObject({
        content: [{ text: "ran" }],
      });
      expect((await peer.callTool("needs_elicitation")).error?.code).toBe(-32021);
      await peer.callTool("logs", {}, { _meta: rich });
      expect(peer.notifications.filter(({ method }) => method === "notifications/message")).toHaveLength(8);
      await peer.callTool("logs");
      expect(peer.notifications.filter(({ method }) => method === "notifications/message")).toHaveLength(8);
      expect(JSON.parse(textOf(await peer.callTool("who"))).client.name).toBe("raw-peer");
      const bare = await peer.requestExactly({ jsonrpc: "2.0", id: "bare", method: "tools/list", params: {} });
      expect(bare.error?.code).toBe(-32602);
    },
  },
];

/** The base protocol, and what a server makes of peers that do not keep to it. */
export const base: readonly Requirement[] = [...rules, ...faults];
