import { PortolanError } from "../errors.ts";
import type { JsonSchema } from "./infer.ts";
import { isObject } from "./shape.ts";
import { readZod3 } from "./zod-3.ts";
import { readZod4 } from "./zod-4.ts";
import type { Direction, UnknownMembers, ZodNode } from "./zod-node.ts";

const maxDepth = 512;
const maxSubschemas = 10_000;

/** Converts a zod schema without JSON Schema support (3.25, 4.0, 4.1) to JSON Schema 2020-12. */
export function zodToJsonSchema(schema: unknown, direction: Direction): JsonSchema {
  const read = isObject(schema) && "_zod" in schema ? readZod4 : readZod3;
  return new Converter(schema, direction, read).root();
}

/** Returns true for a schema that `zodToJsonSchema` can read. */
export function isZod(schema: unknown): boolean {
  if (!isObject(schema)) return false;
  return "_zod" in schema || (isObject(schema["_def"]) && typeof schema["_def"]["typeName"] === "string");
}

class Converter {
  readonly #root: unknown;
  readonly #direction: Direction;
  readonly #read: (schema: unknown, direction: Direction) => ZodNode;
  /** Schemas being converted, with the name of a definition for one that contains itself. */
  readonly #open = new Map<unknown, { name: string; isUsed: boolean }>();
  readonly #definitions: [string, JsonSchema][] = [];
  #names = 0;
  #count = 0;

  constructor(root: unknown, direction: Direction, read: (schema: unknown, direction: Direction) => ZodNode) {
    this.#root = root;
    this.#direction = direction;
    this.#read = read;
  }

  root(): JsonSchema {
    const json = this.#convert(this.#root, { path: "", depth: 0 });
    if (this.#definitions.length > 0) json["$defs"] = Object.fromEntries(this.#definitions);
    return json;
  }

  #convert(schema: unknown, at: SchemaPath): JsonSchema {
    const known = this.#open.get(schema);
    if (known !== undefined) {
      known.isUsed = true;
      return { $ref: schema === this.#root ? "#" : `#/$defs/${known.name}` };
    }
    this.#count += 1;
    if (at.depth > maxDepth || this.#count > maxSubschemas) {
      throw refuse(at.path, "is too large or too deep; define recursive schemas once and refer to them with z.lazy");
    }
    const entry = { name: `schema${this.#names}`, isUsed: false };
    this.#names += 1;
    this.#open.set(schema, entry);
    const node = this.#read(schema, this.#direction);
    const json = { ...this.#convertNode(node, at), ...node.annotations };
    this.#open.delete(schema);
    if (!entry.isUsed || schema === this.#root) return json;
    this.#definitions.push([entry.name, json]);
    return { $ref: `#/$defs/${entry.name}` };
  }

  #convertNode(node: ZodNode, at: SchemaPath): JsonSchema {
    const below = (schema: unknown, step = ""): JsonSchema =>
      this.#convert(schema, { path: at.path + step, depth: at.depth + 1 });
    switch (node.kind) {
      case "plain":
        return node.json;
      case "object":
        return this.#convertObject(node.members, node.others, at);
      case "array":
        return { type: "array", items: below(node.item, "[]"), ...node.bounds };
      case "tuple": {
        const items = node.items.map((item, index) => below(item, `[${index}]`));
        const rest = node.rest === undefined ? false : below(node.rest, "[]");
        const prefix = items.length > 0 ? { prefixItems: items } : {};
        return { type: "array", ...prefix, items: rest, minItems: node.minItems };
      }
      case "record": {
        const { required } = node;
        const json = { type: "object", propertyNames: below(node.key), additionalProperties: below(node.value, "{}") };
        return required === undefined ? json : { ...json, required };
      }
      case "union":
        return { anyOf: node.options.map((option) => below(option)) };
      case "intersection":
        return {
          allOf: node.sides.map((side) => this.#convert(side, { ...at, depth: at.depth + 1, isPartial: true })),
        };
      case "nullable":
        return { anyOf: [below(node.inner), { type: "null" }] };
      case "same":
        return { ...this.#convert(node.inner, { ...at, depth: at.depth + 1 }), ...node.extra };
      case "impossible":
        throw refuse(at.path, node.why);
    }
  }

  #convertObject(members: readonly (readonly [string, unknown])[], others: UnknownMembers, at: SchemaPath): JsonSchema {
    const properties: [string, JsonSchema][] = [];
    const required: string[] = [];
    for (const [name, member] of members) {
      const path = at.path === "" ? name : `${at.path}.${name}`;
      properties.push([name, this.#convert(member, { path, depth: at.depth + 1 })]);
      if (!this.#read(member, this.#direction).isOptional) required.push(name);
    }
    const json: JsonSchema = { type: "object", properties: Object.fromEntries(properties) };
    if (required.length > 0) json["required"] = required;
    if (typeof others === "object") {
      json["additionalProperties"] = this.#convert(others.schema, { path: `${at.path}{}`, depth: at.depth + 1 });
    } else if (others === "refuse" || (others === "drop" && this.#direction === "output" && !at.isPartial)) {
      // Dropped members are not in the output.
      json["additionalProperties"] = false;
    }
    return json;
  }
}

interface SchemaPath {
  readonly path: string;
  readonly depth: number;
  /** True inside an intersection: its other side names further members, so that none can be refused. */
  readonly isPartial?: boolean;
}

function refuse(path: string, why: string): PortolanError {
  return new PortolanError("invalid-definition", `zod schema${path === "" ? "" : ` at ${path}`}: ${why}`);
}
