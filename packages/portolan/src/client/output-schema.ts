import type { JsonObject } from "../jsonrpc/message.ts";
import type { JsonSchema } from "../protocol/types/index.ts";

/**
 * Returns what is wrong with a result by the output schema of its tool, which may be anyone's: its check gets little time.
 * Rejects if the schema is invalid.
 */
export async function compileOutputSchema(
  tool: string,
  schema: JsonSchema,
): Promise<(result: JsonObject) => readonly string[]> {
  const { compileOutput } = await import("./output-check.ts");
  return compileOutput(tool, schema);
}
