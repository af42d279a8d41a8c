import { nameOf, PortolanError } from "../errors.ts";
import { type Issue, type JsonSchema, toPath } from "./infer.ts";
import { isObject } from "./shape.ts";

/** Checks a value. Returns true if it passes, without allocations. Adds issues to the run if it collects them. */
export type KeywordCheck = (value: unknown, run: ValidationRun) => boolean;

/** The state of one validation. */
export interface ValidationRun {
  /** The work that is left. */
  steps: number;
  /** The time after which patterns of an untrusted schema are not run. 0 until the first pattern. */
  deadline: number;
  /** The issues so far. Absent in the first pass, which only decides, and stops at the first failure. */
  issues: SchemaIssue[] | undefined;
  /** The path of the current value. Only kept while issues are collected. */
  keys: PropertyKey[];
  /** The members and items that were evaluated. Absent if no `unevaluated…` keyword needs them. */
  seen: PropertyKey[] | undefined;
  /** True if something passed only because a pattern was not run. */
  isUnsure: boolean;
  /** The schema resources entered so far, innermost first. */
  scope: Scope | undefined;
}

/** An issue with its depth in the value. */
export interface SchemaIssue extends Issue {
  readonly depth: number;
}

/** A schema resource that was entered, with the checks of its dynamic anchors. */
export interface Scope {
  readonly dynamic: ReadonlyMap<string, KeywordCheck>;
  readonly outer: Scope | undefined;
}

const maxIssues = 10;
const maxPatternMs = 1_000;

/** Counts work against the limit of the run. Throws if it is used up. */
export function spend(run: ValidationRun, steps: number): void {
  run.steps -= steps;
  if (run.steps < 0) throw tooLong();
}

/** Throws if the patterns of an untrusted schema have taken too long. */
export function keepTime(run: ValidationRun): void {
  const now = performance.now();
  if (run.deadline === 0) run.deadline = now + maxPatternMs;
  if (now > run.deadline) throw tooLong();
}

function tooLong(): PortolanError {
  return new PortolanError("limit-reached", "takes too long to check");
}

/** Returns true if the run can stop at a failure, because no further issues are collected. */
export function stops(run: ValidationRun): boolean {
  return run.issues === undefined || run.issues.length >= maxIssues;
}

/** Adds an issue for the current value, and returns false. */
export function report(run: ValidationRun, message: string): false {
  if (run.issues === undefined || stops(run)) return false;
  const path = toPath(run.keys);
  if (!run.issues.some((known) => known.path === path && known.message === message)) {
    run.issues.push({ path, message, depth: run.keys.length });
  }
  return false;
}

/** Adds the issue "expected …, got …" with the limits in place of `$`. Makes no text if issues are not collected. */
export function fail(run: ValidationRun, value: unknown, expected: string, limits?: readonly unknown[]): false {
  if (run.issues === undefined) return false;
  const wanted = limits === undefined ? expected : expected.replace("$", () => listed(limits));
  return report(run, `expected ${wanted}, got ${nameOf(value)}`);
}

/** Accepts everything. */
export const anything: KeywordCheck = () => true;

/** Accepts nothing. */
export const nothing: KeywordCheck = (_value, run) => report(run, "not allowed here");

/** Accepts a value that passes all checks. Continues after a failure while issues are collected. */
export function all(checks: readonly KeywordCheck[], value: unknown, run: ValidationRun): boolean {
  let passes = true;
  for (let index = 0; index < checks.length; index++) {
    if ((checks[index] as KeywordCheck)(value, run)) continue;
    if (stops(run)) return false;
    passes = false;
  }
  return passes;
}

/** Checks a member or an item. */
export function within(run: ValidationRun, key: PropertyKey, check: KeywordCheck, value: unknown): boolean {
  const { seen } = run;
  if (seen === undefined && run.issues === undefined) return check(value, run);
  seen?.push(key);
  run.seen = undefined;
  run.keys.push(key);
  const passes = check(value, run);
  run.keys.pop();
  run.seen = seen;
  return passes;
}

export const NO = 0;
/** Passes, but not everything was checked. */
export const MAYBE = 1;
export const YES = 2;
export type Tristate = typeof NO | typeof MAYBE | typeof YES;

/** Runs a check whose failure is not a failure of the value: adds no issues, and forgets evaluated members if it fails. */
export function tryCheck(check: KeywordCheck, value: unknown, run: ValidationRun): Tristate {
  const { issues, seen, isUnsure } = run;
  const seenBefore = seen?.length ?? 0;
  run.issues = undefined;
  run.isUnsure = false;
  const passes = check(value, run);
  const result = !passes ? NO : run.isUnsure ? MAYBE : YES;
  run.issues = issues;
  run.isUnsure = isUnsure || result === MAYBE;
  if (!passes && seen !== undefined) seen.length = seenBefore;
  return result;
}

/** Returns values as a short text. */
export function listed(values: readonly unknown[]): string {
  return cut(values.slice(0, 20).map(short).join(", "));
}

/** Returns a value as a short text. */
export function short(value: unknown): string {
  return cut(JSON.stringify(value) ?? "nothing");
}

function cut(text: string): string {
  return text.length > 120 ? `${text.slice(0, 117)}...` : text;
}

/**
 * Counts a value with all members and items. Returns 0 if serializing would change it, and a negative number if it is
 * nested too deeply.
 */
export function measure(value: unknown, depthLeft: number): number {
  if (typeof value === "string" || typeof value === "boolean" || value === null) return 1;
  if (typeof value === "number") return Number.isFinite(value) ? 1 : 0;
  if (typeof value !== "object") return 0;
  if (depthLeft === 0) return -1;
  let count = 1;
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index++) {
      const inner = measure(value[index], depthLeft - 1);
      if (inner <= 0) return inner;
      count += inner;
    }
    return count;
  }
  const members = value as { readonly [name: string]: unknown };
  if (typeof members["toJSON"] === "function") return 0;
  for (const name in members) {
    const inner = measure(members[name], depthLeft - 1);
    if (inner <= 0) return inner;
    count += inner;
  }
  return count;
}

/** Compiles the value of a keyword into checks. Undefined if the keyword checks nothing. */
export type Keyword = (value: unknown, site: Site, name: string) => Built;

type Built = KeywordCheck | readonly KeywordCheck[] | undefined;

/** The schema that contains a keyword. */
export interface Site {
  readonly schema: JsonSchema;
  readonly isDraft07: boolean;
  /** Returns the path of a member of the schema. */
  pathOf(key: string): string;
  /** Compiles the subschema at this relative path. */
  compile(schema: unknown, ...keys: readonly (string | number)[]): KeywordCheck;
  match(pattern: string, keyword: string): Matcher;
  refer(reference: string, keyword: string): KeywordCheck;
}

/** Matches a text with a pattern. MAYBE if the pattern must not be run. */
export type Matcher = (text: string, run: ValidationRun) => Tristate;

/** The kind of value that a keyword has. */
export interface KeywordKind<T> {
  readonly expected: string;
  readonly is: (value: unknown) => value is T;
}

/** Makes a keyword that refuses values of another kind. */
export function keyword<T>(kind: KeywordKind<T>, build: (value: T, site: Site, name: string) => Built): Keyword {
  return (value, site, name) => {
    if (!kind.is(value)) throw invalid(`${site.pathOf(name)}: expected ${kind.expected}, got ${nameOf(value)}`);
    return build(value, site, name);
  };
}

/** Makes a keyword that another keyword evaluates. If that one is absent, references can still point to its subschema. */
export function siblingOf(isRead: (schema: JsonSchema) => boolean): Keyword {
  return (value, site, name) => {
    if (!isRead(site.schema)) site.compile(value, name);
    return undefined;
  };
}

/** Compiles all subschemas of an object or array. */
export function compileAll(schemas: object, site: Site, name: string): KeywordCheck[] {
  return Object.entries(schemas).map(([key, schema]) => site.compile(schema, name, key));
}

function kind<T>(expected: string, is: (value: unknown) => boolean): KeywordKind<T> {
  return { expected, is: is as KeywordKind<T>["is"] };
}

const isNames = (value: unknown): boolean => Array.isArray(value) && value.every((name) => typeof name === "string");

/** Comparing deeper data would overflow the stack. */
const maxDataDepth = 512;
const isData = (value: unknown): boolean => measure(value, maxDataDepth) > 0;

export const data: KeywordKind<unknown> = kind("JSON data", isData);
export const dataList: KeywordKind<unknown[]> = kind("an array", (value) => Array.isArray(value) && isData(value));
export const text: KeywordKind<string> = kind("a string", (value) => typeof value === "string");
export const flag: KeywordKind<boolean> = kind("a boolean", (value) => typeof value === "boolean");
export const quantity: KeywordKind<number> = kind("a number", Number.isFinite);
export const positive: KeywordKind<number> = kind(
  "a number above 0",
  (value) => Number.isFinite(value) && Number(value) > 0,
);
export const count: KeywordKind<number> = kind(
  "an integer from 0 on",
  (value) => Number.isInteger(value) && Number(value) >= 0,
);
export const names: KeywordKind<string[]> = kind("an array of strings", isNames);
export const namesByName: KeywordKind<{ [name: string]: string[] }> = kind(
  "an object of arrays of strings",
  (value) => isObject(value) && Object.values(value).every(isNames),
);
export const list: KeywordKind<unknown[]> = kind("an array of schemas", Array.isArray);
export const map: KeywordKind<{ [name: string]: unknown }> = kind("an object of schemas", isObject);

/** Returns the error for an invalid schema. */
export function invalid(message: string, cause?: unknown): PortolanError {
  return new PortolanError(
    "invalid-definition",
    `JSON Schema: ${message}`,
    cause === undefined ? undefined : { cause },
  );
}
