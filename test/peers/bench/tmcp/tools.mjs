import { ZodJsonSchemaAdapter } from "@tmcp/adapter-zod";
import { McpServer } from "tmcp";
import { z } from "zod";
import { handler } from "../../../../bench/handlers.mjs";

export function createBenchServer(extraTools) {
  const server = new McpServer(
    { name: "bench", version: "1.0.0", description: "bench" },
    { adapter: new ZodJsonSchemaAdapter(), capabilities: { tools: {} } },
  );
  server.tool(
    { name: "echo", description: "Says the message back", schema: z.object({ message: z.string() }) },
    handler(({ message }) => ({ content: [{ type: "text", text: message }] })),
  );
  server.tool(
    {
      name: "add",
      description: "Adds two numbers",
      schema: z.object({ a: z.number(), b: z.number() }),
      outputSchema: z.object({ sum: z.number() }),
    },
    handler(({ a, b }) => {
      const result = { sum: a + b };
      return { content: [{ type: "text", text: JSON.stringify(result) }], structuredContent: result };
    }),
  );
  server.tool(
    { name: "notify", description: "Reports progress n times", schema: z.object({ n: z.number() }) },
    handler(({ n }) => {
      for (let i = 1; i <= n; i++) server.progress(i, n);
      return { content: [{ type: "text", text: "done" }] };
    }),
  );
  for (let i = 0; i < extraTools; i++) {
    server.tool(
      { name: `extra-${i}`, description: `Extra tool ${i}`, schema: z.object({ value: z.string() }) },
      handler(({ value }) => ({ content: [{ type: "text", text: value }] })),
    );
  }
  return server;
}
