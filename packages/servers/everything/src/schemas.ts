import type { JsonSchema } from "portolan/server";
import { string } from "portolan-server-kit";

/** Returns a schema for a string of at most 1,000 characters. */
export function text(description: string, more: JsonSchema = {}): JsonSchema {
  return string(description, { maxLength: 1_000, ...more });
}

/** Hints for a tool that reaches something beyond server and client, such as a model. */
export const reachesOut = { readOnlyHint: true, destructiveHint: false, idempotentHint: false, openWorldHint: true };
