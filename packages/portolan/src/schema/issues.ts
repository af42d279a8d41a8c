import type { OutputUnit, Schema as PlainSchema } from "@cfworker/json-schema";
import { describe, isObject } from "./shape.ts";

/** One wrong place in a value; `path` reads like `rows[3].id` and is empty for the value itself. */
export interface Issue {
  readonly path: string;
  readonly message: string;
}

const MAX_ISSUES = 10;

/** Joins the keys that lead to a place: `["rows", 3, "id"]` becomes `rows[3].id`. */
export function toPath(keys: readonly PropertyKey[]): string {
  let path = "";
  for (const key of keys) {
    if (typeof key === "number") path += `[${key}]`;
    else if (typeof key === "symbol" || /^[\p{ID_Start}$_][\p{ID_Continue}$-]*$/u.test(key)) {
      path += path === "" ? String(key) : `.${String(key)}`;
    } else path += `[${JSON.stringify(key)}]`;
  }
  return path;
}

/** What a failed validation ran on. */
export interface Failure {
  readonly value: unknown;
  readonly root: PlainSchema | boolean;
  readonly lookup: { readonly [uri: string]: PlainSchema | boolean };
}

/** Turns a validator's output into a few lines a reader can act on: the innermost errors, the closest alternative. */
export function toIssues(errors: readonly OutputUnit[], failure: Failure): Issue[] {
  const issues: Issue[] = [];
  const seen = new Set<string>();
  for (const error of innermost(errors)) {
    for (const issue of explain(error, failure)) {
      const key = `${issue.path}: ${issue.message}`;
      if (seen.has(key)) continue;
      seen.add(key);
      issues.push(issue);
      if (issues.length === MAX_ISSUES) return issues;
    }
  }
  return issues.length > 0 ? issues : [{ path: "", message: "does not match the schema" }];
}

/** Keywords whose errors only announce the errors that follow them. */
const announcing = new Set([
  ...["$ref", "properties", "patternProperties", "additionalProperties", "unevaluatedProperties", "prefixItems"],
  ...["items", "additionalItems", "unevaluatedItems", "allOf", "if", "dependentSchemas"],
]);

function innermost(errors: readonly OutputUnit[]): OutputUnit[] {
  const kept: OutputUnit[] = [];
  for (let index = 0; index < errors.length; index++) {
    const error = errors[index] as OutputUnit;
    if (announcing.has(error.keyword)) continue;
    const isChoice = error.keyword === "anyOf" || error.keyword === "oneOf";
    if (!isChoice && error.keyword !== "propertyNames" && error.keyword !== "contains") {
      kept.push(error);
      continue;
    }
    let end = index + 1;
    while (errors[end]?.keywordLocation.startsWith(`${error.keywordLocation}/`)) end += 1;
    kept.push(...(isChoice ? closest(error, errors.slice(index + 1, end)) : [error]));
    index = end - 1;
  }
  return kept;
}

/** Of the failed alternatives, the one that failed deepest in the value is the one that was meant. */
function closest(choice: OutputUnit, errors: readonly OutputUnit[]): OutputUnit[] {
  const branches = new Map<string, OutputUnit[]>();
  for (const error of errors) {
    const branch = error.keywordLocation.slice(choice.keywordLocation.length + 1).split("/", 1)[0] as string;
    const list = branches.get(branch);
    if (list === undefined) branches.set(branch, [error]);
    else list.push(error);
  }
  let best: OutputUnit[] = [];
  let bestDepth = choice.instanceLocation.length;
  let isTie = false;
  for (const branch of branches.values()) {
    const leaves = innermost(branch);
    // A branch that fails at the value itself (another type, another constant) was not the one that was meant.
    const isOther = leaves.some((leaf) => leaf.instanceLocation === choice.instanceLocation && leaf.keyword === "type");
    const depth = isOther ? 0 : Math.max(...leaves.slice(0, 100).map((leaf) => leaf.instanceLocation.length));
    if (depth > bestDepth) [best, bestDepth, isTie] = [leaves, depth, false];
    else if (depth === bestDepth) isTie = true;
  }
  return best.length === 0 || isTie ? [choice] : best;
}

function explain(error: OutputUnit, failure: Failure): Issue[] {
  const { keys, value } = locate(error.instanceLocation, failure.value);
  const expected = keywordValue(error, failure);
  const at = (message: string): Issue[] => [{ path: toPath(keys), message }];
  if (error.keyword === "required" && Array.isArray(expected) && isObject(value)) {
    const missing = expected.filter((name) => !Object.hasOwn(value, name));
    return missing.map((name) => ({ path: toPath([...keys, name]), message: "required, got nothing" }));
  }
  if (error.keyword === "false") return at("not allowed here");
  const wording = wordings[error.keyword];
  return at(wording === undefined ? oneLine(error.error) : wording(expected, value, error));
}

type Wording = (expected: unknown, value: unknown, error: OutputUnit) => string;

const wordings: { readonly [keyword: string]: Wording } = {
  type: (expected, value) => `expected ${Array.isArray(expected) ? expected.join(" or ") : expected}, ${got(value)}`,
  const: (expected, value) => `expected ${short(expected)}, ${got(value)}`,
  enum: (expected, value) => `expected one of ${listed(expected)}, ${got(value)}`,
  minimum: (expected, value) => `expected at least ${expected}, ${got(value)}`,
  maximum: (expected, value) => `expected at most ${expected}, ${got(value)}`,
  exclusiveMinimum: (expected, value) => `expected more than ${expected}, ${got(value)}`,
  exclusiveMaximum: (expected, value) => `expected less than ${expected}, ${got(value)}`,
  multipleOf: (expected, value) => `expected a multiple of ${expected}, ${got(value)}`,
  minLength: (expected, value) => `expected at least ${expected} characters, ${got(value)}`,
  maxLength: (expected, value) => `expected at most ${expected} characters, ${got(value)}`,
  pattern: (expected, value) => `expected text that matches ${short(expected)}, ${got(value)}`,
  format: (expected, value) => `expected text in the format ${short(expected)}, ${got(value)}`,
  minItems: (expected, value) => `expected at least ${expected} items, got ${sizeOf(value)}`,
  maxItems: (expected, value) => `expected at most ${expected} items, got ${sizeOf(value)}`,
  minProperties: (expected, value) => `expected at least ${expected} members, got ${sizeOf(value)}`,
  maxProperties: (expected, value) => `expected at most ${expected} members, got ${sizeOf(value)}`,
  uniqueItems: () => "expected items that all differ",
  contains: () => 'expected an item that matches "contains"',
  not: (_expected, value) => `expected something that does not match "not", ${got(value)}`,
  anyOf: (expected, value) => `expected ${alternatives(expected)}, ${got(value)}`,
  oneOf: (expected, value, error) =>
    /\b0 matches\b/.test(error.error)
      ? `expected ${alternatives(expected)}, ${got(value)}`
      : `expected exactly one alternative of "oneOf" to match, ${got(value)} that matches several`,
};

function got(value: unknown): string {
  return `got ${describe(value)}`;
}

function sizeOf(value: unknown): number {
  return Array.isArray(value) ? value.length : Object.keys(Object(value)).length;
}

/** Names the alternatives when each is a plain type or constant, as nullable and literal unions are. */
function alternatives(expected: unknown): string {
  const names = (Array.isArray(expected) ? expected : []).map((branch) => {
    if (!isObject(branch)) return undefined;
    if ("const" in branch) return short(branch["const"]);
    if (Array.isArray(branch["enum"])) return listed(branch["enum"]);
    return typeof branch["type"] === "string" ? branch["type"] : undefined;
  });
  const isPlain = names.length > 0 && names.every((name) => name !== undefined);
  return isPlain ? shorten([...new Set(names)].join(" or ")) : "a match for one of the alternatives";
}

function listed(values: unknown): string {
  return Array.isArray(values) ? shorten(values.slice(0, 20).map(short).join(", ")) : short(values);
}

function short(value: unknown): string {
  return shorten(JSON.stringify(value) ?? "nothing");
}

function shorten(text: string): string {
  return text.length > 120 ? `${text.slice(0, 117)}...` : text;
}

function oneLine(text: string): string {
  return shorten(text.replace(/\s+/g, " ").replace(/\.$/, ""));
}

/** Follows a JSON pointer fragment through the value. */
function locate(pointer: string, value: unknown): { keys: PropertyKey[]; value: unknown } {
  const keys: PropertyKey[] = [];
  let current = value;
  for (const token of tokensOf(pointer)) {
    keys.push(Array.isArray(current) ? Number(token) : token);
    current = isObject(current) || Array.isArray(current) ? (current as { [key: string]: unknown })[token] : undefined;
  }
  return { keys, value: current };
}

/** Follows the way validation took through the schema, references included, to the keyword that failed. */
function keywordValue(error: OutputUnit, { root, lookup }: Failure): unknown {
  let current: unknown = root;
  for (const token of tokensOf(error.keywordLocation)) {
    if (!isObject(current) && !Array.isArray(current)) return undefined;
    const schema = current as PlainSchema;
    current = token === "$ref" ? lookup[schema.__absolute_ref__ ?? ""] : schema[token];
  }
  return current;
}

function tokensOf(pointer: string): string[] {
  return pointer
    .split("/")
    .slice(1)
    .map((token) => decodeURIComponent(token).replaceAll("~1", "/").replaceAll("~0", "~"));
}
