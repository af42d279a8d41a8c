import type { JsonObject, Message } from "portolan";
import { expect } from "vitest";
import type { Requirement } from "../../requirement.ts";
import { answersTo, noId, received, textOf, wireServer } from "../../wire.ts";

const server = wireServer;

/** Batches, in revisions with and without them. */
export const batches: readonly Requirement[] = [
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
    says: "a cancelled or unserializable member of a batch does not affect the others",
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
    says: "a batch is refused as a whole in revisions without batches",
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
    says: "a handshake in a batch is refused",
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
];
