import { nameOf } from "../errors.ts";
import type { JsonObject } from "../jsonrpc/message.ts";
import { isObject } from "../schema/shape.ts";
import { decodeHeaderValue, encodeHeaderValue, headerKeys, headerNames, problemOfValue, quote } from "./headers.ts";

/** A tool argument that a header repeats. */
export interface ParamHeader {
  /** The header name as it is sent. */
  readonly name: string;
  /** The header name in lower case, for lookups. */
  readonly key: string;
  /** The path from the arguments to the value. */
  readonly path: readonly string[];
}

/** All arguments of one tool that headers repeat. */
export type ParamPlan = readonly ParamHeader[];

const annotation = "x-mcp-header";
const types: readonly unknown[] = ["integer", "string", "boolean"];
const token = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const decimal = /^-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?$/;
const maxHeaders = 100;
const maxDepth = 32;
const maxSubschemas = 100_000;

/** Keywords below which an annotation is not allowed: `maps` hold schemas by name, `others` one schema or a list. */
const maps = ["patternProperties", "dependentSchemas", "dependencies", "$defs", "definitions"];
const others = [
  ...["items", "prefixItems", "additionalItems", "contains", "unevaluatedItems"],
  ...["additionalProperties", "unevaluatedProperties", "propertyNames", "contentSchema"],
  ...["allOf", "anyOf", "oneOf", "not", "if", "then", "else"],
];

/** A subschema to search, and the path to it. */
interface Place {
  readonly schema: JsonObject;
  readonly path: readonly string[];
  /** The keyword above it that forbids annotations. */
  readonly under: string | undefined;
}

const none: ParamPlan = [];

/** Finds the arguments that headers repeat, or the problem for which the tool must not be used over HTTP. */
export function planParamHeaders(inputSchema: JsonObject): ParamPlan | { problem: string } {
  const plan: ParamHeader[] = [];
  const places: Place[] = [{ schema: inputSchema, path: [], under: undefined }];
  for (let at = 0; at < places.length; at++) {
    if (at >= maxSubschemas) return { problem: `inputSchema: expected at most ${maxSubschemas} subschemas, got more` };
    const place = places[at] as Place;
    const name = place.schema[annotation];
    if (name !== undefined) {
      const problem = problemOfAnnotation(name, place, plan);
      if (problem !== undefined) return { problem: `inputSchema: ${whereIs(place)}${problem}` };
      plan.push({ name: headerNames.param + name, key: keyOf(name as string), path: place.path });
    }
    addBelow(place, places);
  }
  return plan.length === 0 ? none : plan;
}

// spec 2026-07-28: streamable-http#schema-extension
function problemOfAnnotation(name: unknown, { schema, path, under }: Place, plan: ParamPlan): string | undefined {
  if (typeof name !== "string" || !token.test(name)) {
    return `${annotation}: expected the letters, digits and marks of an HTTP token, got ${nameOf(name)}`;
  }
  const what = `${annotation} ${nameOf(name)}: expected`;
  if (under !== undefined) return `${what} only on what properties alone lead to, got it below ${under}`;
  if (path.length === 0) return `${what} on a property, got it on the schema itself`;
  if (!types.includes(schema["type"])) {
    return `${what} on an integer, a string or a boolean, got type ${nameOf(schema["type"])}`;
  }
  const key = keyOf(name);
  if (plan.some((other) => other.key === key)) return `${what} once, whatever its capitals, got it twice`;
  return plan.length < maxHeaders ? undefined : `${what} at most ${maxHeaders} of them, got more`;
}

function addBelow({ schema, path, under }: Place, places: Place[]): void {
  const { properties } = schema;
  if (isObject(properties)) {
    const isTooDeep = path.length >= maxDepth;
    const below = under ?? (isTooDeep ? `${maxDepth} levels of properties` : undefined);
    for (const name of Object.keys(properties)) {
      add(properties[name], isTooDeep ? path : [...path, name], below, places);
    }
  }
  for (const keyword of maps) {
    const held = schema[keyword];
    if (isObject(held)) for (const one of Object.values(held)) add(one, path, under ?? keyword, places);
  }
  for (const keyword of others) {
    const held = schema[keyword];
    if (Array.isArray(held)) for (const one of held) add(one, path, under ?? keyword, places);
    else add(held, path, under ?? keyword, places);
  }
}

function add(schema: unknown, path: readonly string[], under: string | undefined, places: Place[]): void {
  if (isObject(schema)) places.push({ schema, path, under });
}

function whereIs({ path }: Place): string {
  return path.length === 0 ? "" : `${quote(path.join("."))}: `;
}

function keyOf(name: string): string {
  return headerKeys.param + name.toLowerCase();
}

const nothing: readonly [name: string, value: string][] = [];

/** Returns the encoded headers for these arguments. Null, absent and structured values and unsafe integers have none. */
export function paramHeaders(plan: ParamPlan, args: JsonObject | undefined): readonly [name: string, value: string][] {
  if (plan.length === 0 || args === undefined) return nothing;
  const headers: [name: string, value: string][] = [];
  for (const { name, path } of plan) {
    const text = textOf(valueAt(path, args));
    if (text !== undefined) headers.push([name, encodeHeaderValue(text)]);
  }
  return headers;
}

/** Compares the `Mcp-Param-` headers with the arguments. Returns undefined if they match. Unknown headers are ignored. */
export function problemOfParamHeaders(
  plan: ParamPlan,
  args: JsonObject | undefined,
  headersUnder: (prefix: string) => readonly (readonly [name: string, value: string])[],
): string | undefined {
  if (plan.length === 0) return undefined;
  const sent = new Map<string, string>();
  for (const [name, value] of headersUnder(headerKeys.param)) {
    const first = sent.get(name);
    sent.set(name, first === undefined ? value : `${first}, ${value}`);
  }
  for (const param of plan) {
    const problem = problemOf(param, args === undefined ? undefined : valueAt(param.path, args), sent.get(param.key));
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function problemOf({ name, path }: ParamHeader, value: unknown, header: string | undefined): string | undefined {
  if (value === undefined || value === null) {
    return header === undefined
      ? undefined
      : `${name}: expected no such header, because the body has no argument ${quote(path.join("."))}`;
  }
  const text = textOf(value);
  if (text === undefined) {
    const argument = quote(path.join("."));
    return `${name}: expected argument ${argument} to be a string, a boolean or an integer within ±(2^53-1), got ${nameOf(value)}`;
  }
  if (typeof value === "number" && header !== undefined && isNumber(decodeHeaderValue(header), value)) return undefined;
  return problemOfValue(name, header, text);
}

function isNumber(text: string | undefined, value: number): boolean {
  return text !== undefined && decimal.test(text) && Number(text) === value;
}

/** Returns the header text of a value; undefined for a value without one. */
function textOf(value: unknown): string | undefined {
  switch (typeof value) {
    case "string":
      return value;
    case "boolean":
      return String(value);
    case "number":
      // Fractions pass here: the check of the arguments refuses them with a message for the model.
      return Number.isSafeInteger(value) || isFraction(value) ? String(value) : undefined;
    default:
      return undefined;
  }
}

function isFraction(value: number): boolean {
  return Number.isFinite(value) && !Number.isInteger(value);
}

function valueAt(path: readonly string[], args: JsonObject): unknown {
  let value: unknown = args;
  for (const member of path) {
    if (!isObject(value) || !Object.hasOwn(value, member)) return undefined;
    value = value[member];
  }
  return value;
}
