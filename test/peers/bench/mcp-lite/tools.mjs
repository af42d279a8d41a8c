import { McpServer } from "mcp-lite";
import { z } from "zod";
import { handler } from "../../../../bench/handlers.mjs";

export function createBenchServer(extraTools) {
  const server = new McpServer({
    name: "bench",
    version: "1.0.0",
    schemaAdapter: (schema) => z.toJSONSchema(schema),
  });
  server.tool("echo", {
    description: "Says the message back",
    inputSchema: z.object({ message: z.string() }),
    handler: handler(({ message }) => ({ content: [{ type: "text", text: message }] })),
  });
  server.tool("add", {
    description: "Adds two numbers",
    inputSchema: z.object({ a: z.number(), b: z.number() }),
    outputSchema: z.object({ sum: z.number() }),
    handler: handler(({ a, b }) => {
      const result = { sum: a + b };
      return { content: [{ type: "text", text: JSON.stringify(result) }], structuredContent: result };
    }),
  });
  server.tool("notify", {
    description: "Reports progress n times",
    inputSchema: z.object({ n: z.number() }),
    handler: handler(async ({ n }, context) => {
      for (let progress = 1; progress <= n; progress++) await context.progress({ progress, total: n });
      return { content: [{ type: "text", text: "done" }] };
    }),
  });
  for (let i = 0; i < extraTools; i++) {
    server.tool(`extra-${i}`, {
      description: `Extra tool ${i}`,
      inputSchema: z.object({ value: z.string() }),
      handler: handler(({ value }) => ({ content: [{ type: "text", text: value }] })),
    });
  }
  return server;
}
