import type { JsonSchema } from "portolan/server";

/** An object of which nothing else is known; schemas are plain JSON Schema, so that no library has to load. */
export function object(properties: { [name: string]: JsonSchema } = {}, required: string[] = []): JsonSchema {
  return { type: "object", properties, required, additionalProperties: false };
}

export function text(description: string, more: JsonSchema = {}): JsonSchema {
  return { type: "string", maxLength: 1_000, description, ...more };
}

export function whole(description: string, more: JsonSchema = {}): JsonSchema {
  return { type: "integer", description, ...more };
}

/** What hosts may think of a tool that only looks. They are hints: a client trusts them as far as it trusts the server. */
export const looks = { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false };
/** Of a tool that adds or sets something. */
export const sets = { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: false };
/** Of a tool whose every call leaves a trace. */
export const marks = { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: false };
/** Of a tool that throws something away. */
export const destroys = { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: false };
/** Of a tool that reaches something beyond server and client, such as a model. */
export const reachesOut = { readOnlyHint: true, destructiveHint: false, idempotentHint: false, openWorldHint: true };
