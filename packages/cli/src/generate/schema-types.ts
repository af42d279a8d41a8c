import { resolvePointer } from "../arguments/field-schema.ts";

/** A JSON Schema as a server sent it. Nothing in it is certain. */
type Schema = { readonly [keyword: string]: unknown };

/** Deeper types become `unknown`. */
const deepest = 40;
/** Characters of the types of one schema. The largest of real servers have a tenth. */
const maxSchemaChars = 1_000_000;
/** Characters of the types of all schemas. */
const maxAllChars = 32_000_000;
/** Characters of one comment: its lines are indented, so that an endless one would become many times as long. */
const maxCommentChars = 10_000;
/** Letters of a name, before its number and ending. Other types repeat it. */
const maxNameChars = 100;

/** Gives names that are valid in TypeScript and used once. */
export class TypeNames {
  readonly #used: Set<string>;
  /** The last number after a name that was taken, so that the next one is not searched from 1. */
  readonly #numbers = new Map<string, number>();

  constructor(reserved: Iterable<string> = []) {
    this.#used = new Set(reserved);
  }

  /** Returns a name such as `ReadFileInput` for `read-file` and `Input`. */
  take(text: string, ending = ""): string {
    const name = toPascal(text).slice(0, maxNameChars);
    const key = `${name} ${ending}`;
    for (let number = (this.#numbers.get(key) ?? 0) + 1; ; number += 1) {
      const candidate = `${name}${number === 1 ? "" : number}${ending}`;
      if (this.#used.has(candidate)) continue;
      this.#used.add(candidate);
      this.#numbers.set(key, number);
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

/** The types of a schema, or of all of them, would be too long. */
class TooLongError extends Error {}

/** Writes the types of JSON Schemas. Every type that a schema refers to becomes an exported type of its own. */
export class SchemaTypes {
  /** The declarations so far, in the order in which they were needed. */
  readonly declarations: string[] = [];
  readonly #names: TypeNames;
  #charsLeft = maxAllChars;

  constructor(names: TypeNames) {
    this.#names = names;
  }

  /** Declares a type for a schema under this name. Returns false, and declares nothing, if it would be too long. */
  declare(name: string, schema: unknown): boolean {
    const root = new Root(schema, name, this.#names, Math.min(maxSchemaChars, this.#charsLeft));
    try {
      for (const declaration of root.declare()) this.declarations.push(declaration);
      return true;
    } catch (reason) {
      if (reason instanceof TooLongError) return false;
      throw reason;
    } finally {
      this.#charsLeft -= root.chars;
    }
  }
}

/** The types of one schema with its references. */
class Root {
  readonly #root: unknown;
  readonly #name: string;
  readonly #names: TypeNames;
  readonly #maxChars: number;
  /** The names of the types that the schema refers to. By object: a reference can be spelled in many ways. */
  readonly #references = new Map<unknown, string>();
  /** The types to declare. A list, because a chain of references may be longer than the stack is deep. */
  readonly #types: { readonly name: string; readonly schema: unknown }[] = [];
  /** The characters so far. */
  chars = 0;

  constructor(root: unknown, name: string, names: TypeNames, maxChars: number) {
    this.#root = root;
    this.#name = name;
    this.#names = names;
    this.#maxChars = maxChars;
    // The schema itself already has a name.
    this.#references.set(root, name);
    this.#types.push({ name, schema: root });
  }

  /** Returns the declarations of the schema and of all types that it refers to. Throws if they would be too long. */
  declare(): string[] {
    const declarations: string[] = [];
    // The list grows while it is read.
    for (const { name, schema } of this.#types) {
      const text = this.#typeOf(schema, 0);
      // A type that is only another name for itself has no values.
      declarations.push(`${this.#count(`export type ${name} = `)}${text === name ? "unknown" : text};`);
    }
    return declarations;
  }

  /** Counts a text that becomes part of a type. */
  #count(text: string): string {
    this.chars += text.length + 1;
    if (this.chars > this.#maxChars) throw new TooLongError();
    return text;
  }

  #typeOf(given: unknown, depth: number): string {
    if (given === false) return "never";
    if (!isSchema(given) || depth > deepest) return "unknown";
    const next = (inner: unknown) => this.#typeOf(inner, depth + 1);
    const literal = (value: unknown) => this.#count(literalOf(value));
    const parts: string[] = [];
    if (typeof given["$ref"] === "string") parts.push(this.#count(this.#reference(given["$ref"])));
    if ("const" in given) parts.push(literal(given["const"]));
    else if (Array.isArray(given["enum"])) parts.push(union(given["enum"].map(literal)));
    else parts.push(...this.#byKind(given, depth));
    for (const keyword of ["anyOf", "oneOf"]) {
      const options = given[keyword];
      if (Array.isArray(options) && options.length > 0) parts.push(union(options.map(next)));
    }
    if (Array.isArray(given["allOf"])) for (const part of given["allOf"]) parts.push(next(part));
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
        return this.#count(kind);
      case "number":
      case "integer":
        return this.#count("number");
      case "array":
        return this.#list(schema, depth);
      case "object":
        return this.#object(schema, depth);
      default:
        return "unknown";
    }
  }

  #list({ items, prefixItems, additionalItems }: Schema, depth: number): string {
    const next = (inner: unknown) => this.#typeOf(inner, depth + 1);
    // Before 2020-12, a list of schemas was called `items`.
    const first = Array.isArray(prefixItems) ? prefixItems : Array.isArray(items) ? items : [];
    const rest = Array.isArray(items) ? additionalItems : items;
    if (first.length === 0) return `${inParentheses(next(rest))}[]`;
    const more = rest === false ? [] : [`...${inParentheses(next(rest))}[]`];
    return `[${[...first.map((item) => `${inParentheses(next(item))}?`), ...more].join(", ")}]`;
  }

  #object(schema: Schema, depth: number): string {
    const properties = isSchema(schema["properties"]) ? Object.entries(schema["properties"]) : [];
    const required = new Set<unknown>(Array.isArray(schema["required"]) ? schema["required"] : []);
    const { additionalProperties: more, patternProperties } = schema;
    const space = "  ".repeat(depth + 1);
    const lines = properties.map(([name, field]) => {
      const about = isSchema(field) ? commentOf(field["description"] ?? field["title"], space, factsOf(field)) : "";
      const start = this.#count(`${about}${space}${keyOf(name)}${required.has(name) ? "" : "?"}: `);
      return `${start}${this.#typeOf(field, depth + 1)};`;
    });
    const known = new Set(properties.map(([name]) => name));
    for (const name of required) {
      if (typeof name === "string" && !known.has(name)) lines.push(this.#count(`${space}${keyOf(name)}: unknown;`));
    }
    if (lines.length === 0) {
      if (more === false && patternProperties === undefined) return "{ [name: string]: never }";
      return `{ [name: string]: ${isSchema(more) ? this.#typeOf(more, depth + 1) : "unknown"} }`;
    }
    // An index signature must fit all properties, so its type is the widest one.
    if (isSchema(more) || more === true || patternProperties !== undefined)
      lines.push(`${space}[name: string]: unknown;`);
    return `{\n${lines.join("\n")}\n${"  ".repeat(depth)}}`;
  }

  /** Returns the name of a type that the schema refers to. A type may contain itself. */
  #reference(pointer: string): string {
    const target = resolvePointer(this.#root as object, pointer);
    const known = this.#references.get(target);
    if (known !== undefined) return known;
    if (!isSchema(target) || Object.keys(target).length === 0) return "unknown";
    const name = this.#names.take(`${this.#name} ${pointer.split("/").at(-1) ?? ""}`);
    this.#references.set(target, name);
    this.#types.push({ name, schema: target });
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
function literalOf(value: unknown, depth = 0): string {
  if (depth > deepest) return "unknown";
  const next = (inner: unknown) => literalOf(inner, depth + 1);
  if (Array.isArray(value)) return `[${value.map(next).join(", ")}]`;
  if (isSchema(value)) {
    const members = Object.entries(value).map(([name, inner]) => `${keyOf(name)}: ${next(inner)}`);
    return `{ ${members.join("; ")} }`;
  }
  return JSON.stringify(value) ?? "unknown";
}

/** Returns the limits of a field that its type cannot express. */
function factsOf(schema: Schema): string {
  const facts = ["minimum", "maximum", "minLength", "maxLength", "pattern", "format", "default"].flatMap((keyword) =>
    schema[keyword] === undefined || !isShallow(schema[keyword])
      ? []
      : [`${keyword}: ${JSON.stringify(schema[keyword])}`],
  );
  return facts.join(", ");
}

/** Returns true if a value is not nested so deeply that formatting it could exceed the stack. */
function isShallow(value: unknown, depth = 0): boolean {
  if (typeof value !== "object" || value === null) return true;
  return depth < deepest && Object.values(value).every((inner) => isShallow(inner, depth + 1));
}

/** Formats text of a server as a comment. It cannot end the comment. */
export function commentOf(text: unknown, space: string, more = ""): string {
  const whole = [typeof text === "string" ? text.trim() : "", more].filter(Boolean).join("\n\n");
  const about = whole.length > maxCommentChars ? `${whole.slice(0, maxCommentChars)}…` : whole;
  if (about === "") return "";
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is removed
  const safe = about.replace(/\r\n?|[\u2028\u2029]/g, "\n").replace(/[\u0000-\u0009\u000b-\u001f\u007f]/g, " ");
  const lines = safe.replaceAll("*/", "*\\/").split("\n");
  if (lines.length === 1) return `${space}/** ${lines[0]} */\n`;
  return `${space}/**\n${lines.map((line) => `${space} * ${line}`.trimEnd()).join("\n")}\n${space} */\n`;
}
