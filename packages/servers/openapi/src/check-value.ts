import { isJson, type Json, listOf } from "./description.ts";

const maxSteps = 1_000_000;
const maxDepth = 200;

/** The first thing that is wrong with a value. `path` is like `pet.tags[2]`; empty for the value itself. */
export interface Problem {
  readonly path: string;
  readonly message: string;
}

/**
 * Checks a value against a schema that `convertSchemas` made. Those have no patterns, so that a check takes a time that
 * grows with the value only; one that takes too many steps ends with a problem.
 */
export function firstProblem(value: unknown, schema: Json, definitions: Json): Problem | undefined {
  const state = { steps: 0, definitions };
  return check(value, schema, "", 0, state);
}

interface State {
  steps: number;
  readonly definitions: Json;
}

function check(value: unknown, schema: unknown, path: string, depth: number, state: State): Problem | undefined {
  state.steps += 1;
  if (state.steps > maxSteps || depth > maxDepth) return { path, message: "is too large to check" };
  if (!isJson(schema)) return undefined;
  const inner = (part: unknown, of: unknown, at = path) => check(of, part, at, depth + 1, state);
  const reference = schema["$ref"];
  const name = typeof reference === "string" ? reference.slice("#/$defs/".length) : undefined;
  const target = name !== undefined && Object.hasOwn(state.definitions, name) ? state.definitions[name] : undefined;
  return (
    (target === undefined ? undefined : inner(target, value)) ??
    checkPlain(value, schema, path) ??
    checkCombined(value, schema, path, inner) ??
    (Array.isArray(value) ? checkItems(value, schema, path, inner) : undefined) ??
    (isJson(value) ? checkMembers(value, schema, path, inner) : undefined)
  );
}

type Inner = (schema: unknown, value: unknown, path?: string) => Problem | undefined;

function checkPlain(value: unknown, schema: Json, path: string): Problem | undefined {
  const wrong = (message: string): Problem => ({ path, message });
  const { type } = schema;
  const allowed = type === undefined ? [] : [type].flat();
  if (allowed.length > 0 && !allowed.some((one) => isOfType(value, one))) {
    return wrong(`expected ${allowed.join(" or ")}, got ${typeNameOf(value)}`);
  }
  const choices = schema["const"] === undefined ? schema["enum"] : [schema["const"]];
  if (Array.isArray(choices) && !choices.some((choice) => isEqual(choice, value))) {
    const shown = choices.slice(0, 20).map((choice) => JSON.stringify(choice));
    return wrong(`expected one of ${shown.join(", ")}${choices.length > shown.length ? ", …" : ""}`);
  }
  const size = typeof value === "number" ? value : sizeOf(value);
  const kind =
    typeof value === "number" ? "" : Array.isArray(value) ? "Items" : isJson(value) ? "Properties" : "Length";
  if (size === undefined) return undefined;
  const limitOf = (keyword: string) => (typeof schema[keyword] === "number" ? (schema[keyword] as number) : undefined);
  const least = limitOf(kind === "" ? "minimum" : `min${kind}`);
  const most = limitOf(kind === "" ? "maximum" : `max${kind}`);
  const what = { "": "", Items: " items", Properties: " members", Length: " characters" }[kind];
  if (least !== undefined && size < least) return wrong(`expected at least ${least}${what}, got ${size}`);
  if (most !== undefined && size > most) return wrong(`expected at most ${most}${what}, got ${size}`);
  if (kind !== "") return undefined;
  const above = limitOf("exclusiveMinimum");
  const below = limitOf("exclusiveMaximum");
  if (above !== undefined && size <= above) return wrong(`expected more than ${above}, got ${size}`);
  if (below !== undefined && size >= below) return wrong(`expected less than ${below}, got ${size}`);
  return undefined;
}

function checkCombined(value: unknown, schema: Json, path: string, inner: Inner): Problem | undefined {
  for (const part of listOf(schema["allOf"])) {
    const problem = inner(part, value);
    if (problem) return problem;
  }
  const alternatives = listOf(schema["anyOf"]);
  const problems: Problem[] = [];
  for (const part of alternatives) {
    const problem = inner(part, value);
    if (!problem) break;
    problems.push(problem);
  }
  if (alternatives.length > 0 && problems.length === alternatives.length) {
    // The alternative whose problem is deepest was most likely meant.
    const [nearest] = problems.sort((a, b) => b.path.length - a.path.length);
    return nearest && nearest.path !== path ? nearest : { path, message: "matches none of the alternatives" };
  }
  if (schema["not"] !== undefined && !inner(schema["not"], value)) return { path, message: "is not allowed" };
  return undefined;
}

function checkItems(value: readonly unknown[], schema: Json, path: string, inner: Inner): Problem | undefined {
  const first = listOf(schema["prefixItems"]);
  for (const [index, item] of value.entries()) {
    const part = index < first.length ? first[index] : schema["items"];
    const problem = part === undefined ? undefined : inner(part, item, `${path}[${index}]`);
    if (problem) return problem;
  }
  return undefined;
}

function checkMembers(value: Json, schema: Json, path: string, inner: Inner): Problem | undefined {
  const at = (name: string) => (path === "" ? name : `${path}.${name}`);
  const missing = listOf(schema["required"]).find((name) => !Object.hasOwn(value, String(name)));
  if (missing !== undefined) return { path: at(String(missing)), message: "is required" };
  const known = isJson(schema["properties"]) ? schema["properties"] : {};
  const others = schema["additionalProperties"];
  for (const [name, member] of Object.entries(value)) {
    const isKnown = Object.hasOwn(known, name);
    if (!isKnown && others === false) return { path: at(name), message: "is unknown" };
    const part = isKnown ? known[name] : others;
    const problem = part === undefined ? undefined : inner(part, member, at(name));
    if (problem) return problem;
  }
  return undefined;
}

function isOfType(value: unknown, type: unknown): boolean {
  if (type === "integer") return Number.isInteger(value);
  return typeNameOf(value) === type;
}

function typeNameOf(value: unknown): string {
  if (value === null) return "null";
  return Array.isArray(value) ? "array" : typeof value;
}

function sizeOf(value: unknown): number | undefined {
  if (typeof value === "string") return [...value].length;
  if (Array.isArray(value)) return value.length;
  return isJson(value) ? Object.keys(value).length : undefined;
}

function isEqual(a: unknown, b: unknown): boolean {
  return a === b || (typeof a === "object" && a !== null && JSON.stringify(a) === JSON.stringify(b));
}
