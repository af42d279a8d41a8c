import { nameOf, PortolanError, type PortolanErrorCode } from "./errors.ts";

/** The names of all options of a type. The compiler refuses a table that lacks one. */
export type OptionNames<T> = { readonly [K in keyof Required<T>]: 1 };

/** The type of each option, as `typeof` names it. */
export type OptionKinds<T> = {
  readonly [K in keyof Required<T>]: "boolean" | "function" | "number" | "object" | "string";
};

/** How `checkOptions` reports a name. */
export interface CheckOptionsOptions {
  /** Default: "invalid-argument". */
  readonly code?: PortolanErrorCode;
  /** Names that people know from other libraries, and ours for the same thing. */
  readonly synonyms?: { readonly [name: string]: string };
}

/**
 * Throws if the options have a name that is not known, and suggests the nearest known one. A misspelt option that is
 * ignored looks like one that works. `where` begins the message: "connect", 'Tool "add"'.
 */
export function checkOptions<T extends object>(
  given: T,
  known: OptionNames<T>,
  where: string,
  { code = "invalid-argument", synonyms = {} }: CheckOptionsOptions = {},
): void {
  for (const name of Object.keys(given)) {
    if (Object.hasOwn(known, name)) continue;
    const names = Object.keys(known);
    const shown = name.slice(0, 60);
    const meant = Object.hasOwn(synonyms, name) ? synonyms[name] : nearest(shown, names);
    const advice = meant === undefined ? `expected one of ${names.join(", ")}` : `did you mean \`${meant}\`?`;
    throw new PortolanError(code, `${where}: unknown option \`${shown}\`; ${advice}`);
  }
}

/** Throws unless each of these options is absent or a number from 0 on. */
export function checkNumbers<T extends object>(given: T, ...names: readonly (keyof T & string)[]): void {
  for (const name of names) {
    const value: unknown = given[name];
    if (value === undefined || (typeof value === "number" && value >= 0)) continue;
    throw new PortolanError("invalid-argument", `${name}: expected a number from 0 on, got ${nameOf(value)}`);
  }
}

/** Returns the known name that shares most characters at its beginning and end; undefined if less than half of them. */
function nearest(name: string, names: readonly string[]): string | undefined {
  let found: string | undefined;
  let most = 0;
  for (const candidate of names) {
    const shared = sharedEnds(name.toLowerCase(), candidate.toLowerCase());
    if (shared > most && shared * 2 >= Math.max(name.length, candidate.length)) {
      most = shared;
      found = candidate;
    }
  }
  return found;
}

/** Counts the equal characters at the beginning of two words, and those at their end. */
function sharedEnds(a: string, b: string): number {
  let shared = 0;
  while (shared < a.length && a[shared] === b[shared]) shared++;
  const rest = Math.min(a.length, b.length) - shared;
  for (let end = 1; end <= rest && a.at(-end) === b.at(-end); end++) shared++;
  return shared;
}
