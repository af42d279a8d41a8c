import type { JsonObject } from "portolan";
import { Failure } from "./failure.ts";
import { type FieldSchema, meantBy, typesOf } from "./field.ts";

/**
 * The arguments of a tool from a command line: `key=value` takes the type that the tool's schema says, `key:=json` any
 * JSON, `a.b=value` goes inside, a JSON object stands for all. Nothing is guessed: what the schema does not say is text.
 */
export function parseArguments(words: readonly string[], schema: FieldSchema): JsonObject {
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
    if (target === args && field === undefined && isClosed(schema)) {
      const known = Object.keys(schema.properties ?? {}).join(", ") || "none";
      throw new Failure("usage", `${path}: there is no such argument; there is ${known}`);
    }
    if (isJson) target[name] = parseJson(value, path, `${path}=value passes text`);
    else if (isList(field)) {
      // Said again, it is one more: tag=a tag=b.
      const list = Array.isArray(target[name]) ? (target[name] as unknown[]) : [];
      target[name] = [...list, coerce(value, meantBy(field?.items ?? {}, schema), path)];
    } else target[name] = coerce(value, field ?? {}, path);
  }
  return args;
}

/** Refuses arguments that lack what a schema requires, by the names that would have to be given. */
export function requireAll(tool: string, args: JsonObject, schema: JsonObject, next?: string): void {
  const { properties = {}, required = [] } = schema as FieldSchema;
  // Some call required what they have a default for: they decide.
  const names = Array.isArray(required) ? required.map(String) : [];
  const missing = names.filter((name) => !Object.hasOwn(args, name) && properties[name]?.default === undefined);
  if (missing.length === 0) return;
  const odd = Object.keys(args).filter((name) => !Object.hasOwn(properties, name));
  const unknown = odd.length > 0 ? `; it does not know ${odd.join(", ")}` : "";
  throw new Failure("usage", `${tool} needs ${missing.map((name) => `${name}=…`).join(" ")}${unknown}`, { next });
}

/** Whether a schema says that there are no other members than those it names. */
function isClosed({ additionalProperties, patternProperties }: FieldSchema): boolean {
  return additionalProperties === false && patternProperties === undefined;
}

/** Where a path leads: the object that has its last name. A name with a dot that the schema knows is one name. */
function placeOf(
  args: { [name: string]: unknown },
  path: string,
  schema: FieldSchema,
): [target: { [name: string]: unknown }, name: string, field: FieldSchema | undefined] {
  const known = schema.properties ?? {};
  if (Object.hasOwn(known, path) || !path.includes(".")) return [args, path, own(known, path, schema)];
  const names = path.split(".");
  const last = names.pop() ?? "";
  let target = args;
  let inside: FieldSchema | undefined = schema;
  for (const name of names) {
    const next = Object.hasOwn(target, name) ? target[name] : undefined;
    const box =
      typeof next === "object" && next !== null && !Array.isArray(next) ? (next as { [name: string]: unknown }) : {};
    // Not an assignment: a name may be __proto__.
    Object.defineProperty(target, name, { value: box, enumerable: true, configurable: true, writable: true });
    target = box;
    inside = own(inside?.properties ?? {}, name, schema);
  }
  return [target, last, own(inside?.properties ?? {}, last, schema)];
}

function own(
  properties: { readonly [name: string]: FieldSchema },
  name: string,
  root: FieldSchema,
): FieldSchema | undefined {
  const field = Object.hasOwn(properties, name) ? properties[name] : undefined;
  return field && meantBy(field, root);
}

function isList(field: FieldSchema | undefined): boolean {
  return typesOf(field).includes("array") && !typesOf(field).includes("string");
}

/** A word as the schema wants it; one that cannot be that is refused. */
function coerce(value: string, field: FieldSchema, path: string): unknown {
  const types = typesOf(field);
  const choices = field.enum?.filter((option) => typeof option === "string") ?? [];
  if (choices.length > 0 && choices.length === field.enum?.length && !choices.includes(value)) {
    throw new Failure("usage", `${path}: expected one of ${choices.join(", ")}, got ${JSON.stringify(value)}`, {
      next: `${path}:=<json> passes any JSON value`,
    });
  }
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
  if (types.length === 0) return value;
  throw new Failure("usage", `${path}: expected ${types.join(" or ")}, got ${JSON.stringify(value)}`, {
    next: `${path}:=<json> passes any JSON value`,
  });
}

function parseJson(text: string, path: string, next?: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new Failure("usage", `${path}: expected JSON, got ${JSON.stringify(text)}`, { next });
  }
}

function parseObject(text: string, path = "arguments"): JsonObject {
  const value = parseJson(text, path);
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as JsonObject;
  throw new Failure("usage", `${path}: expected a JSON object, got ${text.slice(0, 40)}`);
}
