import type { JsonSchema } from "portolan/server";
import { array, boolean, count, object, string } from "portolan-server-kit";
import type { DatabaseLimits } from "./options.ts";

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
  return string(description, { minLength: 1, maxLength: maxSqlLength });
}

/** How many rows are wanted. */
export function limit({ maxRows }: DatabaseLimits): JsonSchema {
  return count(`How many rows at most; ${Math.min(usualRows, maxRows)} unless given`, { minimum: 1, maximum: maxRows });
}

/** The rows of a result unless said otherwise. */
export const usualRows = 100;

/** What all results with rows have. */
export const rows: { readonly [name: string]: JsonSchema } = {
  columns: array(
    object({ name: string("Its name"), type: string("Its type; empty for an expression without one") }),
    "The columns",
  ),
  rows: array(
    { type: "array" },
    "The rows, with a value for each column. Large integers, decimals, dates and JSON are exact texts; bytes are { bytes, base64 }, or { bytes } where they are many",
  ),
  isCut: boolean("There were more rows than are shown"),
  note: string("What was left out, and how to see it"),
};
