import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { z } from "zod";
import { handler } from "../../../../bench/handlers.mjs";

export function createBenchServer(extraTools) {
  const server = new McpServer({ name: "bench", version: "1.0.0" });
  server.registerTool(
    "echo",
    { description: "Says the message back", inputSchema: { message: z.string() } },
    handler(({ message }) => ({ content: [{ type: "text", text: message }] })),
  );
  server.registerTool(
    "add",
    {
      description: "Adds two numbers",
      inputSchema: { a: z.number(), b: z.number() },
      outputSchema: { sum: z.number() },
    },
    handler(({ a, b }) => {
      const result = { sum: a + b };
      return { content: [{ type: "text", text: JSON.stringify(result) }], structuredContent: result };
    }),
  );
  server.registerTool(
    "notify",
    { description: "Reports progress n times", inputSchema: { n: z.number() } },
    handler(async ({ n }, extra) => {
      const progressToken = extra._meta?.progressToken;
      for (let progress = 1; progress <= n; progress++) {
        await extra.sendNotification({
          method: "notifications/progress",
          params: { progressToken, progress, total: n },
        });
      }
      return { content: [{ type: "text", text: "done" }] };
    }),
  );
  for (let i = 0; i < extraTools; i++) {
    server.registerTool(
      `extra-${i}`,
      { description: `Extra tool ${i}`, inputSchema: { value: z.string() } },
      handler(({ value }) => ({ content: [{ type: "text", text: value }] })),
    );
  }
  return server;
}
