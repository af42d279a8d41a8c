import { type Description, isJson, type Json, listOf, pointerOf, shortened, textOf } from "./description.ts";

/** A request is checked against its schemas; those of results only tell what to expect, because APIs break them. */
export type Direction = "request" | "result";

/** Schemas as JSON Schema 2020-12, and the definitions that they refer to. */
export interface ConvertedSchemas {
  readonly schemas: readonly Json[];
  readonly definitions: Json;
}

/** Subschemas of one tool. */
const maxNodes = 5_000;
const maxProperties = 300;
const maxEnum = 500;
const maxDescription = 400;
const maxExamples = 3;
const types: readonly unknown[] = ["string", "number", "integer", "boolean", "null", "array", "object"];

/**
 * Converts schemas of a description. References become definitions; if all of it is longer than `maxBytes`, references that
 * are farther away become schemas without details. Patterns are only described: a pattern of a stranger may take forever.
 */
export function convertSchemas(
  description: Description,
  direction: Direction,
  given: readonly unknown[],
  maxBytes: number,
): ConvertedSchemas {
  for (const detail of details) {
    const converter = new Converter(description, direction, detail);
    const converted = converter.convertAll(given);
    if (!converter.isTooLarge && JSON.stringify(converted).length <= maxBytes) return converted;
  }
  return new Converter(description, direction, leastDetail).convertAll(given);
}

/** How much of the schemas is kept: references that follow each other, and levels of nesting. */
interface Detail {
  readonly maxReferences: number;
  readonly maxDepth: number;
}

const details: readonly Detail[] = [
  ...[Number.POSITIVE_INFINITY, 4, 2, 1, 0].map((maxReferences) => ({ maxReferences, maxDepth: 48 })),
  { maxReferences: 0, maxDepth: 4 },
];
const leastDetail: Detail = { maxReferences: 0, maxDepth: 1 };

interface Waiting {
  readonly name: string;
  readonly reference: string;
  readonly distance: number;
}

class Converter {
  readonly #description: Description;
  readonly #isResult: boolean;
  readonly #detail: Detail;
  readonly #names = new Map<string, string>();
  #waiting: Waiting[] = [];
  #nodes = 0;
  /** References between the tool and the schema that is converted now. */
  #distance = 0;

  constructor(description: Description, direction: Direction, detail: Detail) {
    this.#description = description;
    this.#isResult = direction === "result";
    this.#detail = detail;
  }

  get isTooLarge(): boolean {
    return this.#nodes > maxNodes;
  }

  convertAll(given: readonly unknown[]): ConvertedSchemas {
    const schemas = given.map((schema) => this.#convert(schema, 0));
    const definitions: { [name: string]: Json } = {};
    for (let next = this.#waiting.shift(); next; next = this.#waiting.shift()) {
      this.#distance = next.distance;
      definitions[next.name] = this.#convert(this.#find(next.reference), 0);
    }
    return { schemas, definitions };
  }

  #convert(schema: unknown, depth: number): Json {
    this.#nodes += 1;
    if (schema === false) return { not: {} };
    if (!isJson(schema) || depth > this.#detail.maxDepth || this.isTooLarge) return {};
    const reference = schema["$ref"];
    if (typeof reference !== "string") return this.#convertKeywords(schema, depth);
    const target = this.#refer(reference);
    // Version 3.0 ignores what stands beside a reference.
    const beside = this.#description.isOld ? {} : this.#convertKeywords({ ...schema, $ref: undefined }, depth);
    return { ...beside, ...target };
  }

  #refer(reference: string): Json {
    const distance = this.#distance + 1;
    const known = this.#names.get(reference);
    if (known === undefined && distance > this.#detail.maxReferences) return this.#summarize(reference);
    const name = known ?? this.#nameOf(reference);
    if (known === undefined) {
      this.#names.set(reference, name);
      this.#waiting.push({ name, reference, distance });
    }
    return { $ref: `#/$defs/${name}` };
  }

  /** Returns what a reference leads to, without its members. */
  #summarize(reference: string): Json {
    const found = this.#find(reference);
    if (!isJson(found)) return {};
    const { type, nullable } = found;
    const text = textOf(found, "description") ?? textOf(found, "title");
    return {
      ...(types.includes(type) && { type: nullable === true ? [type, "null"] : type }),
      ...(text !== undefined && { description: shortened(text, maxDescription) }),
    };
  }

  /** A schema that cannot be found stands for any value, so that one of them does not cost the whole operation. */
  #find(reference: string): unknown {
    try {
      return this.#description.at(reference);
    } catch {
      return {};
    }
  }

  #nameOf(reference: string): string {
    const base = (pointerOf(reference).at(-1) ?? "root").replace(/[^A-Za-z0-9_.-]+/g, "_").slice(0, 64) || "schema";
    const taken = new Set(this.#names.values());
    let name = base === "__proto__" ? "proto" : base;
    for (let count = 2; taken.has(name); count += 1) name = `${base}_${count}`;
    return name;
  }

  #convertKeywords(schema: Json, depth: number): Json {
    const converted: { [keyword: string]: unknown } = {};
    const set = (keyword: string, value: unknown) => {
      if (value !== undefined) converted[keyword] = value;
    };
    set("type", this.#typeOf(schema));
    this.#describe(schema, set);
    const properties = this.#propertiesOf(schema, depth);
    set("properties", properties);
    const { additionalProperties, items, prefixItems } = schema;
    if (isJson(additionalProperties)) set("additionalProperties", this.#convert(additionalProperties, depth + 1));
    if (items !== undefined && !Array.isArray(items)) set("items", this.#convert(items, depth + 1));
    if (Array.isArray(prefixItems)) set("prefixItems", this.#convertList(prefixItems, depth));
    for (const keyword of ["allOf", "anyOf", "oneOf"] as const) {
      const list = listOf(schema[keyword]);
      if (list.length === 0) continue;
      // Alternatives that should exclude each other often overlap. The API is the judge of that.
      set(keyword === "oneOf" ? "anyOf" : keyword, this.#convertList(list, depth));
    }
    if (!this.#isResult) this.#limit(schema, set, properties, depth);
    return this.#orNull(schema, converted);
  }

  #convertList(list: readonly unknown[], depth: number): Json[] {
    return list.map((one) => this.#convert(one, depth + 1));
  }

  #typeOf({ type, nullable }: Json): unknown {
    const known = listOf(Array.isArray(type) ? type : [type]).filter((one) => types.includes(one));
    if (known.length === 0) return undefined;
    if (nullable === true && !known.includes("null")) known.push("null");
    return known.length === 1 ? known[0] : known;
  }

  #describe(schema: Json, set: (keyword: string, value: unknown) => void): void {
    const text = textOf(schema, "description");
    const pattern = textOf(schema, "pattern");
    const described = text === undefined ? undefined : shortened(text, maxDescription);
    const rule = pattern === undefined ? undefined : `Pattern: ${shortened(pattern)}`;
    set("description", [described, rule].filter((part) => part !== undefined).join(". ") || undefined);
    for (const keyword of ["title", "format", "contentEncoding", "contentMediaType"]) {
      const value = textOf(schema, keyword);
      if (value !== undefined) set(keyword, shortened(value));
    }
  }

  /** Returns the properties, without those that travel in the other direction only. */
  #propertiesOf({ properties }: Json, depth: number): Json | undefined {
    if (!isJson(properties)) return undefined;
    const other = this.#isResult ? "writeOnly" : "readOnly";
    return Object.fromEntries(
      Object.entries(properties)
        .filter(([name, property]) => name !== "__proto__" && !(isJson(property) && property[other] === true))
        .slice(0, maxProperties)
        .map(([name, property]) => [name, this.#convert(property, depth + 1)]),
    );
  }

  /** Adds what only requests are checked for. */
  #limit(
    schema: Json,
    set: (keyword: string, value: unknown) => void,
    properties: Json | undefined,
    depth: number,
  ): void {
    const declared = schema["properties"];
    const required = listOf(schema["required"]).filter(
      (name) =>
        typeof name === "string" && !(isJson(declared) && name in declared && !Object.hasOwn(properties ?? {}, name)),
    );
    if (required.length > 0) set("required", [...new Set(required)]);
    const isWhole = Object.keys(properties ?? {}).length < maxProperties;
    if (schema["additionalProperties"] === false && isWhole) set("additionalProperties", false);
    const values = schema["enum"];
    if (Array.isArray(values) && values.length > 0 && values.length <= maxEnum) {
      set("enum", schema["nullable"] === true && !values.includes(null) ? [...values, null] : values);
    }
    for (const keyword of ["const", "default"]) set(keyword, schema[keyword]);
    if (schema["not"] !== undefined) set("not", this.#convert(schema["not"], depth + 1));
    for (const keyword of ["minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"]) {
      const value = schema[keyword];
      if (Number.isSafeInteger(value) && (value as number) >= 0) set(keyword, value);
    }
    setBounds(schema, set);
    const examples = schema["example"] === undefined ? listOf(schema["examples"]) : [schema["example"]];
    const short = examples.slice(0, maxExamples).filter((one) => JSON.stringify(one).length <= maxDescription);
    if (short.length > 0) set("examples", short);
  }

  /** Version 3.0 says `nullable` also beside keywords that know no null. */
  #orNull(schema: Json, converted: Json): Json {
    if (schema["nullable"] !== true || converted["type"] !== undefined) return converted;
    return Object.keys(converted).some((keyword) => /^(allOf|anyOf|oneOf)$/.test(keyword))
      ? { anyOf: [converted, { type: "null" }] }
      : converted;
  }
}

/** Sets the limits of numbers. In version 3.0 an exclusive limit is a flag beside the limit. */
function setBounds(schema: Json, set: (keyword: string, value: unknown) => void): void {
  for (const [limit, exclusive] of [
    ["minimum", "exclusiveMinimum"],
    ["maximum", "exclusiveMaximum"],
  ] as const) {
    const bound = schema[limit];
    const strict = schema[exclusive];
    if (typeof strict === "number") set(exclusive, strict);
    if (typeof bound === "number") set(strict === true ? exclusive : limit, bound);
  }
}
