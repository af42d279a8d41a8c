import { styleText } from "node:util";
import { display, displayValue } from "portolan-host";
import type { System } from "../system.ts";
import { programWords } from "./program.ts";
import { isSequence, piecesOf, widthOf, wrap } from "./wrap.ts";

type Style = Parameters<typeof styleText>[0];

/** Symbols, each with a substitute for terminals that know only ASCII. */
const marks = {
  ok: ["✓", "+"],
  bad: ["✗", "x"],
  warn: ["!", "!"],
  tool: ["⚙", "*"],
  ask: ["◆", "?"],
  next: ["→", "->"],
  dot: ["·", "-"],
  more: ["…", "..."],
  change: ["⟳", "~"],
  bar: ["│", "|"],
  bullet: ["•", "*"],
  line: ["─", "-"],
} as const;

/** The frames of a spinner, with and without Unicode. */
const frames = ["⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏", "|/-\\"] as const;

/** Formats output: colours, symbols and tables for a terminal, plain text elsewhere. */
export class Screen {
  /** Standard output is a terminal. */
  readonly isTerminal: boolean;
  /** A person can answer: input and standard error are terminals, and this is no CI. */
  readonly isInteractive: boolean;
  /** The terminal knows no escape sequences. */
  readonly isDumb: boolean;
  readonly #system: System;
  readonly #hasColours: boolean;
  readonly #hasUnicode: boolean;
  #program: string | undefined;

  constructor(system: System, options: { readonly colour?: boolean } = {}) {
    const { stdin, stdout, stderr, env, platform } = system;
    this.#system = system;
    this.isDumb = env["TERM"] === "dumb";
    this.isTerminal = stdout.isTTY === true;
    this.isInteractive = stdin.isTTY === true && stderr.isTTY === true && env["CI"] === undefined;
    const wants = env["FORCE_COLOR"] !== undefined && env["FORCE_COLOR"] !== "0";
    const refuses = env["NO_COLOR"] !== undefined || this.isDumb || options.colour === false;
    this.#hasColours = !refuses && (wants || this.isTerminal);
    const locale = env["LC_ALL"] || env["LC_CTYPE"] || env["LANG"] || "";
    this.#hasUnicode = platform === "win32" ? env["WT_SESSION"] !== undefined : /utf-?8/i.test(locale);
  }

  /** The current width. */
  get columns(): number {
    const { stdout, env } = this.#system;
    // Some terminals report 0 columns when they do not know their width.
    return Math.max(20, stdout.columns || Number(env["COLUMNS"]) || 80);
  }

  style(style: Style, text: string): string {
    // Decided here: Node would look at its own terminal, not at the one given.
    return this.#hasColours ? styleText(style, text, { validateStream: false }) : text;
  }

  mark(name: keyof typeof marks): string {
    return marks[name][this.#hasUnicode ? 0 : 1];
  }

  /** Returns a frame of a spinner. */
  spinner(frame: number): string {
    const all = frames[this.#hasUnicode ? 0 : 1];
    return all.charAt(frame % all.length);
  }

  /** Escapes control and invisible characters in text from a server. */
  safe(text: string, options: { readonly lines?: "keep" | "escape" } = {}): string {
    const shown = display(text, options);
    return this.#hasUnicode ? shown : toAscii(shown);
  }

  /** Formats a next step: its command as the person can type it here. */
  step(text: string): string {
    this.#program ??= programWords(this.#system);
    return this.safe(text.replace(/(^|: |\w=\S+ )portolan(?= |$)/g, `$1${this.#program}`));
  }

  /** Formats a value as indented JSON, with control and invisible characters escaped. */
  json(value: unknown): string {
    const shown = displayValue(value);
    return this.#hasUnicode ? shown : toAscii(shown);
  }

  /**
   * Formats rows as aligned columns. If they are too wide, the widest columns are cut; if little would remain, each row
   * becomes several lines. With `isTitled` the first row is a heading.
   */
  table(rows: readonly (readonly string[])[], { isTitled = false, indent = 2 }: TableOptions = {}): string {
    const margin = " ".repeat(indent);
    const wanted: number[] = [];
    for (const row of rows) {
      for (const [at, cell] of row.entries()) wanted[at] = Math.max(wanted[at] ?? 0, widthOf(cell));
    }
    const room = this.columns - indent - 2 * (wanted.length - 1);
    const most = this.isTerminal ? maxColumnWidth(wanted, room) : Number.POSITIVE_INFINITY;
    if (most < minColumnWidth) {
      const lines = (row: readonly string[]) => wrapCells(row, this.columns - indent - 2);
      return (isTitled ? rows.slice(1) : rows).map((row) => `${margin}${lines(row).join(`\n${margin}  `)}`).join("\n");
    }
    const widths = wanted.map((width) => Math.min(width, most));
    return rows
      .map((row) => {
        const cells = row.map((cell, at) => {
          const shown = this.cut(cell, widths[at]);
          return at === row.length - 1 ? shown : shown + " ".repeat((widths[at] ?? 0) - widthOf(shown));
        });
        return `${margin}${cells.join("  ")}`.trimEnd();
      })
      .join("\n");
  }

  /** Cuts a line to the width of the terminal. In a pipe it stays whole. */
  cut(line: string, columns: number = this.columns): string {
    return this.isTerminal ? this.cutAlways(line, columns) : line;
  }

  /** Cuts a line, also if standard output is not the terminal that shows it. */
  cutAlways(line: string, columns: number): string {
    if (widthOf(line) <= columns) return line;
    const more = this.mark("more");
    const room = columns - widthOf(more);
    let width = 0;
    let isFull = false;
    let kept = "";
    for (const piece of piecesOf(line)) {
      // Escape sequences stay, so that colours end; combining characters of a cut letter go.
      if (isSequence(piece)) kept += piece;
      isFull ||= width + widthOf(piece) > room;
      if (isFull || isSequence(piece)) continue;
      width += widthOf(piece);
      kept += piece;
    }
    return kept + more;
  }
}

interface TableOptions {
  /** The first row is a heading. */
  readonly isTitled?: boolean;
  /** Columns before the table. Default: 2. */
  readonly indent?: number;
}

/** A narrower column is not readable. */
const minColumnWidth = 11;

/** Joins cells, and breaks lines between them if possible. */
function wrapCells(cells: readonly string[], columns: number): string[] {
  const fixed = cells.filter(Boolean).map((cell) => cell.replaceAll(" ", "\u00a0"));
  return wrap(fixed.join("  "), columns).map((line) => line.replaceAll("\u00a0", " "));
}

/** Returns the largest column width with which all columns fit. */
function maxColumnWidth(wanted: readonly number[], room: number): number {
  const fits = (most: number) => wanted.reduce((sum, width) => sum + Math.min(width, most), 0) <= room;
  // One cell may be very long.
  let most = Math.max(Math.min(Math.max(...wanted), room), minColumnWidth);
  while (most >= minColumnWidth && !fits(most)) most -= 1;
  return most;
}

function toAscii(text: string): string {
  return text
    .replaceAll("\u2026", "...")
    .replace(/[^\p{ASCII}]/gu, (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`);
}
