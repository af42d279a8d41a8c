import { styleText } from "node:util";
import { display, displayValue } from "portolan/host";
import type { World } from "./world.ts";

type Style = Parameters<typeof styleText>[0];

const escapeCode = "\u001b";
/** What colours a text. */
const sequence = new RegExp(`${escapeCode}\\[[\\d;]*m`, "g");
const pieces = new RegExp(`${escapeCode}\\[[\\d;]*m|[^${escapeCode}]`, "gu");

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
  readonly #world: World;
  readonly #hasColours: boolean;
  readonly #hasUnicode: boolean;

  constructor(world: World, options: { readonly colour?: boolean } = {}) {
    const { stdin, stdout, stderr, env, platform } = world;
    this.#world = world;
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
    const { stdout, env } = this.#world;
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

  /** Rows in columns that line up; the last column takes what is left of the line. */
  table(rows: readonly (readonly string[])[], indent = 2): string {
    const widths: number[] = [];
    for (const row of rows) {
      for (const [at, cell] of row.entries()) widths[at] = Math.max(widths[at] ?? 0, widthOf(cell));
    }
    return rows
      .map((row) => {
        const cells = row.map((cell, at) =>
          at === row.length - 1 ? cell : cell + " ".repeat((widths[at] ?? 0) - widthOf(cell)),
        );
        return this.cut(`${" ".repeat(indent)}${cells.join("  ")}`.trimEnd());
      })
      .join("\n");
  }

  /** A line that does not break: what is too long ends with a mark. */
  cut(line: string, columns: number = this.columns): string {
    if (!this.isTerminal || widthOf(line) <= columns) return line;
    const more = this.mark("more");
    let width = 0;
    let kept = "";
    // Escape sequences take no room and must not be cut in two.
    for (const part of line.match(pieces) ?? []) {
      const isSequence = part.startsWith(escapeCode);
      if (!isSequence && width + widthOf(part) > columns - widthOf(more)) continue;
      if (!isSequence) width += widthOf(part);
      kept += part;
    }
    return kept + more;
  }
}

/** What takes no room: marks on other letters, and what joins signs to one. */
const isNothing = /[\p{Mn}\p{Me}\u200d]/u;
const isWide =
  /[\u1100-\u115f\u2e80-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe10-\ufe19\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{16fe0}-\u{18dff}\u{1aff0}-\u{1b2ff}\u{1d300}-\u{1d37f}\u{1f200}-\u{1f2ff}\u{20000}-\u{3fffd}]|\p{Emoji_Presentation}/u;

/** How many columns a text takes at most; wide characters take two, and terminals that join signs take fewer. */
export function widthOf(text: string): number {
  let width = 0;
  let last = 0;
  for (const character of text.replace(sequence, "")) {
    // Behind a narrow sign this asks for the coloured, wide one.
    if (character === "\ufe0f") width += last === 1 ? 1 : 0;
    if (isNothing.test(character)) continue;
    last = isWide.test(character) ? 2 : 1;
    width += last;
  }
  return width;
}

function toAscii(text: string): string {
  return text
    .replaceAll("\u2026", "...")
    .replace(/[^\p{ASCII}]/gu, (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`);
}
