import type { JsonSchema } from "portolan/server";
import type { DatabaseLimits } from "./options.ts";

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

const value: JsonSchema = { type: ["string", "number", "boolean", "null"] };

/** The values of a statement. */
export const parameters: JsonSchema = {
  anyOf: [
    { type: "array", items: value, maxItems: 1_000 },
    { type: "object", additionalProperties: value, maxProperties: 1_000 },
  ],
  description: "Values for the places of the statement: a list by position, or an object by name",
};

/** A statement. */
export function sql(description: string, { maxSqlLength }: DatabaseLimits): JsonSchema {
  return text(description, { minLength: 1, maxLength: maxSqlLength });
}

/** How many rows are wanted. */
export function limit({ maxRows }: DatabaseLimits): JsonSchema {
  return count(`How many rows at most; ${Math.min(usualRows, maxRows)} unless given`, { minimum: 1, maximum: maxRows });
}

/** The rows of a result unless said otherwise. */
export const usualRows = 100;

/** What all results with rows have. */
export const rows: { readonly [name: string]: JsonSchema } = {
  columns: list(
    object({ name: text("Its name"), type: text("Its type; empty for an expression without one") }),
    "The columns",
  ),
  rows: list(
    { type: "array" },
    "The rows, with a value for each column. Large integers, decimals, dates and JSON are exact texts; bytes are { bytes, base64 }, or { bytes } where they are many",
  ),
  isCut: flag("There were more rows than are shown"),
  note: text("What was left out, and how to see it"),
};

/** What a tool says of itself to a host. */
export const annotations = {
  /** Changes nothing. */
  reads: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  /** May lose something. */
  loses: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: false },
} as const;
