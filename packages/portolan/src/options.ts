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
    const shown = name.slice(0, 60);
    const meant = Object.hasOwn(synonyms, name) ? synonyms[name] : nearest(shown, names);
    const advice = meant === undefined ? `expected one of ${names.join(", ")}` : `did you mean \`${meant}\`?`;
    throw new PortolanError(code, `${where}: unknown option \`${shown}\`; ${advice}`);
  }
}

/** Returns the name that takes the fewest changes of one character; undefined if none is near. */
function nearest(name: string, names: readonly string[]): string | undefined {
  let found: string | undefined;
  // A name with more than a third of its characters wrong is another word.
  let least = Math.max(2, Math.floor(name.length / 3) + 1);
  for (const candidate of names) {
    const distance = distanceBetween(name.toLowerCase(), candidate.toLowerCase());
    if (distance < least) {
      least = distance;
      found = candidate;
    }
  }
  return found;
}

/** Levenshtein distance. One row of the table is kept, and `diagonal` is the cell above and to the left. */
function distanceBetween(a: string, b: string): number {
  const row: number[] = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let at = 1; at <= a.length; at++) {
    let diagonal = at - 1;
    row[0] = at;
    for (let column = 1; column <= b.length; column++) {
      const above = row[column] as number;
      const changed = diagonal + (a[at - 1] === b[column - 1] ? 0 : 1);
      row[column] = Math.min(changed, above + 1, (row[column - 1] as number) + 1);
      diagonal = above;
    }
  }
  return row[b.length] as number;
}
