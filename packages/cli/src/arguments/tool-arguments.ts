import type { JsonObject } from "portolan";
import { Failure } from "../failure.ts";
import { type FieldSchema, limitsOf, resolveField, typesOf } from "./field-schema.ts";
import { nearest } from "./nearest.ts";

/**
 * Parses the arguments of a tool: `key=value` takes the type from the schema, `key:=json` takes any JSON, `a.b=value`
 * sets a nested field, and a JSON object sets many. `key:value` is accepted if the schema has the key. Nothing is guessed: a field without a type is text, and only a list
 * may be given twice. `next` is the command that shows the arguments.
 */
export function parseArguments(words: readonly string[], schema: FieldSchema, next?: string): JsonObject {
  const args: { [name: string]: unknown } = {};
  const said = new Set<string>();
  for (const word of withoutColons(words, schema)) {
    if (word.startsWith("{")) {
      Object.assign(args, parseObject(word));
      continue;
    }
    const [, path = "", isJson = "", value = ""] = /^([^=:]+(?::(?!=)[^=:]*)*)(:?)=([\s\S]*)$/.exec(word) ?? [];
    if (path === "") {
      const [, meant] = /^([^:]+):/.exec(word) ?? [];
      const example = meant ?? Object.keys(schema.properties ?? {})[0] ?? "name";
      const message = `expected ${example}=value, ${example}:=json or a JSON object, got ${JSON.stringify(word)}`;
      throw new Failure("usage", message, { next });
    }
    const [target, name, field] = placeOf(args, path, schema);
    if (target === args && field === undefined && isClosed(schema)) {
      const known = Object.keys(schema.properties ?? {}).join(", ") || "none";
      throw new Failure("usage", `unknown argument ${path}; known: ${known}`, { next });
    }
    const isOneOfMany = !isJson && isList(field);
    if (said.has(path) && !isOneOfMany) throw new Failure("usage", `${path}: given twice, but not a list`, { next });
    said.add(path);
    if (isJson) target[name] = parseJson(value, path, `to pass text: ${path}=value`);
    else if (isOneOfMany) {
      // A repeated field adds an item: tag=a tag=b.
      const list = Array.isArray(target[name]) ? (target[name] as unknown[]) : [];
      const item = resolveField(field?.prefixItems?.[list.length] ?? field?.items ?? {}, schema);
      const how = `repeat ${path}=… for more items, or pass the whole list: ${path}:=[…]`;
      target[name] = [...list, coerce(value, item, path, how)];
    } else target[name] = coerce(value, field ?? {}, path, next);
  }
  return args;
}

/** Rewrites `key:value` and `key: value` to `key=value`, for keys that the schema has. */
function withoutColons(words: readonly string[], { properties = {} }: FieldSchema): string[] {
  const rewritten: string[] = [];
  let open: string | undefined;
  for (const word of words) {
    if (open !== undefined) {
      rewritten.push(toPair(open, word));
      open = undefined;
      continue;
    }
    const [, key = "", value = ""] = /^([^:={]+):(?!=)\s*([\s\S]*)$/.exec(word) ?? [];
    const [before = ""] = word.split("=", 1);
    // A key may contain a colon itself.
    if (!Object.hasOwn(properties, key) || Object.hasOwn(properties, before)) rewritten.push(word);
    else if (value === "" && words.at(-1) !== word) open = key;
    else rewritten.push(toPair(key, value));
  }
  return rewritten;
}

function toPair(key: string, value: string): string {
  return /^[[{]/.test(value) ? `${key}:=${value}` : `${key}=${value}`;
}

/** Fails if required arguments are missing, and names them. */
export function requireAll(tool: string, args: JsonObject, schema: JsonObject, next?: string): void {
  const { properties = {} } = schema as FieldSchema;
  const missing = missingIn(args, schema as FieldSchema, schema as FieldSchema);
  if (missing.length === 0) return;
  const odd = Object.keys(args).filter((name) => !Object.hasOwn(properties, name));
  const unknown = odd.length > 0 ? `; unknown: ${odd.join(", ")}` : "";
  throw new Failure("usage", `${tool} needs ${missing.map((name) => `${name}=…`).join(" ")}${unknown}`, { next });
}

/** Returns the paths of required fields that are missing, also in nested objects. */
function missingIn(args: JsonObject, schema: FieldSchema, root: FieldSchema, prefix = ""): string[] {
  const { properties = {}, required = [] } = schema;
  const names = Array.isArray(required) ? required.map(String) : [];
  // Some schemas require a field that has a default: leave it to the server.
  const own = names.filter((name) => !Object.hasOwn(args, name) && properties[name]?.default === undefined);
  const inside = Object.entries(args).flatMap(([name, value]) => {
    const field = memberOf(schema, name, root);
    const isKnown = field !== undefined && typesOf(field).length === 1;
    return isKnown && isObject(value) ? missingIn(value, field, root, `${prefix}${name}.`) : [];
  });
  return [...own.map((name) => prefix + name), ...inside];
}

/** True if the schema allows no fields besides those that it names. */
function isClosed({ additionalProperties, patternProperties }: FieldSchema): boolean {
  return additionalProperties === false && patternProperties === undefined;
}

/** Finds the object that holds the last name of a path. A name with a dot that the schema knows is one name. */
function placeOf(
  args: { [name: string]: unknown },
  path: string,
  schema: FieldSchema,
): [target: { [name: string]: unknown }, name: string, field: FieldSchema | undefined] {
  const known = schema.properties ?? {};
  if (Object.hasOwn(known, path) || !path.includes(".")) return [args, path, memberOf(schema, path, schema)];
  const names = path.split(".");
  const last = names.pop() ?? "";
  let target = args;
  let inside: FieldSchema | undefined = schema;
  for (const name of names) {
    const next = Object.hasOwn(target, name) ? target[name] : undefined;
    const box = isObject(next) ? (next as { [name: string]: unknown }) : {};
    // Not an assignment: the name may be __proto__.
    Object.defineProperty(target, name, { value: box, enumerable: true, configurable: true, writable: true });
    target = box;
    inside = memberOf(inside, name, schema);
    if (isList(inside)) throw new Failure("usage", `${path}: ${name} is a list`, { next: `pass it as ${name}:=[…]` });
  }
  return [target, last, memberOf(inside, last, schema)];
}

/** Returns the schema of a member, by its name or from `additionalProperties`. */
function memberOf(schema: FieldSchema | undefined, name: string, root: FieldSchema): FieldSchema | undefined {
  const { properties = {}, additionalProperties: others } = schema ?? {};
  const field = Object.hasOwn(properties, name) ? properties[name] : others;
  return isObject(field) ? resolveField(field as FieldSchema, root) : undefined;
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isList(field: FieldSchema | undefined): boolean {
  return typesOf(field).includes("array") && !typesOf(field).includes("string");
}

/** Converts a word to the type in the schema. Fails if it does not fit. */
function coerce(value: string, field: FieldSchema, path: string, next?: string): unknown {
  const types = typesOf(field);
  if (types.includes("null") && value === "null" && !types.includes("string")) return null;
  const choices = (field.enum ?? []).filter((option) => typeof option !== "object");
  if (choices.length > 0) {
    const choice = choices.find((option) => option === value) ?? choices.find((option) => String(option) === value);
    if (choice !== undefined) return choice;
    const message = `${path}: expected one of ${choices.join(", ")}, got ${JSON.stringify(value)}`;
    throw new Failure("usage", message, { next });
  }
  if (types.includes("string")) requireLimits([...value].length, limitsOf(field, true), path, value, next);
  if (types.includes("string") || types.length === 0) return value;
  if (types.includes("boolean") && (value === "true" || value === "false")) return value === "true";
  if ((types.includes("number") || types.includes("integer")) && /^-?\d+(\.\d+)?(e[+-]?\d+)?$/i.test(value)) {
    const number = Number(value);
    const isExact = !/^-?\d+$/.test(value) || Number.isSafeInteger(number);
    if (!isExact) throw new Failure("usage", `${path}: ${value} has too many digits for a number`, { next });
    if (Number.isFinite(number) && (types.includes("number") || Number.isInteger(number))) {
      requireLimits(number, limitsOf(field), path, number, next);
      return number;
    }
  }
  if (types.includes("object")) return parseObject(value, path, next);
  const wanted = types.map((type) => (type === "boolean" ? "true or false" : type)).join(" or ");
  throw new Failure("usage", `${path}: expected ${wanted}, got ${JSON.stringify(value)}`, { next });
}

/** Fails if a value is outside of the limits in the schema. `key:=json` is sent as it is. */
function requireLimits(
  size: number,
  limits: ReturnType<typeof limitsOf>,
  path: string,
  value: unknown,
  next?: string,
): void {
  if (limits.every(({ isKept }) => isKept(size))) return;
  const wanted = limits.map(({ words }) => words).join(" and ");
  throw new Failure("usage", `${path}: expected ${wanted}, got ${JSON.stringify(value)}`, { next });
}

/** Returns the arguments that the schema does not name, but that are close to one of its names. */
export function misspelt(args: JsonObject, schema: JsonObject): { readonly name: string; readonly meant: string }[] {
  const known = Object.keys((schema as FieldSchema).properties ?? {});
  return Object.keys(args).flatMap((name) => {
    if (known.includes(name)) return [];
    const [meant] = nearest(
      name,
      known.filter((other) => !Object.hasOwn(args, other)),
    );
    return meant === undefined ? [] : [{ name, meant }];
  });
}

function parseJson(text: string, path: string, next?: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new Failure("usage", `${path}: expected JSON, got ${JSON.stringify(text)}`, { next });
  }
}

function parseObject(text: string, path = "arguments", next?: string): JsonObject {
  const value = parseJson(text, path, next);
  if (isObject(value)) return value;
  throw new Failure("usage", `${path}: expected a JSON object, got ${text.slice(0, 40)}`, { next });
}
