import { styleText } from "node:util";
import { display, displayValue } from "portolan-host";
import type { System } from "../system.ts";
import { isSequence, piecesOf, widthOf, wrap } from "./wrap.ts";

type Style = Parameters<typeof styleText>[0];

/** The marks of the output, and what stands for them where a terminal knows only ASCII. */
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
} as const;

/** How output looks: on a terminal in colours and tables, in a pipe as JSON. */
export class Screen {
  /** Whether people look at it. */
  readonly isTerminal: boolean;
  /** Whether people can answer, too. */
  readonly isInteractive: boolean;
  /** Whether it knows no sequences: nothing is drawn twice on it. */
  readonly isDumb: boolean;
  readonly #system: System;
  readonly #hasColours: boolean;
  readonly #hasUnicode: boolean;

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

  /** How wide it is now. */
  get columns(): number {
    const { stdout, env } = this.#system;
    return Math.max(20, stdout.columns ?? (Number(env["COLUMNS"]) || 80));
  }

  style(style: Style, text: string): string {
    // Checked here: the terminal in question need not be the one that Node looks at.
    return this.#hasColours ? styleText(style, text, { validateStream: false }) : text;
  }

  mark(name: keyof typeof marks): string {
    return marks[name][this.#hasUnicode ? 0 : 1];
  }

  /** What a server wrote, with all that could hide made visible. */
  safe(text: string, options: { readonly lines?: "keep" | "escape" } = {}): string {
    const shown = display(text, options);
    return this.#hasUnicode ? shown : toAscii(shown);
  }

  /** Arguments, definitions and the like as indented JSON, with all that could hide made visible. */
  json(value: unknown): string {
    const shown = displayValue(value);
    return this.#hasUnicode ? shown : toAscii(shown);
  }

  /**
   * Rows in columns that line up, the first row being the titles where `isTitled` says so. Where they need more room than
   * there is, the widest are cut; where that would leave too little of them, each row is lines of its own.
   */
  table(rows: readonly (readonly string[])[], { isTitled = false, indent = 2 }: TableOptions = {}): string {
    const margin = " ".repeat(indent);
    const wanted: number[] = [];
    for (const row of rows) {
      for (const [at, cell] of row.entries()) wanted[at] = Math.max(wanted[at] ?? 0, widthOf(cell));
    }
    const room = this.columns - indent - 2 * (wanted.length - 1);
    const most = this.isTerminal ? widestOf(wanted, room) : Number.POSITIVE_INFINITY;
    if (most < leastColumn) {
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

  /** A line that does not break: what is too long ends with a mark. */
  cut(line: string, columns: number = this.columns): string {
    if (!this.isTerminal || widthOf(line) <= columns) return line;
    const more = this.mark("more");
    const room = columns - widthOf(more);
    let width = 0;
    let isFull = false;
    let kept = "";
    for (const piece of piecesOf(line)) {
      // Colours end behind the cut, too; marks that belong to a letter which is gone do not stay.
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
  /** The first row has the titles of the columns. */
  readonly isTitled?: boolean;
  /** How far from the edge, in columns. */
  readonly indent?: number;
}

/** A column of fewer says nothing. */
const leastColumn = 11;

/** Cells one after another, broken between them where that is possible. */
function wrapCells(cells: readonly string[], columns: number): string[] {
  const fixed = cells.filter(Boolean).map((cell) => cell.replaceAll(" ", "\u00a0"));
  return wrap(fixed.join("  "), columns).map((line) => line.replaceAll("\u00a0", " "));
}

/** How wide a column may be at most, so that all of them fit. */
function widestOf(wanted: readonly number[], room: number): number {
  const fits = (most: number) => wanted.reduce((sum, width) => sum + Math.min(width, most), 0) <= room;
  let most = Math.max(...wanted, leastColumn);
  while (most >= leastColumn && !fits(most)) most -= 1;
  return most;
}

function toAscii(text: string): string {
  return text
    .replaceAll("\u2026", "...")
    .replace(/[^\p{ASCII}]/gu, (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`);
}
