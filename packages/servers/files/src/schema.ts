import type { JsonSchema } from "portolan/server";

/** An object with these members and no others; all of them are there unless some are named as optional. */
export function object(
  properties: { readonly [name: string]: JsonSchema },
  { optional = [] as readonly string[] }: { optional?: readonly string[] } = {},
): JsonSchema {
  const required = Object.keys(properties).filter((name) => !optional.includes(name));
  return { type: "object", properties, required, additionalProperties: false };
}

export function text(description: string): JsonSchema {
  return { type: "string", description };
}

export function flag(description: string): JsonSchema {
  return { type: "boolean", description };
}

/** A whole number. */
export function count(description: string, minimum = 0, maximum?: number): JsonSchema {
  return { type: "integer", minimum, ...(maximum !== undefined && { maximum }), description };
}

export function list(items: JsonSchema, description: string): JsonSchema {
  return { type: "array", items, description };
}

export const pathSchema: JsonSchema = text(
  "Path relative to the served folder (with several folders, it begins with the name of one), or absolute inside it",
);

/** What kinds of entries there are. */
export const kindSchema: JsonSchema = {
  enum: ["file", "folder", "link", "other"],
  description: "link: points elsewhere; other: a pipe, socket or device, which cannot be used",
};
