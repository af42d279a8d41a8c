import { createServer } from "portolan/server";
import { z } from "zod";
import { handler } from "../../handlers.mjs";

/**
 * @param {number} extraTools how many tools to list beside echo, add and notify
 * @param {<S>(schema: S) => S} schemaOf lets a workload observe the use of a schema
 */
export function createBenchServer(extraTools, schemaOf = (schema) => schema) {
  let server = createServer({ name: "bench", version: "1.0.0" }, { pageSize: 20_000 })
    .tool("echo", {
      description: "Says the message back",
      input: schemaOf(z.object({ message: z.string() })),
      run: handler(({ message }) => ({ content: [{ type: "text", text: message }] })),
    })
    .tool("add", {
      description: "Adds two numbers",
      input: schemaOf(z.object({ a: z.number(), b: z.number() })),
      output: schemaOf(z.object({ sum: z.number() })),
      run: handler(({ a, b }) => ({ sum: a + b })),
    })
    .tool("notify", {
      description: "Reports progress n times",
      input: schemaOf(z.object({ n: z.number() })),
      run: handler(({ n }, context) => {
        for (let i = 1; i <= n; i++) context.progress(i, n);
        return { content: [{ type: "text", text: "done" }] };
      }),
    });
  for (let i = 0; i < extraTools; i++) {
    server = server.tool(`extra-${i}`, {
      description: `Extra tool ${i}`,
      input: schemaOf(z.object({ value: z.string() })),
      run: ({ value }) => ({ content: [{ type: "text", text: value }] }),
    });
  }
  return server;
}
