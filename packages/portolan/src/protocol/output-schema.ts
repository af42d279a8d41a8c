import type { JsonObject } from "../jsonrpc/message.ts";
import { isObjectSchema, yieldsObjects } from "./encode.ts";
import type { Revision } from "./revision.ts";

// Apart from `encode.ts`: a server loads it with its first list of tools.

/** Returns the list entry of a tool with an output schema that the revision allows. */
export function outputSchemaFor({ encoderParts }: Revision, tool: JsonObject): JsonObject {
  return encoderParts.traits.structured === "object" ? wrapOutputSchema(tool) : tool;
}

function wrapOutputSchema(tool: JsonObject): JsonObject {
  const { outputSchema, ...rest } = tool;
  if (outputSchema === undefined || isObjectSchema(outputSchema as JsonObject)) return tool;
  // A union of objects needs no wrapping, only the type at its root that these revisions demand.
  const isUnion = yieldsObjects(outputSchema as JsonObject);
  const wrapped = isUnion ? { ...outputSchema, type: "object" } : wrapSchema(outputSchema as JsonObject);
  return wrapped === undefined ? rest : { ...rest, outputSchema: wrapped };
}

/**
 * A schema for `{ result: value }`. Definitions move to the new root, where their references point; undefined when the
 * schema refers to its own root or to an anchor by position, which the wrapping would break.
 */
function wrapSchema(schema: JsonObject): JsonObject | undefined {
  const { $schema, $defs, definitions, ...inner } = schema;
  if (refersOutside(inner, 0) || refersOutside({ $defs, definitions }, 0)) return undefined;
  return {
    ...($schema !== undefined && { $schema }),
    type: "object",
    properties: { result: inner },
    required: ["result"],
    ...($defs !== undefined && { $defs }),
    ...(definitions !== undefined && { definitions }),
  };
}

const maxDepth = 512;

function refersOutside(value: unknown, depth: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  if (depth > maxDepth) return true;
  for (const [name, inner] of Object.entries(value)) {
    if ((name === "$ref" || name === "$dynamicRef") && typeof inner === "string") {
      if (inner.startsWith("#") && !inner.startsWith("#/$defs/") && !inner.startsWith("#/definitions/")) return true;
    } else if (refersOutside(inner, depth + 1)) return true;
  }
  return false;
}
