import type { JsonObject } from "portolan";
import { Failure } from "./failure.ts";

interface Schema {
  readonly type?: unknown;
  readonly properties?: { readonly [name: string]: Schema };
  readonly items?: Schema;
  readonly enum?: readonly unknown[];
}

/**
 * The arguments of a tool from a command line: `key=value` takes the type that the tool's schema says, `key:=json` any
 * JSON, `a.b=value` goes inside, a JSON object stands for all. Nothing is guessed: what the schema does not say is text.
 */
export function parseArguments(words: readonly string[], schema: Schema): JsonObject {
  const args: { [name: string]: unknown } = {};
  for (const word of words) {
    if (word.startsWith("{")) {
      Object.assign(args, parseObject(word));
      continue;
    }
    const [, path = "", isJson = "", value = ""] = /^([^=:]+(?::(?!=)[^=:]*)*)(:?)=([\s\S]*)$/.exec(word) ?? [];
    if (path === "") {
      const example = Object.keys(schema.properties ?? {})[0] ?? "name";
      throw new Failure(
        "usage",
        `expected ${example}=value, ${example}:=json or a JSON object, got ${JSON.stringify(word)}`,
      );
    }
    const [target, name, field] = placeOf(args, path, schema);
    if (isJson) target[name] = parseJson(value, path);
    else if (isList(field)) {
      // Said again, it is one more: tag=a tag=b.
      const list = Array.isArray(target[name]) ? (target[name] as unknown[]) : [];
      target[name] = [...list, coerce(value, field?.items ?? {}, path)];
    } else target[name] = coerce(value, field ?? {}, path);
  }
  return args;
}

/** Where a path leads: the object that has its last name. A name with a dot that the schema knows is one name. */
function placeOf(
  args: { [name: string]: unknown },
  path: string,
  schema: Schema,
): [target: { [name: string]: unknown }, name: string, field: Schema | undefined] {
  const known = schema.properties ?? {};
  if (Object.hasOwn(known, path) || !path.includes(".")) return [args, path, own(known, path)];
  const names = path.split(".");
  const last = names.pop() ?? "";
  let target = args;
  let inside: Schema | undefined = schema;
  for (const name of names) {
    const next = Object.hasOwn(target, name) ? target[name] : undefined;
    const box =
      typeof next === "object" && next !== null && !Array.isArray(next) ? (next as { [name: string]: unknown }) : {};
    // Not an assignment: a name may be __proto__.
    Object.defineProperty(target, name, { value: box, enumerable: true, configurable: true, writable: true });
    target = box;
    inside = own(inside?.properties ?? {}, name);
  }
  return [target, last, own(inside?.properties ?? {}, last)];
}

function own(properties: { readonly [name: string]: Schema }, name: string): Schema | undefined {
  return Object.hasOwn(properties, name) ? properties[name] : undefined;
}

function isList(field: Schema | undefined): boolean {
  return typesOf(field).includes("array") && !typesOf(field).includes("string");
}

function typesOf(field: Schema | undefined): readonly unknown[] {
  const { type } = field ?? {};
  return Array.isArray(type) ? type : [type];
}

/** A word as the schema wants it; one that cannot be that is refused. */
function coerce(value: string, field: Schema, path: string): unknown {
  const types = typesOf(field);
  if (types.includes("string")) return value;
  if (types.includes("boolean") && (value === "true" || value === "false")) return value === "true";
  if ((types.includes("number") || types.includes("integer")) && /^-?\d+(\.\d+)?(e[+-]?\d+)?$/i.test(value)) {
    const number = Number(value);
    if (types.includes("number") || Number.isInteger(number)) return number;
  }
  if (types.includes("null") && value === "null") return null;
  if (types.includes("object")) return parseObject(value, path);
  // Without a type, a value that is one of the choices is that choice.
  const choice = field.enum?.find((option) => String(option) === value);
  if (choice !== undefined) return choice;
  if (types.every((type) => type === undefined)) return value;
  throw new Failure("usage", `${path}: expected ${types.join(" or ")}, got ${JSON.stringify(value)}`, {
    next: `${path}:=<json> passes any JSON value`,
  });
}

function parseJson(text: string, path: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new Failure("usage", `${path}: expected JSON, got ${JSON.stringify(text)}`, {
      next: `${path}=value passes text`,
    });
  }
}

function parseObject(text: string, path = "arguments"): JsonObject {
  const value = parseJson(text, path);
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as JsonObject;
  throw new Failure("usage", `${path}: expected a JSON object, got ${text.slice(0, 40)}`);
}
