import { canonicalJson } from "../../storage/crypto.ts";
import { display } from "../display/escape.ts";
import { displayValue } from "../display/value.ts";

/** One difference between two definitions; a side that has nothing there lacks its member. */
export interface DefinitionChange {
  /** Such as `inputSchema.properties.path.description`; empty for the whole. */
  readonly path: string;
  readonly before?: unknown;
  readonly after?: unknown;
}

const maxDepth = 64;
const maxChanges = 1_000;

/** What is different, the deepest place that tells it; beyond 1,000 places or 64 levels, the value that holds them. */
export function diffDefinitions(before: unknown, after: unknown): DefinitionChange[] {
  const changes: DefinitionChange[] = [];
  compare(before, after, "", 0, changes);
  return changes;
}

function compare(before: unknown, after: unknown, path: string, depth: number, changes: DefinitionChange[]): void {
  if (before === after) return;
  const canGoOn = depth < maxDepth && changes.length < maxChanges;
  if (canGoOn && isObject(before) && isObject(after) && Array.isArray(before) === Array.isArray(after)) {
    for (const name of new Set([...Object.keys(before), ...Object.keys(after)])) {
      compare(member(before, name), member(after, name), path === "" ? name : `${path}.${name}`, depth + 1, changes);
    }
    return;
  }
  if (isObject(before) && isObject(after) && canonicalJson(before) === canonicalJson(after)) return;
  changes.push({
    path,
    ...(before === undefined ? {} : { before }),
    ...(after === undefined ? {} : { after }),
  });
}

/** Changes as text for a person: each place, what stood there and what stands there now, escaped and whole. */
export function renderChanges(changes: readonly DefinitionChange[]): string {
  return changes
    .map((change) => [
      display(change.path || "all of it"),
      ...side("-", change, "before"),
      ...side("+", change, "after"),
    ])
    .map((lines) => lines.join("\n"))
    .join("\n");
}

function side(sign: string, change: DefinitionChange, name: "before" | "after"): string[] {
  if (!Object.hasOwn(change, name)) return [];
  const value = change[name];
  const text = typeof value === "string" ? display(value, { lines: "keep" }) : displayValue(value);
  return text.split("\n").map((line) => `${sign} ${line}`);
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

function member(value: object, name: string): unknown {
  return Object.hasOwn(value, name) ? value[name as keyof typeof value] : undefined;
}
