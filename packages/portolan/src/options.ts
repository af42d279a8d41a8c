import { PortolanError, type PortolanErrorCode } from "./errors.ts";

/** The names of all options of a type. The compiler refuses a table that lacks one. */
export type OptionNames<T> = { readonly [K in keyof Required<T>]: 1 };

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
    const meant = Object.hasOwn(synonyms, name) ? synonyms[name] : nearest(name, names);
    const advice = meant === undefined ? `expected one of ${names.join(", ")}` : `did you mean \`${meant}\`?`;
    throw new PortolanError(code, `${where}: unknown option \`${name.slice(0, 60)}\`; ${advice}`);
  }
}

/** The name that takes the fewest changes of one character; undefined if none is near. */
function nearest(name: string, names: readonly string[]): string | undefined {
  let found: string | undefined;
  // More than a third of the characters wrong is another word.
  let least = Math.max(1, Math.floor(Math.min(name.length, 60) / 3)) + 1;
  for (const candidate of names) {
    const distance = distanceBetween(name.slice(0, 60).toLowerCase(), candidate.toLowerCase());
    if (distance < least) {
      least = distance;
      found = candidate;
    }
  }
  return found;
}

function distanceBetween(a: string, b: string): number {
  let previous = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let row = 1; row <= a.length; row++) {
    const current = [row];
    for (let column = 1; column <= b.length; column++) {
      const changed = (previous[column - 1] ?? 0) + (a[row - 1] === b[column - 1] ? 0 : 1);
      current.push(Math.min(changed, (previous[column] ?? 0) + 1, (current[column - 1] ?? 0) + 1));
    }
    previous = current;
  }
  return previous[b.length] ?? 0;
}
