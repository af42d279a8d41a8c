import { maxDepth } from "./limits.ts";
import { limitReached } from "./text.ts";

/** An object of a file. It has no prototype, so that a member can be called `__proto__` or `constructor`. */
export interface Table {
  readonly [name: string]: unknown;
}

/** The path of a value in a file: member names and list indexes. */
export type Path = readonly (string | number)[];

export function isTable(value: unknown): value is Table {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Returns a table with these members. */
export function toTable(members: Iterable<readonly [string, unknown]>): Table {
  const table: { [name: string]: unknown } = Object.create(null);
  for (const [name, value] of members) table[name] = value;
  return table;
}

/** Returns the value at a path; undefined if there is none. */
export function valueAt(value: unknown, path: Path): unknown {
  return path.reduce<unknown>((found, name) => {
    if (Array.isArray(found)) return typeof name === "number" ? found[name] : undefined;
    return isTable(found) ? found[name] : undefined;
  }, value);
}

/** Prints a path the way people write it: `servers.db.env.PGURL`, `projects["/home/a"].mcpServers`. */
export function printPath(path: Path): string {
  return path
    .map((name, index) => {
      if (typeof name === "number") return `[${name}]`;
      if (!/^[A-Za-z_$][\w$-]*$/.test(name)) return `[${JSON.stringify(name)}]`;
      return index === 0 ? name : `.${name}`;
    })
    .join("");
}

/** Describes the type of a value and never its content, because files contain secrets. */
export function kindOf(value: unknown): string {
  if (value === undefined) return "nothing";
  if (value === null) return "null";
  if (Array.isArray(value)) return "a list";
  if (typeof value === "object") return "an object";
  return value === "" ? "an empty string" : `a ${typeof value}`;
}

/** The parsed text of a file in any format. */
export interface Content {
  readonly value: unknown;
  /** Paths of members that occur more than once; `value` has the last one. */
  readonly duplicates: readonly Path[];
}

/** Copies the result of a parser into tables of bounded depth. A YAML alias can contain itself. */
export function toPlain(value: unknown, file: string, depth = 0): unknown {
  if (depth > maxDepth) throw limitReached(file, `expected at most ${maxDepth} nested levels, got more`);
  const below = (one: unknown) => toPlain(one, file, depth + 1);
  if (Array.isArray(value)) return value.map(below);
  if (value instanceof Date) return value.toISOString();
  if (value instanceof Map) return toTable([...value].map(([name, one]) => [String(name), below(one)]));
  if (isTable(value)) return toTable(Object.entries(value).map(([name, one]) => [name, below(one)]));
  return typeof value === "bigint" ? Number(value) : value;
}
