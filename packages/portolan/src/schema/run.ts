import { nameOf, PortolanError } from "../errors.ts";
import { type Issue, type JsonSchema, toPath } from "./infer.ts";
import { isObject } from "./shape.ts";

/** Tests a value: true when it passes, which allocates nothing. What is wrong is told to the run, if it asks. */
export type KeywordCheck = (value: unknown, run: ValidationRun) => boolean;

/** The state of one validation. */
export interface ValidationRun {
  /** How much work is left to spend. */
  steps: number;
  /** When a stranger's pattern may no longer be tried; 0 until the first one is met. */
  deadline: number;
  /** What is wrong; absent while nobody asks, and then a check stops at the first failure. */
  findings: SchemaIssue[] | undefined;
  /** The way to the value at hand; only kept while someone asks. */
  keys: PropertyKey[];
  /** Members and items that a schema was applied to; absent while no `unevaluated…` keyword asks. */
  seen: PropertyKey[] | undefined;
  /** Set when something passed only because a pattern was not run. */
  isUnsure: boolean;
  /** The documents entered so far, innermost first. */
  scope: Scope | undefined;
}

/** An issue that remembers how deep in the value it lies. */
export interface SchemaIssue extends Issue {
  readonly depth: number;
}

/** A document on the way through the schema, with the checks behind its dynamic anchors. */
export interface Scope {
  readonly dynamic: ReadonlyMap<string, KeywordCheck>;
  readonly outer: Scope | undefined;
}

const MAX_FINDINGS = 10;
const MAX_PATTERN_MS = 1_000;

/** Pays for work from the budget of the run; ends the run when nothing is left. */
export function spend(run: ValidationRun, steps: number): void {
  run.steps -= steps;
  if (run.steps < 0) throw tooLong();
}

/** Ends the run when a stranger's patterns have taken too long. */
export function keepTime(run: ValidationRun): void {
  const now = performance.now();
  if (run.deadline === 0) run.deadline = now + MAX_PATTERN_MS;
  if (now > run.deadline) throw tooLong();
}

function tooLong(): PortolanError {
  return new PortolanError("limit-reached", "takes too long to check");
}

/** True when a failure is all there is to know: looking further would find nothing that is told. */
export function stops(run: ValidationRun): boolean {
  return run.findings === undefined || run.findings.length >= MAX_FINDINGS;
}

/** Notes what is wrong with the value at hand, and is false. */
export function report(run: ValidationRun, message: string): false {
  if (run.findings === undefined || stops(run)) return false;
  const path = toPath(run.keys);
  if (!run.findings.some((known) => known.path === path && known.message === message)) {
    run.findings.push({ path, message, depth: run.keys.length });
  }
  return false;
}

/** Reports what was expected, where `$` stands for the limits, and what came; words nothing when nobody asks. */
export function fail(run: ValidationRun, value: unknown, expected: string, limits?: readonly unknown[]): false {
  if (run.findings === undefined) return false;
  const wanted = limits === undefined ? expected : expected.replace("$", () => listed(limits));
  return report(run, `expected ${wanted}, got ${nameOf(value)}`);
}

/** Passes everything. */
export const anything: KeywordCheck = () => true;

/** Passes nothing. */
export const nothing: KeywordCheck = (_value, run) => report(run, "not allowed here");

/** Passes what passes all checks; goes on after a failure while someone asks. */
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
  if (seen === undefined && run.findings === undefined) return check(value, run);
  seen?.push(key);
  run.seen = undefined;
  run.keys.push(key);
  const passes = check(value, run);
  run.keys.pop();
  run.seen = seen;
  return passes;
}

export const NO = 0;
/** Passes as far as it was checked. */
export const MAYBE = 1;
export const YES = 2;
export type Tristate = typeof NO | typeof MAYBE | typeof YES;

/** Tries a check whose failure is not the failure of the value: nothing is reported, and what it saw is forgotten. */
export function attempt(check: KeywordCheck, value: unknown, run: ValidationRun): Tristate {
  const { findings, seen, isUnsure } = run;
  const seenBefore = seen?.length ?? 0;
  run.findings = undefined;
  run.isUnsure = false;
  const passes = check(value, run);
  const verdict = !passes ? NO : run.isUnsure ? MAYBE : YES;
  run.findings = findings;
  run.isUnsure = isUnsure || verdict === MAYBE;
  if (!passes && seen !== undefined) seen.length = seenBefore;
  return verdict;
}

/** Writes values in a few words. */
export function listed(values: readonly unknown[]): string {
  return cut(values.slice(0, 20).map(short).join(", "));
}

/** Writes a value in a few words. */
export function short(value: unknown): string {
  return cut(JSON.stringify(value) ?? "nothing");
}

function cut(text: string): string {
  return text.length > 120 ? `${text.slice(0, 117)}...` : text;
}

/**
 * Counts a value with all members and items; 0 when serializing would change it, and negative when it is nested
 * more deeply than allowed.
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

/** Turns the value of a keyword into what it checks: nothing for keywords that only hold something. */
export type Keyword = (value: unknown, site: Site, name: string) => Built;

type Built = KeywordCheck | readonly KeywordCheck[] | undefined;

/** The schema a keyword stands in. */
export interface Site {
  readonly schema: JsonSchema;
  readonly isDraft07: boolean;
  /** Where the schema is, below a further key. */
  pathOf(key: string): string;
  /** Compiles a subschema, given the way to it from here. */
  compile(schema: unknown, ...keys: readonly (string | number)[]): KeywordCheck;
  match(pattern: string, keyword: string): Matcher;
  refer(reference: string, keyword: string): KeywordCheck;
}

/** Tries a text against a pattern; "maybe" when the pattern must not be run. */
export type Matcher = (text: string, run: ValidationRun) => Tristate;

/** What the value of a keyword must be. */
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

/** Makes a keyword that another one reads; where that one is absent, its subschema can still be referred to. */
export function partOf(isRead: (schema: JsonSchema) => boolean): Keyword {
  return (value, site, name) => {
    if (!isRead(site.schema)) site.compile(value, name);
    return undefined;
  };
}

/** Compiles the subschemas of an object or array of them. */
export function compileAll(schemas: object, site: Site, name: string): KeywordCheck[] {
  return Object.entries(schemas).map(([key, schema]) => site.compile(schema, name, key));
}

function kind<T>(expected: string, is: (value: unknown) => boolean): KeywordKind<T> {
  return { expected, is: is as KeywordKind<T>["is"] };
}

const isNames = (value: unknown): boolean => Array.isArray(value) && value.every((name) => typeof name === "string");

/** Deeper data would overflow the stack when it is compared. */
const MAX_DATA_DEPTH = 512;
const isData = (value: unknown): boolean => measure(value, MAX_DATA_DEPTH) > 0;

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

/** A mistake in the schema. */
export function invalid(message: string, cause?: unknown): PortolanError {
  return new PortolanError(
    "invalid-definition",
    `JSON Schema: ${message}`,
    cause === undefined ? undefined : { cause },
  );
}
