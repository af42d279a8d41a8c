import type { FileHandle } from "node:fs/promises";
import { ToolError } from "portolan/server";
import { decode, encodingOf, sampleBytes } from "./encoding.ts";
import { readBytes } from "./range.ts";

/** A matching line. */
export interface Match {
  readonly line: number;
  readonly text: string;
  readonly before: string[];
  readonly after: string[];
}

export interface ScanOptions {
  readonly matcher: Matcher;
  /** Size of the file. */
  readonly size: number;
  /** Bytes that every match contains; pieces of a file without them are not decoded. */
  readonly needle: Buffer | undefined;
  /** Lines to show before and after. */
  readonly context: number;
  readonly most: number;
  /** Returns true when the search must stop. */
  readonly isOver: () => boolean;
}

const chunkBytes = 256 * 1024;
const maxLineBytes = 1024 * 1024;
const newline = 10;
const shown = 300;

/** Searches a file of any size in pieces; undefined if it is not text. */
export async function scan(handle: FileHandle, options: ScanOptions): Promise<Match[] | undefined> {
  const { matcher, size, needle, context, most, isOver } = options;
  const matches: Match[] = [];
  let last: string[] = [];
  let number = 1;
  let offset = 0;
  let carry: Buffer = Buffer.alloc(0);
  for (let isAtEnd = false; !isAtEnd; ) {
    const chunk = await readBytes(handle, offset, chunkBytes, size);
    if (offset === 0 && !isSearchable(chunk)) return undefined;
    offset += chunk.length;
    isAtEnd = chunk.length < chunkBytes;
    const data = carry.length === 0 ? chunk : Buffer.concat([carry, chunk]);
    const end = isAtEnd || data.length > maxLineBytes ? data.length : data.lastIndexOf(newline) + 1;
    carry = data.subarray(end);
    const piece = data.subarray(0, end);
    const isAwaited = matches.some(({ after }) => after.length < context);
    if (needle && !isAwaited && !piece.includes(needle)) {
      last = context === 0 ? [] : linesIn(lastLines(piece, context));
      number += countLines(piece);
      if (isOver()) break;
      continue;
    }
    const lines = linesIn(piece);
    for (const match of matches.filter(({ after }) => after.length < context)) {
      match.after.push(...lines.slice(0, context - match.after.length).map(clipped));
    }
    for (const [index, at] of matcher(lines)) {
      if (matches.length === most) return matches;
      const known = [...last, ...lines.slice(0, index)];
      matches.push({
        line: number + index,
        text: around(lines[index] ?? "", at),
        before: context === 0 ? [] : known.slice(-context).map(clipped),
        after: lines.slice(index + 1, index + 1 + context).map(clipped),
      });
    }
    number += countLines(piece);
    last = context === 0 ? [] : lines.slice(-context);
    if (isOver()) break;
  }
  return matches;
}

function isSearchable(start: Uint8Array): boolean {
  const encoding = encodingOf(start.subarray(0, sampleBytes));
  return encoding === "utf-8" || encoding === "windows-1252";
}

function linesIn(bytes: Uint8Array): string[] {
  if (bytes.length === 0) return [];
  const lines = decode(bytes, "utf-8").split("\n");
  if (bytes.at(-1) === newline) lines.pop();
  return lines.map((line) => (line.endsWith("\r") ? line.slice(0, -1) : line));
}

function countLines(bytes: Uint8Array): number {
  let count = 0;
  for (let at = bytes.indexOf(newline); at >= 0; at = bytes.indexOf(newline, at + 1)) count += 1;
  return count;
}

function lastLines(bytes: Uint8Array, count: number): Uint8Array {
  let start = bytes.length;
  for (let line = 0; line <= count && start > 0; line += 1) start = bytes.lastIndexOf(newline, start - 1);
  return bytes.subarray(Math.max(0, start + 1));
}

/** Cuts a long line to the part around a position. */
function around(line: string, at: number): string {
  if (line.length <= shown) return line;
  const start = Math.max(0, Math.min(at - shown / 3, line.length - shown));
  return `${start > 0 ? "…" : ""}${line.slice(start, start + shown)}${start + shown < line.length ? "…" : ""}`;
}

function clipped(line: string): string {
  return around(line, 0);
}

/** Finds matching lines; returns the index of each and the position in it. */
export type Matcher = (lines: readonly string[]) => (readonly [line: number, at: number])[];

export interface Pattern {
  readonly pattern: string;
  readonly isExpression: boolean;
  readonly ignoreCase: boolean;
  /** Time for a regular expression on one piece of text. */
  readonly patternMs: number;
}

/** Regular expressions see at most this many characters of a line. */
const maxLine = 10_000;

/** Creates a matcher; a regular expression runs in a context with a timeout, because some never end. */
export async function createMatcher(pattern: Pattern): Promise<Matcher> {
  return pattern.isExpression ? createExpression(pattern) : createLiteral(pattern);
}

function createLiteral({ pattern, ignoreCase }: Pattern): Matcher {
  const fold = (text: string) => (ignoreCase ? text.toLowerCase() : text);
  const wanted = fold(pattern);
  return (lines) =>
    lines.flatMap((line, index) => {
      const at = fold(line).indexOf(wanted);
      return at < 0 ? [] : [[index, at] as const];
    });
}

async function createExpression({ pattern, ignoreCase, patternMs }: Pattern): Promise<Matcher> {
  const expression = compile(pattern, ignoreCase ? "i" : "");
  const { createContext, Script } = await import("node:vm");
  const sandbox: { expression: RegExp; lines: readonly string[] } = { expression, lines: [] };
  const context = createContext(sandbox);
  const script = new Script(
    "lines.flatMap((line, index) => { const at = line.search(expression); return at < 0 ? [] : [[index, at]]; })",
  );
  return (lines) => {
    sandbox.lines = lines.map((line) => line.slice(0, maxLine));
    try {
      return script.runInContext(context, { timeout: patternMs });
    } catch (cause) {
      if ((cause as NodeJS.ErrnoException).code !== "ERR_SCRIPT_EXECUTION_TIMEOUT") throw cause;
      throw new ToolError(`${pattern}: takes too long to match; avoid nested repetition such as (a+)+`, {
        cause,
      });
    }
  };
}

function compile(pattern: string, flags: string): RegExp {
  try {
    return new RegExp(pattern, `${flags}u`);
  } catch {
    // Without the u flag more is allowed, such as needless backslashes.
  }
  try {
    return new RegExp(pattern, flags);
  } catch (cause) {
    throw new ToolError(
      `${pattern}: not a regular expression (${(cause as Error).message}); regex: false searches for it literally`,
      { cause },
    );
  }
}
