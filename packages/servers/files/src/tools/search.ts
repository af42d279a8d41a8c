import type { Stats } from "node:fs";
import type { FileHandle } from "node:fs/promises";
import { ToolError } from "portolan/server";
import { annotations, array, boolean, count, object, string, textResult } from "portolan-server-kit";
import { compileGlob } from "../disk/glob.ts";
import { codeOf, withReasons } from "../disk/system-errors.ts";
import { Changed } from "../jail/folder.ts";
import { IsFolder, openRegular } from "../jail/jail.ts";
import { createMatcher, type Match, scan } from "../text/scan.ts";
import { inLine, type MakeTool, pathSchema } from "./tool-parts.ts";
import { visitBelow } from "./visit.ts";

interface Input {
  pattern: string;
  regex?: boolean;
  ignoreCase?: boolean;
  path?: string;
  name?: string;
  context?: number;
  limit?: number;
  all?: boolean;
}

interface Output {
  matches: { path: string; line: number; text: string; before?: string[]; after?: string[] }[];
  files: number;
  skipped: number;
  isCut: boolean;
  why?: string;
}

interface Opened {
  handle: FileHandle;
  stats: Stats;
}

const usual = 100;
const maxContext = 10;
const progressEvery = 500;

export const searchTool: MakeTool<Input, Output> = (desk) => ({
  title: "Search in files",
  description:
    "Searches the lines of all text files below a folder, or of one file, for a text or a regular expression. Tells path, line number and line. Files that are no text are passed by.",
  input: object(
    {
      pattern: { ...string("What to look for, within one line"), minLength: 1, maxLength: 1_000 },
      regex: boolean("The pattern is a regular expression of JavaScript"),
      ignoreCase: boolean("Capitals do not matter"),
      path: pathSchema,
      name: { ...string("Only files whose name fits, such as *.ts or src/**/*.md"), maxLength: 500 },
      context: count("Lines to show before and after", { maximum: maxContext }),
      limit: count(`How many matches, ${usual} unless given`, { minimum: 1, maximum: desk.settings.limits.results }),
      all: boolean("Also look into folders that are usually passed by, such as node_modules"),
    },
    ["regex", "ignoreCase", "path", "name", "context", "limit", "all"],
  ),
  output: object(
    {
      matches: array(
        object(
          {
            path: string("The file"),
            line: count("From 1", { minimum: 1 }),
            text: string("The line; a long one is cut"),
            before: array(string("A line"), "Lines before it"),
            after: array(string("A line"), "Lines after it"),
          },
          ["before", "after"],
        ),
        "In the order of paths and lines",
      ),
      files: count("How many files were searched"),
      skipped: count("How many were no text or could not be read"),
      isCut: boolean("There may be more"),
      why: string("Why it was cut, and what to do"),
    },
    ["why"],
  ),
  annotations: annotations.reads,
  run({ pattern, regex = false, ignoreCase = false, path = ".", name, context = 0, limit = usual, all = false }, ctx) {
    return withReasons(path, async () => {
      const jail = await desk.jailFor(ctx);
      const { searchMs, patternMs } = desk.settings.limits;
      if (/[\r\n]/.test(pattern)) throw new ToolError("pattern: lines are searched one by one; look for one of them");
      const matcher = await createMatcher({ pattern, isExpression: regex, ignoreCase, patternMs });
      const needle = regex || ignoreCase ? undefined : Buffer.from(pattern);
      const fits = name === undefined ? () => true : compileGlob(name);
      const deadline = performance.now() + searchMs;
      const isOver = () => ctx.signal.aborted || performance.now() > deadline;
      const found: Output = { matches: [], files: 0, skipped: 0, isCut: false };
      const look = async (where: string, open: () => Promise<Opened>): Promise<boolean> => {
        const most = limit + 1 - found.matches.length;
        const matches = await openAnd(open, (handle, { size }) =>
          scan(handle, { matcher, size, needle, context, most, isOver }),
        );
        ctx.signal.throwIfAborted();
        if (matches) found.files += 1;
        else found.skipped += 1;
        found.matches.push(...(matches ?? []).map((match) => toOutput(where, match, context)));
        if (found.files % progressEvery === 0) ctx.progress(found.files, undefined, where);
        return found.matches.length <= limit && !isOver();
      };
      const isFile = await lookAtFile(() => jail.openFile(path), path, jail.isTop(path), look);
      const end = isFile
        ? undefined
        : await visitBelow(desk, jail, ctx, path, { all }, ({ kind, folder, name, way, path }) =>
            kind === "file" && fits(way) ? look(path, () => openRegular(folder, name, path)) : !isOver(),
          );
      const why = whyCut(found.matches.length > limit, isOver(), end?.isCut ?? false, searchMs);
      const matches = found.matches.slice(0, limit);
      return answer({ ...found, matches, isCut: why !== undefined, ...(why !== undefined && { why }) });
    });
  },
});

async function lookAtFile(
  open: () => Promise<Opened & { place: { path: string } }>,
  path: string,
  isTop: boolean,
  look: (path: string, open: () => Promise<Opened>) => Promise<boolean>,
): Promise<boolean> {
  if (isTop || path === ".") return false;
  try {
    const file = await open();
    await look(file.place.path, async () => file);
    return true;
  } catch (reason) {
    if (reason instanceof IsFolder) return false;
    throw reason;
  }
}

/** What a search finds in a file; undefined for one that cannot be opened. */
async function openAnd<T>(
  open: () => Promise<Opened>,
  use: (handle: FileHandle, stats: Stats) => Promise<T>,
): Promise<T | undefined> {
  let opened: Opened;
  try {
    opened = await open();
  } catch (reason) {
    if (reason instanceof Changed || reason instanceof ToolError || codeOf(reason) !== undefined) return undefined;
    throw reason;
  }
  const { handle, stats } = opened;
  return use(handle, stats).finally(() => handle.close());
}

function whyCut(isFull: boolean, isLate: boolean, isLarge: boolean, searchMs: number): string | undefined {
  if (isFull) return "more matches than limit; narrow the pattern, the path or the name";
  if (isLate) return `stopped after ${searchMs} ms; narrow the path or the name`;
  return isLarge ? "too many files; narrow the path" : undefined;
}

function toOutput(path: string, { line, text, before, after }: Match, context: number) {
  return { path, line, text, ...(context > 0 && { before, after }) };
}

function answer(output: Output) {
  const { matches, files, why } = output;
  const blocks = matches.map(({ path, line, text, before = [], after = [] }) => {
    const row = (number: number, sign: string, shown: string) => `${inLine(path)}${sign}${number}${sign} ${shown}`;
    return [
      ...before.map((shown, at) => row(line - before.length + at, "-", shown)),
      row(line, ":", text),
      ...after.map((shown, at) => row(line + 1 + at, "-", shown)),
    ].join("\n");
  });
  const separator = matches.some(({ before }) => before !== undefined) ? "\n--\n" : "\n";
  const none = `No match in ${files} files; try ignoreCase, or a shorter pattern`;
  const body = blocks.length === 0 ? none : blocks.join(separator);
  return textResult(why === undefined ? body : `${body}\n… ${why}`, output);
}
