import type { CallToolResult } from "portolan";
import { canonical } from "./exchanges.ts";

/**
 * A condition on the result of a saved call: a value or a pattern at a path, the output schema of the tool, an error or none,
 * a time. A path is like `structuredContent.days[0].high` or `content[0].text`; empty for the whole result.
 */
export type Expectation =
  | { readonly path: string; readonly is: unknown }
  | { readonly path: string; readonly matches: string }
  | { readonly schema: true }
  | { readonly isError: boolean }
  | { readonly underMs: number };

/** The outcome of a call. */
export interface CallOutcome {
  readonly result: CallToolResult;
  readonly ms: number;
  /** Where the structured content breaks the output schema. */
  readonly schemaProblems: readonly string[];
}

type Check = (expectation: never) => string | undefined;

/** The members of each kind of expectation, and what is wrong with their values. */
const kinds: readonly { readonly members: readonly string[]; readonly check: Check }[] = [
  { members: ["path", "is"], check: ({ path }: { path: unknown }) => checkPath(path) },
  {
    members: ["path", "matches"],
    check: ({ path, matches }: { path: unknown; matches: unknown }) => checkPath(path) ?? checkPattern(matches),
  },
  { members: ["schema"], check: ({ schema }: { schema: unknown }) => (schema === true ? undefined : "schema: true") },
  {
    members: ["isError"],
    check: ({ isError }: { isError: unknown }) => (typeof isError === "boolean" ? undefined : "isError: true or false"),
  },
  {
    members: ["underMs"],
    check: ({ underMs }: { underMs: unknown }) =>
      typeof underMs === "number" && underMs > 0 ? undefined : "underMs: a number above zero",
  },
];

/** Returns what was expected instead of this value; undefined for an expectation. */
export function checkExpectation(value: unknown): string | undefined {
  const members = typeof value === "object" && value !== null ? Object.keys(value).sort().join() : "";
  const kind = kinds.find((known) => [...known.members].sort().join() === members);
  if (!kind) return "path and is, path and matches, schema, isError, or underMs";
  return kind.check(value as never);
}

function checkPath(path: unknown): string | undefined {
  if (typeof path === "string" && parsePath(path)) return undefined;
  return "a path such as structuredContent.days[0].high";
}

function checkPattern(pattern: unknown): string | undefined {
  try {
    if (typeof pattern === "string") new RegExp(pattern, "u");
    return typeof pattern === "string" ? undefined : "matches: a regular expression";
  } catch {
    return "matches: a regular expression";
  }
}

/** Returns the problem of an outcome with one expectation, as a sentence. Undefined if it is met. */
export function judge(expectation: Expectation, { result, ms, schemaProblems }: CallOutcome): string | undefined {
  if ("isError" in expectation) {
    const isError = result.isError === true;
    if (isError === expectation.isError) return undefined;
    return isError ? `the tool failed: ${textOf(result)}` : "the tool succeeded; expected an error";
  }
  if ("schema" in expectation) {
    return schemaProblems.length === 0
      ? undefined
      : `the result breaks the output schema: ${schemaProblems.join("; ")}`;
  }
  if ("underMs" in expectation) {
    return ms < expectation.underMs
      ? undefined
      : `it took ${Math.round(ms)} ms; expected less than ${expectation.underMs} ms`;
  }
  const place = expectation.path === "" ? "the result" : expectation.path;
  const found = valueAt(result, expectation.path);
  if (found === undefined) return `there is no ${expectation.path}`;
  if ("is" in expectation) {
    if (canonical(found) === canonical(expectation.is)) return undefined;
    return `${place} is ${shown(found)}; expected ${shown(expectation.is)}`;
  }
  const text = typeof found === "string" ? found : JSON.stringify(found);
  if (new RegExp(expectation.matches, "u").test(text)) return undefined;
  return `${place} is ${shown(found)}; expected a match of ${expectation.matches}`;
}

/** Returns the text of a result in one line. */
export function textOf({ content }: CallToolResult): string {
  const texts = content.flatMap((block) => (block.type === "text" ? [block.text] : []));
  return shortened(texts.join(" ").replace(/\s+/g, " ").trim()) || "it gave no text";
}

function shown(value: unknown): string {
  return shortened(JSON.stringify(value));
}

function shortened(text: string): string {
  return text.length > 200 ? `${text.slice(0, 200)}…` : text;
}

function valueAt(value: unknown, path: string): unknown {
  let found = value;
  for (const name of parsePath(path) ?? []) {
    if (typeof found !== "object" || found === null || !Object.hasOwn(found, name)) return undefined;
    found = (found as { readonly [name: string]: unknown })[name];
  }
  return found;
}

/** Returns the names in a path such as `a.b[0]["c.d"]`. Undefined if it is no path. */
function parsePath(path: string): readonly string[] | undefined {
  const names: string[] = [];
  const step = /(?:^|\.)([^.[\]"]+)|\[(\d+)\]|\[("(?:[^"\\]|\\.)*")\]/y;
  while (step.lastIndex < path.length) {
    const match = step.exec(path);
    if (!match) return undefined;
    const [, name, index, quoted] = match;
    try {
      names.push(name ?? index ?? (JSON.parse(quoted ?? "") as string));
    } catch {
      return undefined;
    }
  }
  return names;
}
