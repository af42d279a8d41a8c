import { maxDepth } from "./limits.ts";
import { layoutOf, limitReached, lineStart, malformedAt, nextLine, splice } from "./text.ts";
import { type Content, type Table, toPlain, toTable } from "./value.ts";

/** Adds, replaces or removes the table of one server in a TOML text. Every other line stays the same. */
export async function editToml(
  text: string,
  at: readonly string[],
  name: string,
  value: Table | undefined,
): Promise<string> {
  const { stringify } = await loadToml();
  const path = [...at, name];
  const tables = findTables(text);
  const own = regionsOf(
    text,
    tables.filter((table) => startsWith(table.path, path)),
  );
  const { eol } = layoutOf(text);
  const printed =
    value && stringify(path.reduceRight<unknown>((below, one) => toTable([[one, below]]), value) as Table);
  const lines = printed === undefined ? "" : `${printed.trimEnd().replaceAll("\n", eol)}${eol}`;
  const [first, ...others] = own;
  if (!first) return printed === undefined ? text : insert(text, tables, at, lines, eol);
  // From the end, so that earlier offsets stay valid.
  const shorter = others.toReversed().reduce((edited, region) => remove(edited, region), text);
  return printed === undefined ? remove(shorter, first) : splice(shorter, first.start, first.end, lines);
}

interface Region {
  readonly start: number;
  readonly end: number;
}

/** Returns the regions of tables; tables with only white space between them are one region. */
function regionsOf(text: string, tables: readonly TomlTable[]): readonly Region[] {
  const regions: Region[] = [];
  for (const { start, end } of tables) {
    const last = regions.at(-1);
    if (last && text.slice(last.end, start).trim() === "") regions[regions.length - 1] = { start: last.start, end };
    else regions.push({ start, end });
  }
  return regions;
}

/** Removes a region and the empty line before it, or the empty lines after it if it is the first. */
function remove(text: string, { start, end }: Region): string {
  const before = /(?<=\n)\r?\n$/.exec(text.slice(0, start))?.[0].length;
  return splice(text, start - (before ?? 0), before === undefined ? endOfGap(text, end) : end, "");
}

/** Inserts lines after the last server, or at the end of the text. */
function insert(text: string, tables: readonly TomlTable[], at: readonly string[], lines: string, eol: string): string {
  const last = tables.findLast((table) => startsWith(table.path, at));
  const place = last ? endOfComments(text, last.end) : text.length;
  const before = text.slice(0, place);
  const gap = before === "" ? "" : before.endsWith("\n") ? eol : eol + eol;
  return splice(text, place, place, gap + lines);
}

/** Returns the end of the comments below a table. Comments directly above another table belong to that one. */
function endOfComments(text: string, end: number): number {
  let at = end;
  while (/^[ \t]*#/.test(text.slice(at, nextLine(text, at)))) at = nextLine(text, at);
  return text.slice(at, nextLine(text, at)).trim() === "" ? at : end;
}

/** Returns the end of the empty lines after a table. */
function endOfGap(text: string, end: number): number {
  let gap = end;
  while (gap < text.length && text.slice(gap, nextLine(text, gap)).trim() === "") gap = nextLine(text, gap);
  return gap;
}

function startsWith(path: readonly string[], start: readonly string[]): boolean {
  return start.every((name, index) => path[index] === name);
}

/** A table with its own header line. */
interface TomlTable {
  readonly path: readonly string[];
  /** The start of the header line. */
  readonly start: number;
  /** The end of the line with its last value. Comments and empty lines below it do not belong to the table. */
  readonly end: number;
}

/** Returns the tables of a valid TOML text in their order. */
function findTables(text: string): readonly TomlTable[] {
  const tables: { path: readonly string[]; start: number; end: number }[] = [];
  let at = 0;
  while (at < text.length) {
    const lineEnd = nextLine(text, at);
    const line = text.slice(at, lineEnd);
    const header = /^[ \t]*\[{1,2}/.exec(line);
    if (/^[ \t]*(?:#|\r?\n|$)/.test(line)) {
      at = lineEnd;
    } else if (header) {
      const path = readKey(text, at + header[0].length);
      tables.push({ path, start: at, end: lineEnd });
      at = lineEnd;
    } else {
      at = nextLine(text, endOfValue(text, at));
      const last = tables.at(-1);
      if (last) last.end = at;
    }
  }
  return tables;
}

/** Reads the names of a header: bare or quoted, separated by dots. */
function readKey(text: string, from: number): readonly string[] {
  const names: string[] = [];
  const name = /[ \t]*(?:([\w-]+)|'([^'\n]*)'|"((?:[^"\\\n]|\\.)*)")[ \t]*(\.?)/y;
  name.lastIndex = from;
  for (let match = name.exec(text); match; match = name.exec(text)) {
    const [, bare, literal, quoted, dot] = match;
    names.push(bare ?? literal ?? unquote(quoted ?? ""));
    if (dot !== ".") break;
  }
  return names;
}

function unquote(quoted: string): string {
  const json = quoted.replace(/\\U([0-9a-fA-F]{8})/g, (_, code: string) =>
    String.fromCodePoint(Number.parseInt(code, 16)),
  );
  try {
    return JSON.parse(`"${json}"`);
  } catch {
    // An escape that JSON does not have. The name stays quoted and matches no server.
    return quoted;
  }
}

/** Returns the end of the value that starts on a line. Lists and long strings can span lines. */
function endOfValue(text: string, from: number): number {
  let depth = 0;
  let at = from;
  while (at < text.length) {
    const string = stringAt(text, at);
    if (string !== undefined) {
      at = string;
      continue;
    }
    const char = text[at];
    if (char === "#") at = nextLine(text, at) - 1;
    if (char === "[" || char === "{") depth++;
    if (char === "]" || char === "}") depth--;
    if (text[at] === "\n" && depth <= 0) return at;
    at++;
  }
  return Math.max(lineStart(text, text.length), at);
}

/** Returns the end of the string that starts here; undefined if none does. */
function stringAt(text: string, at: number): number | undefined {
  const quote = text[at];
  if (quote !== '"' && quote !== "'") return undefined;
  const long = quote.repeat(3);
  const isLong = text.startsWith(long, at);
  const end = isLong ? long : quote;
  for (let place = at + end.length; place < text.length; place++) {
    if (quote === '"' && text[place] === "\\") place++;
    else if (text.startsWith(end, place)) {
      let close = place + end.length;
      // A long string can end with up to two quotes of its own.
      while (isLong && text[close] === quote) close++;
      return close;
    }
  }
  return text.length;
}

/** Loads the parser when the first TOML file is read. */
const loadToml = (): Promise<typeof import("smol-toml")> => import("smol-toml");

/** Parses TOML. A duplicate name is a syntax error. */
export async function readToml(text: string, file: string): Promise<Content> {
  const { parse, TomlError } = await loadToml();
  let value: unknown;
  try {
    value = parse(text, { maxDepth: maxDepth });
  } catch (error) {
    if (!(error instanceof TomlError))
      throw limitReached(file, `expected at most ${maxDepth} nested levels of TOML, got more`);
    throw malformedAt(file, error.line, error.column, `invalid TOML: ${firstLine(error.message)}`);
  }
  return { value: toPlain(value, file), duplicates: [] };
}

/** Keeps the first line of a message; the lines below it quote the file. */
function firstLine(message: string): string {
  return (message.split("\n")[0] ?? "").replace("Invalid TOML document: ", "").replace(/["'`.].*$/, "");
}
