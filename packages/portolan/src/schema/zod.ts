import { PortolanError } from "../errors.ts";
import type { JsonSchema } from "./infer.ts";
import { isObject } from "./shape.ts";
import { readClassic } from "./zod-3.ts";
import { readCore } from "./zod-4.ts";

/** Which side of a schema is meant: what goes in (defaults may be absent) or what comes out. */
export type Direction = "input" | "output";

/** One zod schema, read without regard to its version. Members typed `unknown` are zod schemas again. */
export type ZodNode = (
  | { readonly kind: "plain"; readonly json: JsonSchema }
  | { readonly kind: "object"; readonly members: readonly (readonly [string, unknown])[]; readonly others: Others }
  | { readonly kind: "array"; readonly item: unknown; readonly bounds: JsonSchema }
  | { readonly kind: "tuple"; readonly items: readonly unknown[]; readonly minItems: number; readonly rest?: unknown }
  | { readonly kind: "record"; readonly key: unknown; readonly value: unknown; readonly required?: readonly string[] }
  | { readonly kind: "union"; readonly options: readonly unknown[] }
  | { readonly kind: "intersection"; readonly sides: readonly unknown[] }
  | { readonly kind: "nullable"; readonly inner: unknown }
  | { readonly kind: "same"; readonly inner: unknown; readonly extra?: JsonSchema }
  | { readonly kind: "impossible"; readonly why: string }
) & {
  /** Whether the value may be absent. */
  readonly isOptional: boolean;
  /** Title, description and other annotations. */
  readonly annotations?: JsonSchema;
};

/** What an object does with members it does not name: drop, refuse or keep them, or check them with a schema. */
export type Others = "drop" | "refuse" | "keep" | { readonly schema: unknown };

const MAX_DEPTH = 512;
const MAX_SUBSCHEMAS = 10_000;

/** Writes a zod schema that carries no JSON Schema of its own (3.25, 4.0, 4.1) as JSON Schema 2020-12. */
export function zodToJsonSchema(schema: unknown, direction: Direction): JsonSchema {
  const read = isObject(schema) && "_zod" in schema ? readCore : readClassic;
  return new Writer(schema, direction, read).root();
}

/** True for schemas `zodToJsonSchema` can read. */
export function isZod(schema: unknown): boolean {
  if (!isObject(schema)) return false;
  return "_zod" in schema || (isObject(schema["_def"]) && typeof schema["_def"]["typeName"] === "string");
}

interface Place {
  readonly path: string;
  readonly depth: number;
  /** Inside an intersection the other side names the remaining members, so that none can be refused. */
  readonly isPartial?: boolean;
}

class Writer {
  readonly #root: unknown;
  readonly #direction: Direction;
  readonly #read: (schema: unknown, direction: Direction) => ZodNode;
  /** Schemas being written, with the reference to use when one is met inside itself. */
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
    const json = this.#write(this.#root, { path: "", depth: 0 });
    if (this.#definitions.length > 0) json["$defs"] = Object.fromEntries(this.#definitions);
    return json;
  }

  #write(schema: unknown, place: Place): JsonSchema {
    const known = this.#open.get(schema);
    if (known !== undefined) {
      known.isUsed = true;
      return { $ref: schema === this.#root ? "#" : `#/$defs/${known.name}` };
    }
    this.#count += 1;
    if (place.depth > MAX_DEPTH || this.#count > MAX_SUBSCHEMAS) {
      throw refuse(place.path, "is too large or too deep; name recursive schemas once and refer to them by z.lazy");
    }
    const entry = { name: `schema${this.#names}`, isUsed: false };
    this.#names += 1;
    this.#open.set(schema, entry);
    const node = this.#read(schema, this.#direction);
    const json = { ...this.#writeNode(node, place), ...node.annotations };
    this.#open.delete(schema);
    if (!entry.isUsed || schema === this.#root) return json;
    this.#definitions.push([entry.name, json]);
    return { $ref: `#/$defs/${entry.name}` };
  }

  #writeNode(node: ZodNode, place: Place): JsonSchema {
    const below = (schema: unknown, step = ""): JsonSchema =>
      this.#write(schema, { path: place.path + step, depth: place.depth + 1 });
    switch (node.kind) {
      case "plain":
        return node.json;
      case "object":
        return this.#writeObject(node.members, node.others, place);
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
          allOf: node.sides.map((side) => this.#write(side, { ...place, depth: place.depth + 1, isPartial: true })),
        };
      case "nullable":
        return { anyOf: [below(node.inner), { type: "null" }] };
      case "same":
        return { ...this.#write(node.inner, { ...place, depth: place.depth + 1 }), ...node.extra };
      case "impossible":
        throw refuse(place.path, node.why);
    }
  }

  #writeObject(members: readonly (readonly [string, unknown])[], others: Others, place: Place): JsonSchema {
    const properties: [string, JsonSchema][] = [];
    const required: string[] = [];
    for (const [name, member] of members) {
      const path = place.path === "" ? name : `${place.path}.${name}`;
      properties.push([name, this.#write(member, { path, depth: place.depth + 1 })]);
      if (!this.#read(member, this.#direction).isOptional) required.push(name);
    }
    const json: JsonSchema = { type: "object", properties: Object.fromEntries(properties) };
    if (required.length > 0) json["required"] = required;
    if (typeof others === "object") {
      json["additionalProperties"] = this.#write(others.schema, { path: `${place.path}{}`, depth: place.depth + 1 });
    } else if (others === "refuse" || (others === "drop" && this.#direction === "output" && !place.isPartial)) {
      // What is dropped does not come out.
      json["additionalProperties"] = false;
    }
    return json;
  }
}

function refuse(path: string, why: string): PortolanError {
  return new PortolanError("invalid-definition", `zod schema${path === "" ? "" : ` at ${path}`}: ${why}`);
}
