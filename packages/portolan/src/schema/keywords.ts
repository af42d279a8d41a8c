import {
  anything,
  compileAll,
  count,
  data,
  dataList,
  fail,
  flag,
  type Keyword,
  type KeywordCheck,
  type KeywordKind,
  keyword,
  list,
  listed,
  MAYBE,
  type Matcher,
  map,
  NO,
  names,
  namesByName,
  positive,
  quantity,
  report,
  type SchemaIssue,
  type Site,
  short,
  siblingOf,
  spend,
  stops,
  type Tristate,
  text,
  tryCheck,
  type ValidationRun,
  within,
  YES,
} from "./run.ts";
import { isObject } from "./shape.ts";

const properties: Keyword = keyword(map, (schemas, site, keywordName) => {
  const keys = Object.keys(schemas);
  const checks = keys.map((key) => site.compile(schemas[key], keywordName, key));
  return (value, run) => {
    if (!isObject(value)) return true;
    spend(run, keys.length >> 2);
    let passes = true;
    for (let index = 0; index < keys.length; index++) {
      const key = keys[index] as string;
      if (!Object.hasOwn(value, key) || within(run, key, checks[index] as KeywordCheck, value[key])) continue;
      if (stops(run)) return false;
      passes = false;
    }
    return passes;
  };
});

/** Applies a check to objects that have this member. */
function having(name: string, check: KeywordCheck): KeywordCheck {
  return (value, run) => !isObject(value) || !Object.hasOwn(value, name) || check(value, run);
}

/** Applies a check to all members except those left out. */
function eachMember(check: KeywordCheck, isLeftOut: (name: string, run: ValidationRun) => boolean): KeywordCheck {
  return (value, run) => {
    if (!isObject(value) || (check === anything && run.seen === undefined)) return true;
    let passes = true;
    for (const name in value) {
      spend(run, 1);
      if (isLeftOut(name, run) || within(run, name, check, value[name])) continue;
      if (stops(run)) return false;
      passes = false;
    }
    return passes;
  };
}

/** Matches the name of a member. One that only may match counts as evaluated. */
function claims(match: Matcher, key: string, run: ValidationRun): Tristate {
  const result = match(key, run);
  if (result === MAYBE) {
    run.isUnsure = true;
    run.seen?.push(key);
  }
  return result;
}

const patternProperties: Keyword = keyword(map, (schemas, site, name) =>
  Object.entries(schemas).map(([pattern, schema]) => {
    const match = site.match(pattern, name);
    return eachMember(site.compile(schema, name, pattern), (key, run) => claims(match, key, run) !== YES);
  }),
);

const additionalProperties: Keyword = (schema, site, name) => {
  const named = new Set(keysOf(site, "properties"));
  const matchers = keysOf(site, "patternProperties").map((pattern) => site.match(pattern, "patternProperties"));
  const check = site.compile(schema, name);
  return eachMember(check, (key, run) => named.has(key) || matchers.some((match) => claims(match, key, run) !== NO));
};

function keysOf(site: Site, name: string): string[] {
  return Object.keys(site.schema[name] ?? {});
}

const unevaluatedProperties: Keyword = (schema, site, name) => {
  const check = site.compile(schema, name);
  return (value, run) => {
    const seen = new Set(run.seen);
    return eachMember(check, (key) => seen.has(key))(value, run);
  };
};

const propertyNames: Keyword = (schema, site, name) => {
  const check = site.compile(schema, name);
  return (value, run) => {
    if (!isObject(value)) return true;
    for (const key in value) {
      spend(run, 1);
      if (tryCheck(check, key, run) === NO) return fail(run, key, 'member names that match "propertyNames"');
    }
    return true;
  };
};

/** A keyword of draft-07: a schema or an array of names for each member. */
const dependencies: Keyword = keyword(map, (entries, site, name) =>
  Object.entries(entries).map(([key, entry]) =>
    having(key, names.is(entry) ? required(entry) : site.compile(entry, name, key)),
  ),
);

/** Applies a check to one item. */
function item(index: number, check: KeywordCheck): KeywordCheck {
  return (value, run) => !Array.isArray(value) || index >= value.length || within(run, index, check, value[index]);
}

/** Applies a check to all items from `start` on, except those left out. */
function eachItem(check: KeywordCheck, start: number, leftOut?: ReadonlySet<unknown>): KeywordCheck {
  return (value, run) => {
    if (!Array.isArray(value) || (check === anything && run.seen === undefined)) return true;
    spend(run, value.length >> 3);
    let passes = true;
    for (let index = start; index < value.length; index++) {
      if (leftOut?.has(index) || within(run, index, check, value[index])) continue;
      if (stops(run)) return false;
      passes = false;
    }
    return passes;
  };
}

const first = (schemas: readonly unknown[], site: Site, name: string): KeywordCheck[] =>
  schemas.map((schema, index) => item(index, site.compile(schema, name, index)));

const items: Keyword = (schema, site, name) => {
  if (Array.isArray(schema)) {
    const checks = first(schema, site, name);
    const { additionalItems } = site.schema;
    if (additionalItems === undefined) return checks;
    return [...checks, eachItem(site.compile(additionalItems, "additionalItems"), schema.length)];
  }
  const before = site.isDraft07 ? undefined : site.schema["prefixItems"];
  return eachItem(site.compile(schema, name), Array.isArray(before) ? before.length : 0);
};

const contains: Keyword = (schema, site, name) => {
  const check = site.compile(schema, name);
  const { minContains = 1, maxContains = Infinity } = site.isDraft07 ? {} : site.schema;
  const least = Number(minContains);
  const most = Number(maxContains);
  return (value, run) => {
    if (!Array.isArray(value)) return true;
    spend(run, value.length);
    const { seen } = run;
    let sure = 0;
    let possible = 0;
    for (let index = 0; index < value.length; index++) {
      run.seen = undefined;
      const result = tryCheck(check, value[index], run);
      run.seen = seen;
      if (result === NO) continue;
      seen?.push(index);
      possible += 1;
      if (result === YES) sure += 1;
    }
    if (possible >= least && sure <= most) return true;
    const [bound, limit] = possible < least ? ["least", least] : ["most", most];
    return report(run, `expected at ${bound} ${limit} items that match "contains", got ${possible}`);
  };
};

const unevaluatedItems: Keyword = (schema, site, name) => {
  const check = site.compile(schema, name);
  return (value, run) => eachItem(check, 0, new Set(run.seen))(value, run);
};

/** Makes `anyOf`, or `oneOf` if the alternatives exclude each other. */
const choice = (isExclusive: boolean): Keyword =>
  keyword(list, (schemas, site, name) => {
    const checks = compileAll(schemas, site, name);
    return (value, run) => {
      spend(run, checks.length >> 3);
      let isPossible = false;
      let sure = 0;
      for (let index = 0; index < checks.length; index++) {
        const result = tryCheck(checks[index] as KeywordCheck, value, run);
        if (result === NO) continue;
        // If evaluated members are recorded, later alternatives may evaluate others.
        if (!isExclusive && run.seen === undefined) return true;
        isPossible = true;
        if (result === YES) sure += 1;
        if (isExclusive && sure > 1) return fail(run, value, "only one of the alternatives to match");
      }
      return isPossible || explain(schemas, checks, value, run);
    };
  });

const not: Keyword = (schema, site, name) => {
  const check = site.compile(schema, name);
  return (value, run) => tryCheck(check, value, run) !== YES || fail(run, value, 'something that does not match "not"');
};

const condition: Keyword = (schema, site, name) => {
  const check = site.compile(schema, name);
  const { then: consequent, else: alternative } = site.schema;
  const whenTrue = consequent === undefined ? anything : site.compile(consequent, "then");
  const whenFalse = alternative === undefined ? anything : site.compile(alternative, "else");
  return (value, run) => {
    const result = tryCheck(check, value, run);
    // If the condition is uncertain, either branch may pass.
    if (result === MAYBE && tryCheck(whenTrue, value, run) !== NO) return true;
    return (result === YES ? whenTrue : whenFalse)(value, run);
  };
};

/** Adds the issues of the alternative that was most likely meant, or a general one. */
function explain(
  schemas: readonly unknown[],
  checks: readonly KeywordCheck[],
  value: unknown,
  run: ValidationRun,
): false {
  const { issues, seen } = run;
  if (issues === undefined) return false;
  let best: SchemaIssue[] = [];
  let bestDepth = run.keys.length;
  for (const check of checks) {
    const trial: SchemaIssue[] = [];
    run.issues = trial;
    run.seen = undefined;
    check(value, run);
    // An alternative that fails at the value itself (another type or constant) was not meant.
    const isOther = trial.some(({ depth }) => depth === run.keys.length);
    const depth = isOther ? 0 : Math.max(...trial.map((issue) => issue.depth));
    if (depth > bestDepth) [best, bestDepth] = [trial, depth];
    else if (depth === bestDepth) best = [];
  }
  run.issues = issues;
  run.seen = seen;
  issues.push(...best);
  return best.length > 0 ? false : fail(run, value, alternatives(schemas));
}

/** Lists the alternatives if each is a type or a constant, as in nullable and literal unions. */
function alternatives(schemas: readonly unknown[]): string {
  const names = schemas.map((schema) => {
    if (!isObject(schema)) return undefined;
    if ("const" in schema) return short(schema["const"]);
    if (Array.isArray(schema["enum"])) return listed(schema["enum"]);
    return typeof schema["type"] === "string" ? schema["type"] : undefined;
  });
  const isPlain = names.every((name) => name !== undefined);
  return isPlain ? [...new Set(names)].slice(0, 20).join(" or ") : "a match for one of the alternatives";
}

/** Keywords that apply subschemas to members, to items, or to the value itself. */
export const applicators: { readonly [name: string]: Keyword } = {
  properties,
  patternProperties,
  additionalProperties,
  unevaluatedProperties,
  propertyNames,
  dependencies,
  dependentSchemas: keyword(map, dependencies),
  dependentRequired: keyword(namesByName, dependencies),
  prefixItems: keyword(list, first),
  items,
  additionalItems: siblingOf(({ items }) => Array.isArray(items)),
  contains,
  minContains: keyword(count, () => undefined),
  maxContains: keyword(count, () => undefined),
  unevaluatedItems,
  allOf: keyword(list, compileAll),
  anyOf: choice(false),
  oneOf: choice(true),
  not,
  if: condition,
  then: siblingOf((schema) => schema["if"] !== undefined),
  else: siblingOf((schema) => schema["if"] !== undefined),
};

const types = new Map<unknown, (value: unknown) => boolean>([
  ["string", (value) => typeof value === "string"],
  ["number", (value) => typeof value === "number"],
  ["integer", Number.isInteger],
  ["boolean", (value) => typeof value === "boolean"],
  ["null", (value) => value === null],
  ["array", Array.isArray],
  ["object", isObject],
]);

const typeNames: KeywordKind<string | string[]> = {
  expected: `a type name or an array of them (${[...types.keys()].join(", ")})`,
  is: (value): value is string | string[] =>
    Array.isArray(value) ? value.length > 0 && value.every((name) => types.has(name)) : types.has(value),
};

function ofType(wanted: string | string[]): KeywordCheck {
  const list = [wanted].flat();
  const tests = list.flatMap((name) => types.get(name) ?? []);
  const expected = list.join(" or ");
  const [only] = tests;
  if (tests.length === 1 && only !== undefined) return (value, run) => only(value) || fail(run, value, expected);
  return (value, run) => tests.some((passes) => passes(value)) || fail(run, value, expected);
}

function oneOfValues(values: readonly unknown[], expected: string): KeywordCheck {
  const set = new ValueSet();
  for (const value of values) set.add(value);
  return (value, run) => set.has(value, run) || fail(run, value, expected, values);
}

/** Returns the quantity that a limit applies to. NaN: the limit does not apply to the value. */
type Quantity = (value: unknown, run: ValidationRun) => number;

const amount: Quantity = (value) => (typeof value === "number" ? value : NaN);
const itemCount: Quantity = (value) => (Array.isArray(value) ? value.length : NaN);
const length: Quantity = (value, run) => {
  if (typeof value !== "string") return NaN;
  spend(run, value.length >> 6);
  return characters(value);
};
const memberCount: Quantity = (value, run) => {
  if (!isObject(value)) return NaN;
  const members = Object.keys(value).length;
  spend(run, members);
  return members;
};

const isBelow = (size: number, limit: number): boolean => size < limit;
const isAbove = (size: number, limit: number): boolean => size > limit;
const isUpTo = (size: number, limit: number): boolean => size <= limit;
const isFrom = (size: number, limit: number): boolean => size >= limit;

function limited(kind: KeywordKind<number>, quantityOf: Quantity, isWrong: typeof isBelow, expected: string): Keyword {
  return keyword(kind, (limit) => (value, run) => {
    const size = quantityOf(value, run);
    if (!isWrong(size, limit)) return true;
    if (typeof value !== "object") return fail(run, value, expected, [limit]);
    return report(run, `expected ${expected.replace("$", String(limit))}, got ${size}`);
  });
}

const missing: KeywordCheck = (_value, run) => report(run, "required, got nothing");

/** Accepts objects that have all of these members. */
function required(wanted: readonly string[]): KeywordCheck {
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

function unique(value: unknown, run: ValidationRun): boolean {
  if (!Array.isArray(value) || value.length < 2) return true;
  spend(run, value.length);
  const set = new ValueSet();
  for (const item of value) if (!set.add(item, run)) return report(run, "expected items that all differ");
  return true;
}

/** A set of JSON values that compares by content: `{a: 1, b: 2}` equals `{b: 2, a: 1}`. */
class ValueSet {
  readonly #plain = new Set<unknown>();
  /** Objects and arrays as canonical text. */
  readonly #composed = new Set<string>();

  /** Returns false if the set already has the value. */
  add(value: unknown, run?: ValidationRun): boolean {
    const isPlain = typeof value !== "object" || value === null;
    const set: Set<unknown> = isPlain ? this.#plain : this.#composed;
    const { size } = set;
    return set.add(isPlain ? value : canonical(value, run)).size > size;
  }

  has(value: unknown, run: ValidationRun): boolean {
    if (typeof value !== "object" || value === null) return this.#plain.has(value);
    return this.#composed.size > 0 && this.#composed.has(canonical(value, run));
  }
}

/** Returns text that is the same for equal values. */
function canonical(value: unknown, run: ValidationRun | undefined): string {
  const text = typeof value === "object" && value !== null ? "" : JSON.stringify(value);
  if (run !== undefined) spend(run, 1 + (text.length >> 6));
  if (typeof value !== "object" || value === null) return text;
  if (Array.isArray(value)) return `[${value.map((item) => canonical(item, run)).join()}]`;
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${members.map(([name, member]) => `${canonical(name, run)}:${canonical(member, run)}`).join()}}`;
}

/** Divides decimal fractions exactly: 0.0075 is a multiple of 0.0001, but not in floating point. */
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

/** Counts code points, as JSON Schema does. */
function characters(text: string): number {
  let count = text.length;
  for (let index = 1; index < text.length; index++) {
    // Skips the second half of a surrogate pair. A half alone counts as a character.
    if ((text.charCodeAt(index) & 0xfc00) === 0xdc00 && (text.charCodeAt(index - 1) & 0xfc00) === 0xd800) count -= 1;
  }
  return count;
}

/** Keywords that check the value itself, without subschemas. */
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
      const result = match(value, run);
      if (result === MAYBE) run.isUnsure = true;
      return result !== NO || fail(run, value, "text that matches $", [pattern]);
    };
  }),
  required: keyword(names, required),
  uniqueItems: keyword(flag, (isWanted) => (isWanted ? unique : undefined)),
};
