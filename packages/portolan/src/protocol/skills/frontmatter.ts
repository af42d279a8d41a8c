import type { JsonObject } from "../../jsonrpc/message.ts";
import { maxFrontmatterChars, maxFrontmatterDepth } from "./limits.ts";

/** A document that begins with frontmatter. */
export interface Frontmatter {
  readonly frontmatter: JsonObject;
  /** The text after the frontmatter. */
  readonly body: string;
}

/**
 * Reads the frontmatter at the beginning of a text: YAML 1.2 without what makes a reader do more than read. Anchors,
 * aliases, tags, directives, merge keys, and names that are repeated or no text are refused. Throws a `FrontmatterError`.
 */
export function parseFrontmatter(text: string): Frontmatter {
  const begin = /^\uFEFF?---[ \t]*(\r\n|\n)/.exec(text);
  if (!begin) throw new FrontmatterError(1, "expected a first line of ---");
  const rest = text.slice(begin[0].length);
  const end = /(^|\n)---[ \t]*(?=\r?\n|$)/.exec(rest);
  if (!end) throw new FrontmatterError(1, "expected a line of --- after the frontmatter");
  const yaml = rest.slice(0, end.index + (end[1] ?? "").length);
  if (yaml.length > maxFrontmatterChars) {
    throw new FrontmatterError(1, `expected at most ${maxFrontmatterChars} characters of frontmatter`);
  }
  const body = rest.slice(end.index + end[0].length).replace(/^\r?\n/, "");
  return { frontmatter: new Reader(yaml).document(), body };
}

/** Tells what is wrong with a frontmatter, and in which line. */
export class FrontmatterError extends Error {
  override name = "FrontmatterError";

  constructor(line: number, why: string) {
    super(`line ${line}: ${why}`);
  }
}

interface Line {
  readonly text: string;
  /** The number of spaces before the content. */
  readonly indent: number;
  readonly isBlank: boolean;
}

/** Why a feature of YAML is refused, by the character that begins it. */
const refused: { readonly [indicator: string]: string } = {
  "&": "anchors are not allowed",
  "*": "aliases are not allowed; put a text that begins with * in quotes",
  "!": "tags are not allowed; put a text that begins with ! in quotes",
  "%": "a value cannot begin with %; put it in quotes",
  "@": "a value cannot begin with @; put it in quotes",
  "`": "a value cannot begin with `; put it in quotes",
  "]": "a value cannot begin with ]",
  "}": "a value cannot begin with }",
  ",": "a value cannot begin with a comma",
};

/** Reads YAML line by line. A position is a line and a column. */
class Reader {
  readonly #lines: Line[];
  #line = 0;
  #column = 0;
  #depth = 0;

  constructor(yaml: string) {
    this.#lines = yaml.split(/\r\n|\n/).map(toLine);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters that YAML forbids.
    const at = this.#lines.findIndex(({ text }) => /[\0-\x08\x0B-\x1F\x7F\x85\u2028\u2029]/.test(text));
    if (at >= 0) this.#fail("control characters are not allowed", at);
  }

  document(): JsonObject {
    this.#skipEmpty();
    const line = this.#lines[this.#line];
    if (!line || !this.#keyEnd(line, line.indent)) this.#fail("expected a mapping such as `name: refunds`");
    const value = this.#mapping((line as Line).indent);
    this.#skipEmpty();
    if (this.#line < this.#lines.length) this.#fail("this line is indented less than the mapping that it belongs to");
    return value;
  }

  #fail(why: string, line: number = Math.min(this.#line, this.#lines.length - 1)): never {
    // The first line of the file is the one of the three dashes.
    throw new FrontmatterError(line + 2, why);
  }

  #within<T>(read: () => T): T {
    this.#depth += 1;
    if (this.#depth > maxFrontmatterDepth) this.#fail(`expected at most ${maxFrontmatterDepth} nested levels`);
    const value = read();
    this.#depth -= 1;
    return value;
  }

  /** Skips blank lines and comments. */
  #skipEmpty(): void {
    for (let line = this.#lines[this.#line]; line; line = this.#lines[++this.#line]) {
      if (!line.isBlank && line.text[line.indent] !== "#") return;
    }
  }

  /** Reads the value below a line whose content begins at `parent`. Without one it is null. */
  #below(parent: number, mayBeSameLevel: boolean): unknown {
    this.#skipEmpty();
    const line = this.#lines[this.#line];
    if (!line) return null;
    const isSameLevel = mayBeSameLevel && line.indent === parent && isItem(line, line.indent);
    return line.indent > parent || isSameLevel ? this.#block(line.indent, parent) : null;
  }

  /** Reads the value that begins at a column of this line. `parent` is the indentation of what contains it. */
  #block(column: number, parent: number): unknown {
    const line = this.#lines[this.#line] as Line;
    if (line.text[column] === "\t") this.#fail("expected spaces for the indentation, got a tab");
    return this.#within(() => {
      if (isItem(line, column)) return this.#sequence(column);
      if (this.#keyEnd(line, column)) return this.#mapping(column);
      this.#column = column;
      return this.#value(parent);
    });
  }

  #sequence(indent: number): unknown[] {
    const items: unknown[] = [];
    for (let start: number | undefined = indent; start !== undefined; start = this.#nextAt(indent)) {
      const line = this.#lines[this.#line] as Line;
      if (!isItem(line, indent)) {
        if (line.indent !== indent) this.#fail("expected an item that begins with -");
        break;
      }
      const content = skipSpaces(line.text, indent + 1);
      if (isEnd(line.text, content)) {
        this.#line += 1;
        items.push(this.#below(indent, false));
      } else items.push(this.#block(content, indent));
    }
    return items;
  }

  #mapping(indent: number): JsonObject {
    const members = new Map<string, unknown>();
    for (let start: number | undefined = indent; start !== undefined; start = this.#nextAt(indent)) {
      const line = this.#lines[this.#line] as Line;
      const key = this.#keyEnd(line, indent);
      if (!key) this.#fail("expected a name and a colon, such as `license: MIT`");
      const name = this.#keyName(key.text);
      if (members.has(name)) this.#fail(`the name ${JSON.stringify(name)} is there twice`);
      const content = skipSpaces(line.text, key.end);
      if (isEnd(line.text, content)) {
        this.#line += 1;
        members.set(name, this.#below(indent, true));
      } else {
        if (isItem(line, content)) this.#fail("a list begins on a line of its own");
        this.#column = content;
        members.set(name, this.#value(indent));
      }
    }
    // Makes own members of every name, also of `__proto__`.
    return Object.fromEntries(members);
  }

  /** Goes to the next line with content. Returns undefined if it is indented less, and fails if it is indented more. */
  #nextAt(indent: number): number | undefined {
    this.#skipEmpty();
    const line = this.#lines[this.#line];
    if (!line || line.indent < indent) return undefined;
    if (line.indent > indent) this.#fail("this line is indented more than the ones before it");
    return indent;
  }

  /** Returns the name that begins at a column and the end of its colon; undefined if the line has none there. */
  #keyEnd(line: Line, column: number): { text: string; end: number } | undefined {
    const { text } = line;
    const quote = text[column];
    if (quote === "\t") this.#fail("expected spaces for the indentation, got a tab");
    if (quote === "?" && /[ \t]|^$/.test(text[column + 1] ?? "")) this.#fail("a name cannot begin with ?");
    if (quote === '"' || quote === "'") {
      const quoted = (quote === '"' ? /"(?:[^"\\]|\\.)*"/y : /'(?:[^']|'')*'/y) as RegExp;
      quoted.lastIndex = column;
      const found = quoted.exec(text)?.[0];
      if (found === undefined) return undefined;
      const colon = skipSpaces(text, column + found.length);
      return text[colon] === ":" && isSpace(text[colon + 1]) ? { text: found, end: colon + 1 } : undefined;
    }
    if (quote === undefined || isItem(line, column) || "[{|>#".includes(quote) || quote in refused) return undefined;
    for (let at = column; at < text.length; at++) {
      if (text[at] === "#" && isSpace(text[at - 1])) return undefined;
      if (text[at] === ":" && isSpace(text[at + 1])) return { text: trimEnd(text.slice(column, at)), end: at + 1 };
    }
    return undefined;
  }

  #keyName(text: string): string {
    if (text.startsWith('"')) return this.#unescape(text.slice(1, -1));
    if (text.startsWith("'")) return text.slice(1, -1).replaceAll("''", "'");
    if (text === "<<") this.#fail("merge keys are not allowed");
    if (typeof this.#scalar(text) !== "string") this.#fail(`put the name ${text} in quotes, because it is no text`);
    return text;
  }

  /** Reads a value that is neither a list nor a mapping of several lines, from the current column. */
  #value(parent: number): unknown {
    const { text } = this.#lines[this.#line] as Line;
    const first = text[this.#column] as string;
    const why = refused[first];
    if (why !== undefined) this.#fail(why);
    if (first === "|" || first === ">") return this.#blockScalar(parent, first === ">");
    if (first === '"' || first === "'" || first === "[" || first === "{") {
      const value = this.#flow(parent);
      const { text: last } = this.#lines[this.#line] as Line;
      const end = skipSpaces(last, this.#column);
      if (!isEnd(last, end) || (last[end] === "#" && end === this.#column)) {
        this.#fail("expected the end of the line after this value");
      }
      this.#line += 1;
      return value;
    }
    return this.#plain(parent);
  }

  /** Reads a text without quotes, which may go on in the lines below. */
  #plain(parent: number): unknown {
    let joined = "";
    let breaks = 0;
    let column = this.#column;
    const first = this.#line;
    for (let line = this.#lines[this.#line]; line; line = this.#lines[++this.#line], column = line?.indent ?? 0) {
      if (line.isBlank) {
        breaks += 1;
        continue;
      }
      if (joined !== "" && line.indent <= parent) break;
      if (line.text[column] === "\t") column = skipSpaces(line.text, column);
      if (joined !== "" && line.text[column] === "#") break;
      const comment = /[ \t]#/g;
      comment.lastIndex = column;
      const cut = comment.exec(line.text)?.index;
      const part = trimEnd(line.text.slice(column, cut));
      if (/:([ \t]|$)/.test(part)) this.#fail('put a value with ": " in it in quotes');
      joined += joined === "" ? part : (breaks === 0 ? " " : "\n".repeat(breaks)) + part;
      breaks = 0;
      if (cut !== undefined) {
        this.#line += 1;
        this.#skipEmpty();
        if ((this.#lines[this.#line]?.indent ?? -1) > parent) this.#fail("a text cannot go on after a comment");
        break;
      }
    }
    if (/^[-?:](?=[ \t]|$)/.test(joined)) this.#fail(`a value cannot begin with ${joined[0]}`);
    return this.#scalar(joined, first);
  }

  #scalar(text: string, line?: number): unknown {
    if (/^(null|Null|NULL|~|)$/.test(text)) return null;
    if (/^(true|True|TRUE)$/.test(text)) return true;
    if (/^(false|False|FALSE)$/.test(text)) return false;
    if (/^0o[0-7]+$|^0x[0-9a-fA-F]+$|^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$/.test(text)) {
      const number = Number(text);
      return Number.isFinite(number) ? number : this.#fail("expected a number that JSON can hold", line);
    }
    if (/^[-+]?\.(inf|Inf|INF)$|^\.(nan|NaN|NAN)$/.test(text)) this.#fail("expected a number that JSON can hold", line);
    return text;
  }

  /** Reads a text after `|` or `>`. */
  #blockScalar(parent: number, isFolded: boolean): string {
    const { text } = this.#lines[this.#line] as Line;
    const header = /^[|>](?:([1-9])([-+])?|([-+])([1-9])?)?[ \t]*(?:[ \t]#.*)?$/.exec(text.slice(this.#column));
    if (!header) this.#fail("expected nothing after | or > but +, - and a digit");
    const chomp = header[2] ?? header[3];
    const digit = header[1] ?? header[4];
    let indent = digit === undefined ? undefined : Math.max(parent, 0) + Number(digit);
    let result = "";
    let blanks = 0;
    let widest = 0;
    let hasContent = false;
    let wasDeeper = false;
    for (this.#line += 1; this.#line < this.#lines.length; this.#line++) {
      const line = this.#lines[this.#line] as Line;
      const isOnlySpaces = line.indent === line.text.length;
      if (isOnlySpaces && (indent === undefined || line.indent <= indent)) {
        blanks += 1;
        widest = Math.max(widest, indent === undefined ? line.indent : 0);
        continue;
      }
      indent ??= Math.max(line.indent, parent + 1);
      if (!hasContent && widest > indent) this.#fail("the blank lines before this one are indented more");
      if (line.indent < indent) {
        const isOver = line.indent <= parent || line.text[line.indent] === "#";
        if (!isOver) this.#fail("this line is indented less than the text that it belongs to");
        break;
      }
      const content = line.text.slice(indent);
      const isDeeper = /^[ \t]/.test(content);
      if (!isFolded || isDeeper || wasDeeper) result += "\n".repeat(hasContent ? blanks + 1 : blanks);
      else if (blanks === 0) result += hasContent ? " " : "";
      else result += "\n".repeat(blanks);
      [wasDeeper, hasContent, blanks] = [isDeeper, true, 0];
      result += content;
    }
    // The text after the last line break of the frontmatter is no line.
    if (this.#line === this.#lines.length && blanks > 0) blanks -= 1;
    if (chomp === "+") return result + "\n".repeat(hasContent ? blanks + 1 : blanks);
    return chomp === "-" || !hasContent ? result : `${result}\n`;
  }

  /** Reads a value in quotes or brackets, and leaves the position behind it. */
  #flow(parent: number): unknown {
    const { text } = this.#lines[this.#line] as Line;
    const first = text[this.#column];
    if (first === '"' || first === "'") return this.#quoted(parent, first);
    if (first === "[") return this.#within(() => this.#flowSequence(parent));
    if (first === "{") return this.#within(() => this.#flowMapping(parent));
    const why = first === undefined ? undefined : refused[first];
    if (why !== undefined) this.#fail(why);
    return this.#scalar(this.#flowPlain(parent));
  }

  #flowSequence(parent: number): unknown[] {
    const items: unknown[] = [];
    this.#column += 1;
    while (this.#skipInFlow(parent) !== "]") {
      items.push(this.#flow(parent));
      const next = this.#skipInFlow(parent);
      if (next === ":") this.#fail("a mapping in a list needs braces");
      if (next === ",") this.#column += 1;
      else if (next !== "]") this.#fail("expected a comma or ]");
    }
    this.#column += 1;
    return items;
  }

  #flowMapping(parent: number): JsonObject {
    const members = new Map<string, unknown>();
    this.#column += 1;
    for (let next = this.#skipInFlow(parent); next !== "}"; next = this.#skipInFlow(parent)) {
      const name = next === '"' || next === "'" ? this.#quoted(parent, next) : this.#keyName(this.#flowKey(parent));
      if (members.has(name)) this.#fail(`the name ${JSON.stringify(name)} is there twice`);
      let value: unknown = null;
      next = this.#skipInFlow(parent);
      if (next === ":") {
        this.#column += 1;
        next = this.#skipInFlow(parent);
        if (next !== "," && next !== "}") value = this.#flow(parent);
        next = this.#skipInFlow(parent);
      }
      members.set(name, value);
      if (next === ",") this.#column += 1;
      else if (next !== "}") this.#fail("expected a comma or }");
    }
    this.#column += 1;
    return Object.fromEntries(members);
  }

  #flowKey(parent: number): string {
    const { text } = this.#lines[this.#line] as Line;
    const first = text[this.#column] as string;
    if ("[{".includes(first)) this.#fail("a name must be a text");
    const why = refused[first];
    if (why !== undefined) this.#fail(why);
    return this.#flowPlain(parent);
  }

  /** Reads a text without quotes inside brackets. */
  #flowPlain(parent: number): string {
    let joined = "";
    for (;;) {
      const { text } = this.#lines[this.#line] as Line;
      const start = this.#column;
      let at = start;
      for (; at < text.length; at++) {
        const char = text[at] as string;
        if (",[]{}".includes(char) || (char === "#" && isSpace(text[at - 1]))) break;
        if (char === ":" && (isSpace(text[at + 1]) || ",[]{}".includes(text[at + 1] as string))) break;
      }
      const part = trimEnd(text.slice(start, at));
      if (part === "") break;
      joined += joined === "" ? part : ` ${part}`;
      this.#column = at;
      if (at < text.length) break;
      // Blank lines in such a text would be line breaks, which nobody expects there.
      if (this.#lines[this.#line + 1]?.isBlank) this.#fail("expected no blank line inside brackets");
      this.#skipInFlow(parent);
    }
    if (joined === "" || /^[-?:]$/.test(joined) || /^[-?:][ \t]/.test(joined)) this.#fail("expected a value");
    return joined;
  }

  /** Skips spaces, line breaks and comments inside brackets. Returns the character that follows. */
  #skipInFlow(parent: number): string {
    for (;;) {
      const line = this.#lines[this.#line];
      if (!line) this.#fail("expected a closing bracket");
      this.#column = skipSpaces(line.text, this.#column);
      const char = line.text[this.#column];
      if (char === "#" && !isSpace(line.text[this.#column - 1])) this.#fail("expected a space before a comment");
      if (char !== undefined && char !== "#") return char;
      this.#nextInFlow(parent);
    }
  }

  /** Goes to the next line inside brackets or quotes, which is indented more than what contains them. */
  #nextInFlow(parent: number): Line {
    this.#line += 1;
    this.#column = 0;
    const line = this.#lines[this.#line];
    if (!line) this.#fail("expected a closing quote or bracket");
    if (!line.isBlank && line.indent <= parent) this.#fail("expected a closing quote or bracket before this line");
    return line;
  }

  /** Reads a text in quotes, and leaves the position behind it. */
  #quoted(parent: number, quote: '"' | "'"): string {
    let { text } = this.#lines[this.#line] as Line;
    let joined = "";
    let breaks = 0;
    let start = this.#column + 1;
    for (;;) {
      const end = closingQuote(text, start, quote);
      const part = text.slice(start, end);
      joined += breaks === 0 ? part : breaks === 1 ? ` ${part}` : "\n".repeat(breaks - 1) + part;
      if (end !== undefined) {
        this.#column = end + 1;
        return quote === "'" ? joined.replaceAll("''", "'") : this.#unescape(joined);
      }
      const isEscaped = quote === '"' && /(^|[^\\])(\\\\)*\\$/.test(part);
      joined = isEscaped ? joined.slice(0, -1) : trimEnd(joined, quote === '"');
      breaks = isEscaped ? 0 : 1;
      let line = this.#nextInFlow(parent);
      for (; line.isBlank; line = this.#nextInFlow(parent)) breaks += 1;
      // A line break that is escaped counts for nothing; the blank lines after it do.
      if (isEscaped && breaks > 0) {
        joined += "\n".repeat(breaks);
        breaks = 0;
      }
      text = line.text;
      start = skipSpaces(text, 0);
    }
  }

  #unescape(text: string): string {
    return text.replace(/\\(x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|.)/gsu, (_, found: string) => {
      const kind = found[0] as string;
      if (found.length > 1) {
        const code = Number.parseInt(found.slice(1), 16);
        return code <= 0x10ffff ? String.fromCodePoint(code) : this.#fail(`\\${found} is no character`);
      }
      return Object.hasOwn(escapes, kind) ? (escapes[kind] as string) : this.#fail(`\\${kind} is no escape`);
    });
  }
}

const escapes: { readonly [char: string]: string } = {
  "0": "\0",
  a: "\x07",
  b: "\b",
  t: "\t",
  "\t": "\t",
  n: "\n",
  v: "\v",
  f: "\f",
  r: "\r",
  e: "\x1B",
  " ": " ",
  '"': '"',
  "/": "/",
  "\\": "\\",
  N: "\x85",
  _: "\xA0",
  L: "\u2028",
  P: "\u2029",
};

function toLine(text: string): Line {
  const indent = /^ */.exec(text)?.[0].length ?? 0;
  return { text, indent, isBlank: skipSpaces(text, indent) === text.length };
}

function skipSpaces(text: string, from: number): number {
  let at = from;
  while (text[at] === " " || text[at] === "\t") at += 1;
  return at;
}

/** Removes spaces and tabs at the end, but for one that a backslash keeps. */
function trimEnd(text: string, hasEscapes = false): string {
  let end = text.length;
  while (text[end - 1] === " " || text[end - 1] === "\t") end -= 1;
  let backslashes = 0;
  while (text[end - 1 - backslashes] === "\\") backslashes += 1;
  return text.slice(0, hasEscapes && backslashes % 2 === 1 ? end + 1 : end);
}

/** Returns true for a space, a tab and the end of a line. */
function isSpace(char: string | undefined): boolean {
  return char === undefined || char === " " || char === "\t";
}

/** Returns true if nothing but a comment follows. */
function isEnd(text: string, at: number): boolean {
  return at === text.length || text[at] === "#";
}

function isItem({ text }: Line, column: number): boolean {
  return text[column] === "-" && isSpace(text[column + 1]);
}

function closingQuote(text: string, from: number, quote: '"' | "'"): number | undefined {
  for (let at = from; at < text.length; at++) {
    if (quote === '"' && text[at] === "\\") at += 1;
    else if (text[at] === quote) {
      if (quote === '"' || text[at + 1] !== quote) return at;
      at += 1;
    }
  }
  return undefined;
}
