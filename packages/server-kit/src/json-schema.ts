import type { JsonSchema } from "portolan/server";

// Plain JSON Schema: a server that starts often should not load a schema library first.

/** Returns a closed object schema; every property is required unless `optional` lists it. */
export function object(
  properties: { readonly [name: string]: JsonSchema },
  optional: readonly string[] = [],
): JsonSchema {
  const required = Object.keys(properties).filter((name) => !optional.includes(name));
  return { type: "object", properties, required, additionalProperties: false };
}

export function array(items: JsonSchema, description: string, more: JsonSchema = {}): JsonSchema {
  return { type: "array", items, description, ...more };
}

export function string(description: string, more: JsonSchema = {}): JsonSchema {
  return { type: "string", description, ...more };
}

export function integer(description: string, more: JsonSchema = {}): JsonSchema {
  return { type: "integer", description, ...more };
}

/** Returns an integer schema with the minimum 0, which `more` can raise. */
export function count(description: string, more: JsonSchema = {}): JsonSchema {
  return { type: "integer", minimum: 0, description, ...more };
}

export function boolean(description: string): JsonSchema {
  return { type: "boolean", description };
}
