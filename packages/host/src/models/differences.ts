const maxShown = 60;
const maxDifferences = 20;

/** Where two JSON values differ. */
export interface Differences {
  /** How many simple values are the same; a text that begins like the other counts in part. */
  readonly agreed: number;
  /** `messages[0].content.text: recorded "a", got "b"`. */
  readonly differences: readonly string[];
}

/** Compares two JSON values member by member. */
export function differencesOf(recorded: unknown, got: unknown): Differences {
  const differences: string[] = [];
  let agreed = 0;
  const compare = (a: unknown, b: unknown, path: string): void => {
    if (differences.length >= maxDifferences) return;
    if (isTree(a) && isTree(b) && Array.isArray(a) === Array.isArray(b)) {
      const names = new Set([...Object.keys(a), ...Object.keys(b)]);
      for (const name of names) compare(a[name], b[name], Array.isArray(a) ? `${path}[${name}]` : join(path, name));
      return;
    }
    agreed += likeness(a, b);
    if (a !== b) differences.push(`${path || "the request"}: recorded ${show(a)}, got ${show(b)}`);
  };
  compare(recorded, got, "");
  return { agreed, differences };
}

function likeness(a: unknown, b: unknown): number {
  if (a === b) return 1;
  if (typeof a !== "string" || typeof b !== "string") return 0;
  let same = 0;
  while (same < a.length && a.charCodeAt(same) === b.charCodeAt(same)) same += 1;
  return same / Math.max(a.length, b.length);
}

function join(path: string, name: string): string {
  return path === "" ? name : `${path}.${name}`;
}

function isTree(value: unknown): value is { readonly [name: string]: unknown } {
  return typeof value === "object" && value !== null;
}

function show(value: unknown): string {
  if (value === undefined) return "nothing";
  const text = JSON.stringify(value);
  return text.length > maxShown ? `${text.slice(0, maxShown)}…` : text;
}
