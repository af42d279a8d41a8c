import { FastMCP } from "fastmcp";
import { z } from "zod";
import { handler } from "../../../../bench/handlers.mjs";

export function createBenchServer(extraTools) {
  const server = new FastMCP({ name: "bench", version: "1.0.0" });
  server.addTool({
    name: "echo",
    description: "Says the message back",
    parameters: z.object({ message: z.string() }),
    execute: handler(({ message }) => message),
  });
  server.addTool({
    name: "add",
    description: "Adds two numbers",
    parameters: z.object({ a: z.number(), b: z.number() }),
    outputSchema: z.object({ sum: z.number() }),
    execute: handler(({ a, b }) => ({ sum: a + b })),
  });
  server.addTool({
    name: "notify",
    description: "Reports progress n times",
    parameters: z.object({ n: z.number() }),
    execute: handler(async ({ n }, { reportProgress }) => {
      for (let progress = 1; progress <= n; progress++) await reportProgress({ progress, total: n });
      return "done";
    }),
  });
  for (let i = 0; i < extraTools; i++) {
    server.addTool({
      name: `extra-${i}`,
      description: `Extra tool ${i}`,
      parameters: z.object({ value: z.string() }),
      execute: handler(({ value }) => value),
    });
  }
  return server;
}
