import {
  count,
  data,
  dataList,
  flag,
  type Keyword,
  type Kind,
  keyword,
  names,
  positive,
  quantity,
  text,
} from "./keyword.ts";
import { type Check, fail, MAYBE, NO, type Run, report, spend, stops, within } from "./run.ts";
import { isObject } from "./shape.ts";

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
    if (typeof value !== "object") return fail(run, value, expected, [limit]);
    return report(run, `expected ${expected.replace("$", String(limit))}, got ${size}`);
  });
}

const missing: Check = (_value, run) => report(run, "required, got nothing");

/** Passes objects that have all of the members. */
export function required(wanted: readonly string[]): Check {
  return (value, run) => {
    if (!isObject(value)) return true;
    spend(run, wanted.length >> 2);
    let passes = true;
    for (let index = 0; index < wanted.length; index++) {
      const name = wanted[index] as string;
      if (Object.hasOwn(value, name)) continue;
      within(run, name, missing, undefined);
      if (stops(run)) return false;
      passes = false;
    }
    return passes;
  };
}

function unique(value: unknown, run: Run): boolean {
  if (!Array.isArray(value) || value.length < 2) return true;
  spend(run, value.length);
  const set = new ValueSet();
  for (const item of value) if (!set.add(item, run)) return report(run, "expected items that all differ");
  return true;
}

/** Values by what they are, not by identity: `{a: 1, b: 2}` is `{b: 2, a: 1}`. */
class ValueSet {
  readonly #plain = new Set<unknown>();
  /** Objects and arrays, as text. */
  readonly #composed = new Set<string>();

  /** False when the value was there already. */
  add(value: unknown, run?: Run): boolean {
    const isPlain = typeof value !== "object" || value === null;
    const set: Set<unknown> = isPlain ? this.#plain : this.#composed;
    const { size } = set;
    return set.add(isPlain ? value : canonical(value, run)).size > size;
  }

  has(value: unknown, run: Run): boolean {
    if (typeof value !== "object" || value === null) return this.#plain.has(value);
    return this.#composed.size > 0 && this.#composed.has(canonical(value, run));
  }
}

/** Writes a value such that equal values are written alike. */
function canonical(value: unknown, run: Run | undefined): string {
  const text = typeof value === "object" && value !== null ? "" : JSON.stringify(value);
  if (run !== undefined) spend(run, 1 + (text.length >> 6));
  if (typeof value !== "object" || value === null) return text;
  if (Array.isArray(value)) return `[${value.map((item) => canonical(item, run)).join()}]`;
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${members.map(([name, member]) => `${canonical(name, run)}:${canonical(member, run)}`).join()}}`;
}

/** Divides as decimals are written: 0.0075 is a multiple of 0.0001, though not as binary fractions. */
function isMultiple(value: number, divisor: number): boolean {
  if (Number.isSafeInteger(value) && Number.isSafeInteger(divisor)) return value % divisor === 0;
  const [digits, power] = decimal(value);
  const [divisorDigits, divisorPower] = decimal(divisor);
  const shift = power - divisorPower;
  if (shift < 0) return digits % (divisorDigits * 10n ** BigInt(-shift)) === 0n;
  return (digits * 10n ** BigInt(shift)) % divisorDigits === 0n;
}

function decimal(value: number): [digits: bigint, power: number] {
  const [number = "", exponent = "0"] = String(value).split("e");
  const [whole, fraction = ""] = number.split(".");
  return [BigInt(`${whole}${fraction}`), Number(exponent) - fraction.length];
}

/** Counts characters, of which some take two units of a string. */
function characters(text: string): number {
  let count = text.length;
  for (let index = 1; index < text.length; index++) {
    // Only the second half of a pair: a half alone is a character by itself.
    if ((text.charCodeAt(index) & 0xfc00) === 0xdc00 && (text.charCodeAt(index - 1) & 0xfc00) === 0xd800) count -= 1;
  }
  return count;
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
    return typeof value !== "number" || isMultiple(value, divisor) || fail(run, value, "a multiple of $", [divisor]);
  }),
  pattern: keyword(text, (pattern, site) => {
    const match = site.match(pattern, "pattern");
    return (value, run) => {
      if (typeof value !== "string") return true;
      const verdict = match(value, run);
      if (verdict === MAYBE) run.isUnsure = true;
      return verdict !== NO || fail(run, value, "text that matches $", [pattern]);
    };
  }),
  required: keyword(names, required),
  uniqueItems: keyword(flag, (isWanted) => (isWanted ? unique : undefined)),
};
