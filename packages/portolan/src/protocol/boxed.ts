import type { JsonObject } from "../jsonrpc/message.ts";

/** Whether a schema says that its value is an object, which is all that revisions before 2026-07-28 allow for output. */
export function isObjectSchema(schema: JsonObject): boolean {
  return schema["type"] === "object";
}

/**
 * A schema for `{ result: value }`. Definitions move to the new root, where their references point; undefined when the
 * schema refers to its own root or to an anchor by position, which a box would break.
 */
export function boxSchema(schema: JsonObject): JsonObject | undefined {
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
