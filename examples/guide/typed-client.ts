// A client that takes the types of its calls from the server's definition.
import { type ConnectTarget, connect } from "portolan/client";
import { createServer } from "portolan/server";
import { z } from "zod";

// region typed
export const calculator = createServer({ name: "calculator", version: "1.0.0" })
  .typed()
  .tool("add", {
    input: z.object({ a: z.number(), b: z.number().default(1) }),
    output: z.object({ sum: z.number() }),
    run: ({ a, b }) => ({ sum: a + b }),
  });

export async function increment(target: ConnectTarget, a: number): Promise<number | undefined> {
  const client = await connect<typeof calculator>(target);
  const { structuredContent } = await client.callTool("add", { a });
  await client.close();
  return structuredContent?.sum;
}
// endregion
