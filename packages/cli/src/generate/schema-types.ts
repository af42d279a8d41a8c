import { resolvePointer } from "../arguments/field-schema.ts";

/** A JSON Schema as a server sent it. Nothing in it is certain. */
type Schema = { readonly [keyword: string]: unknown };

/** Deeper types become `unknown`. */
const deepest = 40;

/** Gives names that are valid in TypeScript and used once. */
export class TypeNames {
  readonly #used: Set<string>;

  constructor(reserved: Iterable<string> = []) {
    this.#used = new Set(reserved);
  }

  /** Returns a name such as `ReadFileInput` for `read-file` and `Input`. */
  take(text: string, ending = ""): string {
    const name = toPascal(text);
    for (let number = 1; ; number += 1) {
      const candidate = `${name}${number === 1 ? "" : number}${ending}`;
      if (this.#used.has(candidate)) continue;
      this.#used.add(candidate);
      return candidate;
    }
  }
}

/** Returns the letters and digits of a text in PascalCase. Never empty, and never a digit first. */
export function toPascal(text: string): string {
  const words = text.split(/[^A-Za-z\d]+/).filter(Boolean);
  const name = words.map((word) => `${word.charAt(0).toUpperCase()}${word.slice(1)}`).join("");
  return /^[A-Za-z]/.test(name) ? name : `Tool${name}`;
}

/** Writes the types of JSON Schemas. Every type that a schema refers to becomes an exported type of its own. */
export class SchemaTypes {
  /** The declarations so far, in the order in which they were needed. */
  readonly declarations: string[] = [];
  readonly #names: TypeNames;

  constructor(names: TypeNames) {
    this.#names = names;
  }

  /** Declares a type for a schema under this name. */
  declare(name: string, schema: unknown): void {
    const place = this.declarations.length;
    const text = new Root(schema, name, this.#names, this.declarations).typeOf(schema, 0);
    this.declarations.splice(place, 0, `export type ${name} = ${text};`);
  }
}

/** The types of one schema with its references. */
class Root {
  readonly #root: unknown;
  readonly #name: string;
  readonly #names: TypeNames;
  readonly #declarations: string[];
  /** The names of the types that the schema refers to, by pointer. */
  readonly #references = new Map<string, string>();

  constructor(root: unknown, name: string, names: TypeNames, declarations: string[]) {
    this.#root = root;
    this.#name = name;
    this.#names = names;
    this.#declarations = declarations;
    // The schema itself already has a name.
    this.#references.set("#", name);
  }

  typeOf(given: unknown, depth: number): string {
    if (given === false) return "never";
    if (!isSchema(given) || depth > deepest) return "unknown";
    const next = (inner: unknown) => this.typeOf(inner, depth + 1);
    const parts: string[] = [];
    if (typeof given["$ref"] === "string") parts.push(this.#reference(given["$ref"], depth));
    if ("const" in given) parts.push(literalOf(given["const"]));
    else if (Array.isArray(given["enum"])) parts.push(union(given["enum"].map(literalOf)));
    else parts.push(...this.#byKind(given, depth));
    for (const keyword of ["anyOf", "oneOf"]) {
      const options = given[keyword];
      if (Array.isArray(options) && options.length > 0) parts.push(union(options.map(next)));
    }
    if (Array.isArray(given["allOf"])) parts.push(...given["allOf"].map(next));
    const known = [...new Set(parts)].filter((part) => part !== "unknown");
    if (known.length === 0) return "unknown";
    return known.length === 1 ? String(known[0]) : known.map(inParentheses).join(" & ");
  }

  #byKind(schema: Schema, depth: number): string[] {
    const { type } = schema;
    const kinds: unknown[] = Array.isArray(type) ? type : type === undefined ? [] : [type];
    if (kinds.length === 0 && isSchema(schema["properties"])) kinds.push("object");
    if (kinds.length === 0 && (schema["items"] !== undefined || schema["prefixItems"] !== undefined))
      kinds.push("array");
    return kinds.length === 0 ? [] : [union(kinds.map((kind) => this.#kind(kind, schema, depth)))];
  }

  #kind(kind: unknown, schema: Schema, depth: number): string {
    switch (kind) {
      case "string":
      case "boolean":
      case "null":
        return kind;
      case "number":
      case "integer":
        return "number";
      case "array":
        return this.#list(schema, depth);
      case "object":
        return this.#object(schema, depth);
      default:
        return "unknown";
    }
  }

  #list({ items, prefixItems, additionalItems }: Schema, depth: number): string {
    const next = (inner: unknown) => this.typeOf(inner, depth + 1);
    // Before 2020-12, a list of schemas was called `items`.
    const first = Array.isArray(prefixItems) ? prefixItems : Array.isArray(items) ? items : [];
    const rest = Array.isArray(items) ? additionalItems : items;
    if (first.length === 0) return `${inParentheses(next(rest))}[]`;
    const more = rest === false ? [] : [`...${inParentheses(next(rest))}[]`];
    return `[${[...first.map((item) => `${inParentheses(next(item))}?`), ...more].join(", ")}]`;
  }

  #object(schema: Schema, depth: number): string {
    const properties = isSchema(schema["properties"]) ? Object.entries(schema["properties"]) : [];
    const required: readonly unknown[] = Array.isArray(schema["required"]) ? schema["required"] : [];
    const { additionalProperties: more, patternProperties } = schema;
    const space = "  ".repeat(depth + 1);
    const lines = properties.map(([name, field]) => {
      const isRequired = required.includes(name);
      const about = isSchema(field) ? commentOf(field["description"] ?? field["title"], space, factsOf(field)) : "";
      return `${about}${space}${keyOf(name)}${isRequired ? "" : "?"}: ${this.typeOf(field, depth + 1)};`;
    });
    const known = new Set(properties.map(([name]) => name));
    for (const name of required) {
      if (typeof name === "string" && !known.has(name)) lines.push(`${space}${keyOf(name)}: unknown;`);
    }
    if (lines.length === 0) {
      if (more === false && patternProperties === undefined) return "{ [name: string]: never }";
      return `{ [name: string]: ${isSchema(more) ? this.typeOf(more, depth + 1) : "unknown"} }`;
    }
    // An index signature must fit all properties, so its type is the widest one.
    if (isSchema(more) || more === true || patternProperties !== undefined)
      lines.push(`${space}[name: string]: unknown;`);
    return `{\n${lines.join("\n")}\n${"  ".repeat(depth)}}`;
  }

  /** Returns the name of a type that the schema refers to. A type may contain itself. */
  #reference(pointer: string, depth: number): string {
    const known = this.#references.get(pointer);
    if (known !== undefined) return known;
    const target = resolvePointer(this.#root as object, pointer);
    if (depth > deepest || Object.keys(target).length === 0) return "unknown";
    const name = this.#names.take(`${this.#name} ${pointer.split("/").at(-1) ?? ""}`);
    this.#references.set(pointer, name);
    const text = this.typeOf(target, 0);
    // A type that is only another name for itself has no values.
    this.#declarations.push(`export type ${name} = ${text === name ? "unknown" : text};`);
    return name;
  }
}

function isSchema(value: unknown): value is Schema {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function union(types: readonly string[]): string {
  const each = [...new Set(types)];
  if (each.includes("unknown") || each.length === 0) return "unknown";
  return each.length === 1 ? String(each[0]) : each.map(inParentheses).join(" | ");
}

function inParentheses(type: string): string {
  return /^(?:[\w.]+(?:\[\])*|"(?:[^"\\]|\\.)*"|-?[\d.]+|\{[^{}]*\})$/.test(type) ? type : `(${type})`;
}

/** Formats the name of a property, with quotes if it needs them. */
export function keyOf(name: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name);
}

/** Formats a JSON value as a type. */
function literalOf(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(literalOf).join(", ")}]`;
  if (isSchema(value)) {
    const members = Object.entries(value).map(([name, inner]) => `${keyOf(name)}: ${literalOf(inner)}`);
    return `{ ${members.join("; ")} }`;
  }
  return JSON.stringify(value) ?? "unknown";
}

/** Returns the limits of a field that its type cannot express. */
function factsOf(schema: Schema): string {
  const facts = ["minimum", "maximum", "minLength", "maxLength", "pattern", "format", "default"].flatMap((keyword) =>
    schema[keyword] === undefined ? [] : [`${keyword}: ${JSON.stringify(schema[keyword])}`],
  );
  return facts.join(", ");
}

/** Formats text of a server as a comment. It cannot end the comment. */
export function commentOf(text: unknown, space: string, more = ""): string {
  const about = [typeof text === "string" ? text.trim() : "", more].filter(Boolean).join("\n\n");
  if (about === "") return "";
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is removed
  const safe = about.replace(/\r\n?|[\u2028\u2029]/g, "\n").replace(/[\u0000-\u0009\u000b-\u001f\u007f]/g, " ");
  const lines = safe.replaceAll("*/", "*\\/").split("\n");
  if (lines.length === 1) return `${space}/** ${lines[0]} */\n`;
  return `${space}/**\n${lines.map((line) => `${space} * ${line}`.trimEnd()).join("\n")}\n${space} */\n`;
}
