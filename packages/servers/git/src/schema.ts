import type { JsonSchema } from "portolan/server";
import type { Git } from "./git.ts";

/** An object schema in which everything is required but what is named. */
export function object(properties: { [name: string]: JsonSchema }, optional: readonly string[] = []): JsonSchema {
  const required = Object.keys(properties).filter((name) => !optional.includes(name));
  return { type: "object", properties, required, additionalProperties: false };
}

/** A list. */
export function list(items: JsonSchema, description: string): JsonSchema {
  return { type: "array", items, description };
}

/** A text. */
export function text(description: string, more: JsonSchema = {}): JsonSchema {
  return { type: "string", description, ...more };
}

/** A number of something. */
export function count(description: string, more: JsonSchema = {}): JsonSchema {
  return { type: "integer", minimum: 0, description, ...more };
}

/** A yes or no. */
export function flag(description: string): JsonSchema {
  return { type: "boolean", description };
}

/** The arguments of a tool: those named, and which repository is meant if there are several. */
export function input(
  git: Git,
  properties: { [name: string]: JsonSchema },
  required: readonly string[] = [],
): JsonSchema {
  const repository = text("Which repository", { enum: [...git.names] });
  return {
    type: "object",
    properties: { ...properties, ...(git.names.length > 1 && { repository }) },
    required: git.names.length > 1 ? ["repository", ...required] : [...required],
    additionalProperties: false,
  };
}

/** The hash of a commit. */
export const commit: JsonSchema = text("The full hash of a commit");
/** A file or folder. */
export const path: JsonSchema = text("Relative to the repository's folder, with slashes");
/** What names a commit. */
export const revision: JsonSchema = text("A branch, tag or commit hash, perhaps with ~2 or ^ behind it", {
  minLength: 1,
  maxLength: 1_000,
});
/** Whether there was more. */
export const isCut: JsonSchema = flag("There was more than the limits allow; ask for less to see the rest");

/** What a tool says of itself to a host. */
export const annotations = {
  /** Changes nothing. */
  reads: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  /** Adds something that can be taken back. */
  adds: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: false },
  /** The same, and twice is as good as once. */
  sets: { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  /** May lose something. */
  loses: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: false },
} as const;
