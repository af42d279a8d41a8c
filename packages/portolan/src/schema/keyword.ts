import { nameOf, PortolanError } from "../errors.ts";
import { type Check, measure, type Run, type Verdict } from "./run.ts";
import { isObject } from "./shape.ts";
import type { JsonSchema } from "./standard.ts";

/** Turns the value of a keyword into what it checks: nothing for keywords that only hold something. */
export type Keyword = (value: unknown, site: Site, name: string) => Built;

type Built = Check | readonly Check[] | undefined;

/** The schema a keyword stands in. */
export interface Site {
  readonly schema: JsonSchema;
  readonly isDraft07: boolean;
  /** Where the schema is, below a further key. */
  pathOf(key: string): string;
  /** Compiles a subschema, given the way to it from here. */
  compile(schema: unknown, ...keys: readonly (string | number)[]): Check;
  match(pattern: string, keyword: string): Matcher;
  refer(reference: string, keyword: string): Check;
}

/** Tries a text against a pattern; "maybe" when the pattern must not be run. */
export type Matcher = (text: string, run: Run) => Verdict;

/** What the value of a keyword must be. */
export interface Kind<T> {
  readonly expected: string;
  readonly is: (value: unknown) => value is T;
}

/** Makes a keyword that refuses values of another kind. */
export function keyword<T>(kind: Kind<T>, build: (value: T, site: Site, name: string) => Built): Keyword {
  return (value, site, name) => {
    if (!kind.is(value)) throw invalid(`${site.pathOf(name)}: expected ${kind.expected}, got ${nameOf(value)}`);
    return build(value, site, name);
  };
}

/** Makes a keyword that another one reads; where that one is absent, its subschema can still be referred to. */
export function partOf(isRead: (schema: JsonSchema) => boolean): Keyword {
  return (value, site, name) => {
    if (!isRead(site.schema)) site.compile(value, name);
    return undefined;
  };
}

/** Compiles the subschemas of an object or array of them. */
export function compileAll(schemas: object, site: Site, name: string): Check[] {
  return Object.entries(schemas).map(([key, schema]) => site.compile(schema, name, key));
}

function kind<T>(expected: string, is: (value: unknown) => boolean): Kind<T> {
  return { expected, is: is as Kind<T>["is"] };
}

const isNames = (value: unknown): boolean => Array.isArray(value) && value.every((name) => typeof name === "string");

/** Deeper data would overflow the stack when it is compared. */
const MAX_DATA_DEPTH = 512;
const isData = (value: unknown): boolean => measure(value, MAX_DATA_DEPTH) > 0;

export const data: Kind<unknown> = kind("JSON data", isData);
export const dataList: Kind<unknown[]> = kind("an array", (value) => Array.isArray(value) && isData(value));
export const text: Kind<string> = kind("a string", (value) => typeof value === "string");
export const flag: Kind<boolean> = kind("a boolean", (value) => typeof value === "boolean");
export const quantity: Kind<number> = kind("a number", Number.isFinite);
export const positive: Kind<number> = kind("a number above 0", (value) => Number.isFinite(value) && Number(value) > 0);
export const count: Kind<number> = kind(
  "an integer from 0 on",
  (value) => Number.isInteger(value) && Number(value) >= 0,
);
export const names: Kind<string[]> = kind("an array of strings", isNames);
export const namesByName: Kind<{ [name: string]: string[] }> = kind(
  "an object of arrays of strings",
  (value) => isObject(value) && Object.values(value).every(isNames),
);
export const list: Kind<unknown[]> = kind("an array of schemas", Array.isArray);
export const map: Kind<{ [name: string]: unknown }> = kind("an object of schemas", isObject);

/** A mistake in the schema. */
export function invalid(message: string, cause?: unknown): PortolanError {
  return new PortolanError(
    "invalid-definition",
    `JSON Schema: ${message}`,
    cause === undefined ? undefined : { cause },
  );
}
