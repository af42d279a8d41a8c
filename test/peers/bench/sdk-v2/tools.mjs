import { McpServer } from "@modelcontextprotocol/server";
import { z } from "zod";
import { handler } from "../../../../bench/handlers.mjs";

export function createBenchServer(extraTools, schemaOf = (schema) => schema) {
  const server = new McpServer({ name: "bench", version: "1.0.0" });
  server.registerTool(
    "echo",
    { description: "Says the message back", inputSchema: schemaOf(z.object({ message: z.string() })) },
    handler(({ message }) => ({ content: [{ type: "text", text: message }] })),
  );
  server.registerTool(
    "add",
    {
      description: "Adds two numbers",
      inputSchema: schemaOf(z.object({ a: z.number(), b: z.number() })),
      outputSchema: schemaOf(z.object({ sum: z.number() })),
    },
    handler(({ a, b }) => {
      const result = { sum: a + b };
      return { content: [{ type: "text", text: JSON.stringify(result) }], structuredContent: result };
    }),
  );
  server.registerTool(
    "notify",
    { description: "Reports progress n times", inputSchema: schemaOf(z.object({ n: z.number() })) },
    handler(async ({ n }, context) => {
      const progressToken = context.mcpReq._meta?.progressToken;
      for (let progress = 1; progress <= n; progress++) {
        await context.mcpReq.notify({
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
      { description: `Extra tool ${i}`, inputSchema: schemaOf(z.object({ value: z.string() })) },
      handler(({ value }) => ({ content: [{ type: "text", text: value }] })),
    );
  }
  return server;
}
