import type { Screen } from "../terminal/screen.ts";
import { piecesOf, widthOf, wrap } from "../terminal/wrap.ts";
import { type InlineMarker, inlineMarkers, openLink } from "./inline-markers.ts";

/** Longer pieces are shown as they are, so that no text makes the search for markers slow. */
const maxInlineChars = 500;
/** The marker of a block is looked for in so much of a line, and a rule is no longer. */
const maxMarkerChars = 200;

/** Text at the beginning of a line that may still become a marker of a block. */
const maybeBlock = /^\s*(?:#{1,6}|[-*+_=]+|\d{1,9}[.)]?|>|`{1,}|~{1,})?\s*$/;
const fenceLine = /^\s*(`{3,}|~{3,})/;
const headingLine = /^\s{0,3}#{1,6}\s+/;
const bulletLine = /^(\s*)[-*+]\s+/;
const numberedLine = /^(\s*)(\d{1,9}[.)])\s+/;
const quoteLine = /^\s{0,3}>\s?/;
const ruleLine = /^\s{0,3}([-*_])(?:\s*\1){2,}\s*$/;
const tableRule = /^[\s|:-]+$/;

/**
 * Shows Markdown while it arrives: headings, emphasis, code, links, lists, quotes and tables. Lines are broken between
 * words. A word is shown as soon as it is complete.
 */
export class MarkdownStream {
  readonly #screen: Screen;
  readonly #write: (text: string) => void;
  /** The rest of the current line, which is not shown yet. */
  #pending = "";
  /** The current line is shown when it is complete: it is part of a table or of a code block. */
  #isHeld = false;
  /** The block of the current line, once it has begun. */
  #block: { readonly hang: string; readonly style: (text: string) => string } | undefined;
  #column = 0;
  /** Blanks after the last word, which vanish at the end of a line. */
  #gap = "";
  /** The marker that ends the current code block. */
  #fence: string | undefined;
  /** Lines of the current table. */
  #table: string[] = [];

  /** `write` shows text of one or more lines. */
  constructor(screen: Screen, write: (text: string) => void) {
    this.#screen = screen;
    this.#write = write;
  }

  /** Adds text of the model. */
  push(text: string): void {
    // Only the new text is searched: a long line may come in many pieces.
    const lines = text.split("\n");
    const rest = lines.pop() ?? "";
    for (const end of lines) {
      const line = this.#pending + end;
      this.#pending = "";
      this.#endLine(line);
    }
    this.#pending += rest;
    // No word ends without a blank, so that the search for markers is not repeated for each piece of a long word.
    if (!this.#block || this.#pending.length > maxInlineChars || /\s/.test(rest)) this.#showWords();
  }

  /** Shows everything that is left, and ends the text. */
  end(): void {
    const line = this.#pending;
    this.#pending = "";
    if (line !== "" || this.#block) this.#endLine(line);
    this.#showTable();
    this.#fence = undefined;
  }

  #endLine(line: string): void {
    this.#isHeld = false;
    const head = line.slice(0, maxMarkerChars);
    if (this.#block) {
      this.#addText(line);
      this.#newLine();
    } else if (this.#fence !== undefined) this.#addCode(line);
    else if (/^\s*\|/.test(head)) this.#table.push(line);
    else {
      this.#showTable();
      const [, fence] = fenceLine.exec(head) ?? [];
      if (fence !== undefined) this.#fence = fence;
      else if (line.length === head.length && ruleLine.test(line))
        this.#write(`${this.#dim(this.#screen.mark("line").repeat(this.#columns / 2))}\n`);
      else {
        this.#addText(this.#begin(line));
        this.#newLine();
      }
    }
  }

  /** Shows the complete words of the current line, as soon as its block is known. */
  #showWords(): void {
    if (this.#isHeld) return;
    const line = this.#pending;
    if (!this.#block) {
      const head = line.slice(0, maxMarkerChars);
      this.#isHeld = this.#fence !== undefined || /^\s*(?:\||`{3}|~{3})/.test(head);
      if (this.#isHeld || (line.length === head.length && maybeBlock.test(line))) return;
      this.#showTable();
      this.#pending = this.#begin(line);
    }
    const end = endOfWords(this.#pending);
    this.#addText(this.#pending.slice(0, end));
    this.#pending = this.#pending.slice(end);
  }

  /** Begins a line: shows its marker, and returns the rest. */
  #begin(line: string): string {
    const screen = this.#screen;
    const plain = (text: string) => text;
    const begin = (
      marker: string,
      shown: string,
      style: (text: string) => string,
      hang = " ".repeat(widthOf(shown)),
    ) => {
      this.#block = { hang, style };
      this.#put(shown);
      return line.slice(marker.length);
    };
    const head = line.slice(0, maxMarkerChars);
    const heading = headingLine.exec(head);
    if (heading && hasStyles(screen)) return begin(heading[0], "", (text) => screen.style("bold", text));
    const bullet = bulletLine.exec(head);
    if (bullet) return begin(bullet[0], `${indentOf(bullet[1])}${screen.mark("bullet")} `, plain);
    const numbered = numberedLine.exec(head);
    if (numbered) return begin(numbered[0], `${indentOf(numbered[1])}${numbered[2]} `, plain);
    const quoted = quoteLine.exec(head);
    const bar = `${this.#dim(screen.mark("bar"))} `;
    if (quoted) return begin(quoted[0], bar, plain, bar);
    const [space = ""] = /^\s*/.exec(line) ?? [];
    return begin(space, indentOf(space), plain);
  }

  #addText(text: string): void {
    const { hang = "", style = (it: string) => it } = this.#block ?? {};
    const shown = renderInline(text, this.#screen);
    for (const word of shown.split(/(?<= )(?=\S)/)) this.#addWord(word, style, hang);
  }

  #addWord(word: string, style: (text: string) => string, hang: string): void {
    const text = word.trimEnd();
    const width = widthOf(text);
    if (width > 0) {
      const isFirst = this.#column <= widthOf(hang);
      // Blanks before the first word are its indentation, which is shown.
      if (isFirst) this.#gap = "";
      else if (this.#column + this.#gap.length + width > this.#columns) this.#breakLine(hang);
      this.#put(this.#gap);
      // A word that no line has room for is broken.
      for (const piece of width > this.#columns - widthOf(hang) ? piecesOf(text) : [text]) {
        if (this.#column + widthOf(piece) > this.#columns) this.#breakLine(hang);
        this.#put(style(piece));
      }
      this.#gap = "";
    }
    this.#gap += word.slice(text.length);
  }

  #addCode(line: string): void {
    if (this.#fence !== undefined && line.trim().startsWith(this.#fence) && /^[`~]+$/.test(line.trim())) {
      this.#fence = undefined;
      return;
    }
    const style = (text: string) => this.#screen.style("cyan", text);
    for (const shown of wrap(line, this.#columns - 2)) this.#write(`  ${shown === "" ? "" : style(shown)}\n`);
  }

  /** Shows the table that has ended. One that is too wide becomes a list: nothing is cut. */
  #showTable(): void {
    const lines = this.#table;
    if (lines.length === 0) return;
    this.#table = [];
    const screen = this.#screen;
    const [titles = [], ...rows] = lines.filter((line) => !tableRule.test(line)).map((line) => cellsOf(line, screen));
    const bold = titles.map((title) => screen.style("bold", title));
    const all = [bold, ...rows];
    const widths = titles.map((title) => widthOf(title));
    for (const row of rows) {
      for (const [at, cell] of row.entries()) widths[at] = Math.max(widths[at] ?? 0, widthOf(cell));
    }
    const needed = widths.reduce((sum, width) => sum + width + 2, 0);
    if (needed <= this.#columns) {
      this.#write(`${screen.table(all, { isTitled: true })}\n`);
      return;
    }
    // Each row repeats them.
    const labels = bold.map((title) => `${screen.cut(title, this.#columns)}: `);
    for (const row of rows.length > 0 ? rows : [titles]) {
      for (const [at, cell] of row.entries()) {
        const label = rows.length > 0 ? (labels[at] ?? "") : "";
        for (const line of wrap(`  ${label}${cell}`, this.#columns)) this.#write(`${line}\n`);
      }
      this.#write("\n");
    }
  }

  #put(text: string): void {
    if (text === "") return;
    this.#write(text);
    this.#column += widthOf(text);
  }

  #breakLine(hang: string): void {
    this.#gap = "";
    this.#write(`\n${hang}`);
    this.#column = widthOf(hang);
  }

  #newLine(): void {
    this.#write("\n");
    this.#column = 0;
    this.#gap = "";
    this.#block = undefined;
  }

  get #columns(): number {
    return this.#screen.columns;
  }

  #dim(text: string): string {
    return this.#screen.style("dim", text);
  }
}

function indentOf(space = ""): string {
  return space.replaceAll("\t", "    ").slice(0, 12);
}

/** Returns the cells of a line of a table. */
function cellsOf(line: string, screen: Screen): string[] {
  const inner = line.trim().replace(/^\|/, "").replace(/\|$/, "");
  return inner.split(/(?<!\\)\|/).map((cell) => renderInline(cell.trim(), screen));
}

/** A marker that is not closed yet, other than a link. */
const openMarker = /`|\*\*|~~|(?<![\w*])\*(?=[^\s*])|(?<!\w)_{1,2}(?=[^\s_])/;

/** Returns where the complete words of an unfinished line end: after a blank that is outside of every marker. */
function endOfWords(line: string): number {
  // A word without an end is shown in pieces.
  if (line.length > maxInlineChars) return line.lastIndexOf(" ") + 1 || line.length;
  const outside = replaceMarkers(line, ({ start, end }) => "x".repeat(end - start));
  const open = [outside.search(openMarker), openLink(outside)].filter((at) => at >= 0);
  return outside.lastIndexOf(" ", Math.min(line.length, ...open)) + 1;
}

function replaceMarkers(line: string, replace: (marker: InlineMarker) => string): string {
  let text = "";
  let at = 0;
  for (const marker of inlineMarkers(line)) {
    text += line.slice(at, marker.start) + replace(marker);
    at = marker.end;
  }
  return text + line.slice(at);
}

/** Replaces inline markers by styles. An address is always shown: a link must not hide where it leads. */
function renderInline(line: string, screen: Screen): string {
  if (line.length > maxInlineChars || !hasStyles(screen)) return line;
  return replaceMarkers(line, ({ kind, text, address }) => {
    if (kind === "escape") return text;
    if (kind === "code") return screen.style("cyan", text.trim() || text);
    if (kind !== "link") return screen.style(kind, renderInline(text, screen));
    if (address === undefined || text === address || text === "") return address ?? text;
    return `${renderInline(text, screen)} (${screen.style("underline", address)})`;
  });
}

/** Without styles, the markers stay: Markdown is readable as it is. */
function hasStyles(screen: Screen): boolean {
  return screen.style("bold", "x") !== "x";
}
