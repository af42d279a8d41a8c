import type { JsonObject } from "portolan";
import { expect } from "vitest";
import { metaKey } from "../../../kit/raw-peer.ts";
import { isStateless } from "../../../kit/revisions.ts";
import type { Requirement } from "../../requirement.ts";
import { askOdd, childOf, noId, received, simplest, wireServer } from "../../wire.ts";

const server = wireServer;

/** Error codes. */
export const codes: readonly Requirement[] = [
  {
    row: "A10",
    says: "unknown methods, invalid params, invalid requests and failures have their error codes",
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
    says: "text that is not JSON is a parse error, with its id if it can be read",
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
    says: "application error codes are sent with their data, reserved ones are not",
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
];
