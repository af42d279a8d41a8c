import type { Stats } from "node:fs";
import type { FileHandle } from "node:fs/promises";
import { ToolError } from "portolan/server";
import { annotations, array, boolean, count, object, string, textResult } from "portolan-server-kit";
import { explainSystemErrors, IsFolderError, openRegular, PathChanged, systemCodeOf } from "portolan-server-kit/files";
import { compileGlob } from "../disk/glob.ts";
import { createMatcher, type Match, scan } from "../text/scan.ts";
import { type CreateTool, pathSchema, quoteControls } from "./tool-parts.ts";
import { unreadableLines, unreadableSchema, visitBelow } from "./visit.ts";

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
  unreadable?: number;
}

interface Opened {
  handle: FileHandle;
  stats: Stats;
}

const defaultLimit = 100;
const maxContext = 10;
const progressEvery = 500;

export const searchTool: CreateTool<Input, Output> = (workspace) => ({
  title: "Search in files",
  description:
    "Searches the lines of all text files below a folder, or of one file, for a text or a regular expression. Returns path, line number and line. Binary files are skipped.",
  input: object(
    {
      pattern: { ...string("Text to find, within one line"), minLength: 1, maxLength: 1_000 },
      regex: boolean("Treat the pattern as a JavaScript regular expression"),
      ignoreCase: boolean("Ignore upper and lower case"),
      path: pathSchema,
      name: { ...string("Only files whose name matches, such as *.ts or src/**/*.md"), maxLength: 500 },
      context: count("Lines to show before and after", { maximum: maxContext }),
      limit: count(`Maximum number of matches. Default: ${defaultLimit}`, {
        minimum: 1,
        maximum: workspace.settings.limits.results,
      }),
      all: boolean("Also search folders that are normally skipped, such as node_modules"),
    },
    ["regex", "ignoreCase", "path", "name", "context", "limit", "all"],
  ),
  output: object(
    {
      matches: array(
        object(
          {
            path: string("The file"),
            line: count("Line number, from 1", { minimum: 1 }),
            text: string("The line; a long one is cut"),
            before: array(string("A line"), "Lines before it"),
            after: array(string("A line"), "Lines after it"),
          },
          ["before", "after"],
        ),
        "Sorted by path and line",
      ),
      files: count("Number of searched files"),
      skipped: count("Number of files that are binary or cannot be read"),
      isCut: boolean("True if there may be more"),
      why: string("Why the result was cut, and what to do"),
      unreadable: unreadableSchema,
    },
    ["why", "unreadable"],
  ),
  annotations: annotations.reads,
  run(
    { pattern, regex = false, ignoreCase = false, path = ".", name, context = 0, limit = defaultLimit, all = false },
    ctx,
  ) {
    return explainSystemErrors(path, async () => {
      const jail = await workspace.jailFor(ctx);
      const { searchMs, patternMs } = workspace.settings.limits;
      if (/[\r\n]/.test(pattern)) throw new ToolError("pattern: expected one line; lines are searched one by one");
      const matcher = await createMatcher({ pattern, isExpression: regex, ignoreCase, patternMs });
      const needle = regex || ignoreCase ? undefined : Buffer.from(pattern);
      const fits = name === undefined ? () => true : compileGlob(name);
      const deadline = performance.now() + searchMs;
      const isOver = () => ctx.signal.aborted || performance.now() > deadline;
      let unreadable = 0;
      const found: Output = { matches: [], files: 0, skipped: 0, isCut: false };
      const look = async (where: string, open: () => Promise<Opened>): Promise<boolean> => {
        const most = limit + 1 - found.matches.length;
        const use = (handle: FileHandle, { size }: Stats) =>
          scan(handle, { matcher, size, needle, context, most, isOver });
        const matches = await openAnd(open, use, () => {
          unreadable += 1;
        });
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
        : await visitBelow(workspace, jail, ctx, path, { all }, ({ kind, folder, name, segments, path }) =>
            kind === "file" && fits(segments) ? look(path, () => openRegular(folder, name, path)) : !isOver(),
          );
      const why = whyCut(found.matches.length > limit, isOver(), end?.isCut ?? false, searchMs);
      const matches = found.matches.slice(0, limit);
      unreadable += end?.unreadable ?? 0;
      return answer({
        ...{ ...found, matches, isCut: why !== undefined },
        ...(why !== undefined && { why }),
        ...(unreadable > 0 && { unreadable }),
      });
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
    if (reason instanceof IsFolderError) return false;
    throw reason;
  }
}

/** Opens a file and runs `use`; calls `failed` and returns undefined if the file cannot be opened. */
async function openAnd<T>(
  open: () => Promise<Opened>,
  use: (handle: FileHandle, stats: Stats) => Promise<T>,
  failed: () => void,
): Promise<T | undefined> {
  let opened: Opened;
  try {
    opened = await open();
  } catch (reason) {
    if (!(reason instanceof PathChanged || reason instanceof ToolError) && systemCodeOf(reason) === undefined)
      throw reason;
    failed();
    return undefined;
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
  const { matches, files, unreadable = 0, why } = output;
  const blocks = matches.map(({ path, line, text, before = [], after = [] }) => {
    const row = (number: number, sign: string, shown: string) =>
      `${quoteControls(path)}${sign}${number}${sign} ${shown}`;
    return [
      ...before.map((shown, at) => row(line - before.length + at, "-", shown)),
      row(line, ":", text),
      ...after.map((shown, at) => row(line + 1 + at, "-", shown)),
    ].join("\n");
  });
  const separator = matches.some(({ before }) => before !== undefined) ? "\n--\n" : "\n";
  const none = `No match in ${files} files; try ignoreCase, or a shorter pattern`;
  const body = blocks.length === 0 ? none : blocks.join(separator);
  const more = [...unreadableLines(unreadable), ...(why === undefined ? [] : [`… ${why}`])];
  return textResult([body, ...more].join("\n"), output);
}
