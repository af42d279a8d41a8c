import { limits } from "./limits.ts";
import { tooMuch } from "./text.ts";

/** An object of a file: without a prototype, so that every name in it is only a name. */
export interface Table {
  readonly [name: string]: unknown;
}

/** A place in a file, member by member. */
export type Path = readonly (string | number)[];

export function isTable(value: unknown): value is Table {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A table of these members. */
export function toTable(members: Iterable<readonly [string, unknown]>): Table {
  const table: { [name: string]: unknown } = Object.create(null);
  for (const [name, value] of members) table[name] = value;
  return table;
}

/** The value at a place; undefined where there is none. */
export function valueAt(value: unknown, path: Path): unknown {
  return path.reduce<unknown>((found, name) => {
    if (Array.isArray(found)) return typeof name === "number" ? found[name] : undefined;
    return isTable(found) ? found[name] : undefined;
  }, value);
}

/** A place as a reader finds it: `servers.db.env.PGURL`, `projects["/home/a"].mcpServers`. */
export function printPath(path: Path): string {
  return path
    .map((name, index) => {
      if (typeof name === "number") return `[${name}]`;
      if (!/^[A-Za-z_$][\w$-]*$/.test(name)) return `[${JSON.stringify(name)}]`;
      return index === 0 ? name : `.${name}`;
    })
    .join("");
}

/** What a value is, without a word of what is in it: files hold secrets. */
export function kindOf(value: unknown): string {
  if (value === undefined) return "nothing";
  if (value === null) return "null";
  if (Array.isArray(value)) return "a list";
  if (typeof value === "object") return "an object";
  return value === "" ? "an empty string" : `a ${typeof value}`;
}

/** What a text says, whatever it is written in. */
export interface Content {
  readonly value: unknown;
  /** Members that are there more than once; of these the last counts. */
  readonly repeated: readonly Path[];
}

/** What another's parser made, as tables without prototypes and of bounded depth: an alias may stand inside itself. */
export function toPlain(value: unknown, file: string, depth = 0): unknown {
  if (depth > limits.depth) throw tooMuch(file, `expected at most ${limits.depth} levels`);
  const below = (one: unknown) => toPlain(one, file, depth + 1);
  if (Array.isArray(value)) return value.map(below);
  if (value instanceof Date) return value.toISOString();
  if (value instanceof Map) return toTable([...value].map(([name, one]) => [String(name), below(one)]));
  if (isTable(value)) return toTable(Object.entries(value).map(([name, one]) => [name, below(one)]));
  return typeof value === "bigint" ? Number(value) : value;
}
