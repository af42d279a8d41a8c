// Checks of what requests contain. Each check returns the problems that it finds; a valid value has none.

export interface Problem {
  readonly path: string;
  readonly message: string;
}

/** Checks one value. `path` is empty for the whole request. */
export type Check = (value: unknown, path: string) => readonly Problem[];

const none: readonly Problem[] = [];

function problem(path: string, expected: string, value: unknown): readonly Problem[] {
  return [{ path, message: `expected ${expected}, got ${kindOf(value)}` }];
}

/** Names a value without its content: a request may hold a secret. */
function kindOf(value: unknown): string {
  if (value === undefined) return "nothing";
  if (value === null) return "null";
  if (Array.isArray(value)) return "a list";
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}

/** A text of at most so many characters. Default: 100,000. */
export function text(maxChars = 100_000, minChars = 0): Check {
  return (value, path) => {
    if (typeof value !== "string") return problem(path, "a text", value);
    if (value.length > maxChars) return [{ path, message: `expected at most ${maxChars} characters` }];
    return value.length < minChars ? [{ path, message: "expected a text that is not empty" }] : none;
  };
}

/** A name or an id. */
export const name: Check = text(4_096, 1);

const uuidPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** A UUID. */
export const uuid: Check = (value, path) =>
  typeof value === "string" && uuidPattern.test(value) ? none : problem(path, "a UUID", value);

/** `true` or `false`. */
export const flag: Check = (value, path) => (typeof value === "boolean" ? none : problem(path, "true or false", value));

/** A whole number in these bounds. */
export function whole(least: number, most: number = Number.MAX_SAFE_INTEGER): Check {
  return (value, path) =>
    Number.isSafeInteger(value) && (value as number) >= least && (value as number) <= most
      ? none
      : problem(path, `a whole number from ${least} to ${most}`, value);
}

/** One of these words. */
export function oneOf(...words: readonly string[]): Check {
  return (value, path) => (words.includes(value as string) ? none : problem(path, `one of ${words.join(", ")}`, value));
}

export const isNull: Check = (value, path) => (value === null ? none : problem(path, "null", value));

/** Anything, also nothing. */
export const anything: Check = () => none;

export const jsonObject: Check = (value, path) => (isRecord(value) ? none : problem(path, "an object", value));

export function optional(check: Check): Check {
  return (value, path) => (value === undefined ? none : check(value, path));
}

/** A list of at most so many items. Default: 1,000. */
export function list(item: Check, maxItems = 1_000): Check {
  return (value, path) => {
    if (!Array.isArray(value)) return problem(path, "a list", value);
    if (value.length > maxItems) return [{ path, message: `expected at most ${maxItems} items` }];
    return value.flatMap((one, index) => item(one, `${path}[${index}]`));
  };
}

/** An object with any member names, of at most so many members. Default: 1,000. */
export function map(member: Check, maxMembers = 1_000): Check {
  return (value, path) => {
    if (!isRecord(value)) return problem(path, "an object", value);
    const members = Object.entries(value);
    if (members.length > maxMembers) return [{ path, message: `expected at most ${maxMembers} members` }];
    return members.flatMap(([key, one]) => member(one, within(path, key)));
  };
}

/** An object with these members and no others. */
export function object(members: { readonly [member: string]: Check }): Check {
  const checks = new Map(Object.entries(members));
  return (value, path) => {
    if (!isRecord(value)) return problem(path, "an object", value);
    const unknown = Object.keys(value)
      .filter((key) => !checks.has(key))
      .map((key) => ({ path: within(path, key.slice(0, 100)), message: "unknown member" }));
    return [...unknown, ...[...checks].flatMap(([key, check]) => check(value[key], within(path, key)))];
  };
}

/** A value that passes one of the checks. */
export function either(...checks: readonly Check[]): Check {
  return (value, path) => {
    const found = checks.map((check) => check(value, path));
    return found.some((problems) => problems.length === 0) ? none : (found[0] ?? none);
  };
}

function within(path: string, member: string): string {
  return path === "" ? member : `${path}.${member}`;
}

function isRecord(value: unknown): value is { readonly [member: string]: unknown } {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
