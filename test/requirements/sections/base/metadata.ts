import { expect } from "vitest";
import { metaKey } from "../../../kit/raw-peer.ts";
import type { Requirement } from "../../requirement.ts";
import { textOf } from "../../wire.ts";

/** Metadata of requests and results. */
export const metadata: readonly Requirement[] = [
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
    says: "trace context arrives unchanged",
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
    says: "capabilities, log level and identity apply to one request only",
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
