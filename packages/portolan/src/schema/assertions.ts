import { count, data, dataList, flag, type Keyword, type Kind, keyword, positive, quantity, text } from "./keyword.ts";
import { type Check, fail, MAYBE, NO, type Run, report, spend } from "./run.ts";
import { isObject } from "./shape.ts";
import { characters, isMultiple, ValueSet } from "./values.ts";

const types = new Map<unknown, (value: unknown) => boolean>([
  ["string", (value) => typeof value === "string"],
  ["number", (value) => typeof value === "number"],
  ["integer", Number.isInteger],
  ["boolean", (value) => typeof value === "boolean"],
  ["null", (value) => value === null],
  ["array", Array.isArray],
  ["object", isObject],
]);

const typeNames: Kind<string | string[]> = {
  expected: `a type name or an array of them (${[...types.keys()].join(", ")})`,
  is: (value): value is string | string[] =>
    Array.isArray(value) ? value.length > 0 && value.every((name) => types.has(name)) : types.has(value),
};

function ofType(wanted: string | string[]): Check {
  const list = [wanted].flat();
  const tests = list.flatMap((name) => types.get(name) ?? []);
  const expected = list.join(" or ");
  const [only] = tests;
  if (tests.length === 1 && only !== undefined) return (value, run) => only(value) || fail(run, value, expected);
  return (value, run) => tests.some((passes) => passes(value)) || fail(run, value, expected);
}

function oneOfValues(values: readonly unknown[], expected: string): Check {
  const set = new ValueSet();
  for (const value of values) set.add(value);
  return (value, run) => set.has(value, run) || fail(run, value, expected, values);
}

/** What a limit is about: a number, or NaN for values it does not concern. */
type Subject = (value: unknown, run: Run) => number;

const amount: Subject = (value) => (typeof value === "number" ? value : NaN);
const itemCount: Subject = (value) => (Array.isArray(value) ? value.length : NaN);
const length: Subject = (value, run) => {
  if (typeof value !== "string") return NaN;
  spend(run, value.length >> 6);
  return characters(value);
};
const memberCount: Subject = (value, run) => {
  if (!isObject(value)) return NaN;
  const members = Object.keys(value).length;
  spend(run, members);
  return members;
};

const isBelow = (size: number, limit: number): boolean => size < limit;
const isAbove = (size: number, limit: number): boolean => size > limit;
const isUpTo = (size: number, limit: number): boolean => size <= limit;
const isFrom = (size: number, limit: number): boolean => size >= limit;

function limited(kind: Kind<number>, subject: Subject, isWrong: typeof isBelow, expected: string): Keyword {
  return keyword(kind, (limit) => (value, run) => {
    const size = subject(value, run);
    if (!isWrong(size, limit)) return true;
    if (typeof value !== "object") return fail(run, value, expected, limit);
    return report(run, `expected ${expected.replace("$", String(limit))}, got ${size}`);
  });
}

function unique(value: unknown, run: Run): boolean {
  if (!Array.isArray(value) || value.length < 2) return true;
  spend(run, value.length);
  const set = new ValueSet();
  for (const item of value) if (!set.add(item, run)) return report(run, "expected items that all differ");
  return true;
}

/** Keywords that look at the value alone. */
export const assertions: { readonly [name: string]: Keyword } = {
  type: keyword(typeNames, ofType),
  const: keyword(data, (value) => oneOfValues([value], "$")),
  enum: keyword(dataList, (values) => oneOfValues(values, "one of $")),
  minimum: limited(quantity, amount, isBelow, "at least $"),
  maximum: limited(quantity, amount, isAbove, "at most $"),
  exclusiveMinimum: limited(quantity, amount, isUpTo, "more than $"),
  exclusiveMaximum: limited(quantity, amount, isFrom, "less than $"),
  minLength: limited(count, length, isBelow, "at least $ characters"),
  maxLength: limited(count, length, isAbove, "at most $ characters"),
  minItems: limited(count, itemCount, isBelow, "at least $ items"),
  maxItems: limited(count, itemCount, isAbove, "at most $ items"),
  minProperties: limited(count, memberCount, isBelow, "at least $ members"),
  maxProperties: limited(count, memberCount, isAbove, "at most $ members"),
  multipleOf: keyword(positive, (divisor) => (value, run) => {
    return typeof value !== "number" || isMultiple(value, divisor) || fail(run, value, "a multiple of $", divisor);
  }),
  pattern: keyword(text, (pattern, site) => {
    const match = site.match(pattern, "pattern");
    return (value, run) => {
      if (typeof value !== "string") return true;
      const verdict = match(value, run);
      if (verdict === MAYBE) run.isUnsure = true;
      return verdict !== NO || fail(run, value, "text that matches $", pattern);
    };
  }),
  uniqueItems: keyword(flag, (isWanted) => (isWanted ? unique : undefined)),
};
