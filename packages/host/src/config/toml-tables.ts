import { lineStart, nextLine } from "./text.ts";

/** A table that begins with a header of its own. */
export interface TomlTable {
  readonly path: readonly string[];
  /** Where the line of the header begins. */
  readonly start: number;
  /** Where the line after its last value begins; comments and empty lines after that are not of it. */
  readonly end: number;
}

/** The tables of a text that is known to be TOML, in their order. */
export function findTables(text: string): readonly TomlTable[] {
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

/** The names of a header: bare or in quotes, with dots between. */
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
    // An escape that only TOML knows: the name stays as it is written, and matches nothing.
    return quoted;
  }
}

/** Where the value ends that a line begins: it may go on over lists and long strings. */
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

/** Where the string ends that begins here; undefined if none does. */
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
      // Up to two more quotes may stand at the end of a long string.
      while (isLong && text[close] === quote) close++;
      return close;
    }
  }
  return text.length;
}
