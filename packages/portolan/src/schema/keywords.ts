import type { Schema as PlainSchema } from "@cfworker/json-schema";
import { isObject } from "./shape.ts";

/** What the value of a keyword is: subschemas in some arrangement, or plain data with a check. */
export type Keyword = "schema" | "list" | "map" | "items" | "dependencies" | DataCheck;

/** Says what was expected when the value of a keyword is wrong. */
type DataCheck = (value: unknown) => string | undefined;

const text: DataCheck = (value) => (typeof value === "string" ? undefined : "a string");
const flag: DataCheck = (value) => (typeof value === "boolean" ? undefined : "a boolean");
const quantity: DataCheck = (value) => (typeof value === "number" ? undefined : "a number");
const positive: DataCheck = (value) => (typeof value === "number" && value > 0 ? undefined : "a number above 0");
const count: DataCheck = (value) =>
  Number.isInteger(value) && Number(value) >= 0 ? undefined : "an integer from 0 on";
const anything: DataCheck = () => undefined;
const values: DataCheck = (value) => (Array.isArray(value) ? undefined : "an array");
const names: DataCheck = (value) => (isNames(value) ? undefined : "an array of strings");
const nameMap: DataCheck = (value) =>
  isObject(value) && Object.values(value).every(isNames) ? undefined : "an object of arrays of strings";

const typeNames = new Set(["string", "number", "integer", "boolean", "null", "array", "object"]);
const types: DataCheck = (value) =>
  (Array.isArray(value) && value.length > 0 ? value : [value]).every((name) => typeNames.has(name))
    ? undefined
    : `a type name or an array of them (${[...typeNames].join(", ")})`;

/** True for an array of strings. */
export function isNames(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((name) => typeof name === "string");
}

/** Keywords of draft-07; those it shares with 2020-12 mean the same there. */
const draft07: ReadonlyMap<string, Keyword> = new Map<string, Keyword>([
  ...entries("schema", "not", "if", "then", "else", "contains", "propertyNames", "additionalProperties"),
  ...entries("schema", "additionalItems"),
  ...entries("list", "allOf", "anyOf", "oneOf"),
  ...entries("map", "definitions", "properties", "patternProperties"),
  ...entries("items", "items"),
  ...entries("dependencies", "dependencies"),
  ...entries(text, "$id", "$ref", "$schema", "pattern", "format"),
  ...entries(types, "type"),
  ...entries(values, "enum"),
  ...entries(anything, "const"),
  ...entries(names, "required"),
  ...entries(quantity, "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"),
  ...entries(positive, "multipleOf"),
  ...entries(count, "minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"),
  ...entries(flag, "uniqueItems"),
]);

/** 2020-12 adds to draft-07; the keywords it renamed are still understood, because many schemas name no dialect. */
const draft2020: ReadonlyMap<string, Keyword> = new Map<string, Keyword>([
  ...draft07,
  ...entries("schema", "unevaluatedItems", "unevaluatedProperties"),
  ...entries("list", "prefixItems"),
  ...entries("map", "$defs", "dependentSchemas"),
  ...entries(text, "$anchor", "$dynamicAnchor", "$dynamicRef"),
  ...entries(nameMap, "dependentRequired"),
  ...entries(count, "minContains", "maxContains"),
]);

function entries(keyword: Keyword, ...names: string[]): [string, Keyword][] {
  return names.map((name) => [name, keyword]);
}

export type Draft = "7" | "2020-12";

/** The keywords a draft gives a meaning to; all others are annotations. */
export const keywordsOf: { readonly [draft in Draft]: ReadonlyMap<string, Keyword> } = {
  "7": draft07,
  "2020-12": draft2020,
};

/** The draft a `$schema` names, 2020-12 when there is none, `undefined` when it is a dialect not supported here. */
export function draftOf(dialect: unknown): Draft | undefined {
  if (dialect === undefined) return "2020-12";
  switch (
    String(dialect)
      .replace(/^https?:\/\//, "")
      .replace(/#$/, "")
  ) {
    case "json-schema.org/draft/2020-12/schema":
      return "2020-12";
    case "json-schema.org/draft-07/schema":
      return "7";
    default:
      return undefined;
  }
}

/** Writes the `dependencies` of draft-07 as the two keywords that replaced it. */
export function splitDependencies(copy: PlainSchema, dependencies: { [key: string]: PlainSchema | string[] }): void {
  const entries = Object.entries(dependencies);
  const required = entries.filter(([, value]) => Array.isArray(value)) as [string, string[]][];
  const schemas = entries.filter(([, value]) => !Array.isArray(value)) as [string, PlainSchema][];
  copy.dependentRequired = Object.fromEntries([...Object.entries(copy.dependentRequired ?? {}), ...required]);
  copy.dependentSchemas = Object.fromEntries([...Object.entries(copy.dependentSchemas ?? {}), ...schemas]);
  delete copy.dependencies;
}
