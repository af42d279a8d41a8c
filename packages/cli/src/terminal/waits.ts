import type { System } from "../system.ts";
import type { Screen } from "./screen.ts";
import { widthOf } from "./wrap.ts";

/** Shorter waits are not shown. */
const quietMs = 300;
const frameMs = 100;

/** A wait on the screen. */
export interface Wait {
  /** Shows another text from now on. The elapsed time goes on. */
  say(what: string): void;
  /** Removes it from the screen. */
  end(): void;
}

/** Returns the lines to show. Called for each frame, with the elapsed time of the wait. */
export type DrawWait = (elapsedMs: number) => readonly string[];

/**
 * Shows what the program waits for, in the last lines of the terminal, on standard error: a spinner with the elapsed time
 * after 300 ms. The newest wait is shown. Everything else that is written calls `clear` first; the next frame draws the
 * wait below it. In a pipe, in CI and on a terminal without escape sequences nothing is drawn.
 */
export class Waits {
  /** False if nothing is ever drawn. */
  readonly isVisible: boolean;
  readonly #system: System;
  readonly #screen: Screen;
  readonly #isBusy: () => boolean;
  readonly #shown: { readonly draw: DrawWait; readonly since: number; readonly quietMs: number }[] = [];
  #drawn: readonly string[] = [];
  #timer: NodeJS.Timeout | undefined;
  #frame = 0;
  #release: () => void = () => {};

  /** `isBusy` is true while something else is on the last line, such as a question. */
  constructor(system: System, screen: Screen, isBusy: () => boolean) {
    this.#system = system;
    this.#screen = screen;
    this.#isBusy = isBusy;
    this.isVisible = system.stderr.isTTY === true && !screen.isDumb && system.env["CI"] === undefined;
  }

  /**
   * Shows a spinner, a text and the elapsed time. The text may be styled, and must be escaped. A function returns the
   * text of each frame.
   */
  start(what: string | (() => string)): Wait {
    let said = what;
    let shown = "";
    let shownSince = 0;
    const hint = ` ${this.#screen.mark("dot")} Ctrl-C cancels`;
    const end = this.draw((elapsedMs) => {
      const text = typeof said === "string" ? said : said();
      // Another text of a function is another wait.
      if (typeof said !== "string" && text !== shown) [shown, shownSince] = [text, shown === "" ? 0 : elapsedMs];
      const time = durationOf(elapsedMs - shownSince);
      const isWide = widthOf(`${text}${time}${hint}`) <= this.#room - 3;
      return [this.#line(text, isWide ? time + hint : time)];
    });
    return {
      say(next) {
        said = next;
      },
      end,
    };
  }

  /** Shows a wait while the work runs. */
  async during<T>(what: string, work: Promise<T>): Promise<T> {
    const wait = this.start(what);
    try {
      return await work;
    } finally {
      wait.end();
    }
  }

  /** Shows why something failed, and the seconds until it is tried again. It ends by itself. */
  countdown(why: string, pauseMs: number): void {
    const end = this.draw((elapsedMs) => {
      const seconds = Math.max(1, Math.ceil((pauseMs - elapsedMs) / 1_000));
      return [this.#line(why, `trying again in ${seconds} s`)];
    }, 0);
    // The wait for the next try keeps the program running, not this.
    setTimeout(end, pauseMs).unref();
  }

  /** Shows lines that change with time. Returns the function that removes them. */
  draw(draw: DrawWait, after: number = quietMs): () => void {
    if (!this.isVisible) return () => {};
    const wait = { draw, since: performance.now(), quietMs: after };
    this.#shown.push(wait);
    this.#timer ??= setInterval(() => this.#next(), frameMs);
    return () => {
      const at = this.#shown.indexOf(wait);
      if (at < 0) return;
      this.#shown.splice(at, 1);
      this.clear();
      if (this.#shown.length > 0) return;
      clearInterval(this.#timer);
      this.#timer = undefined;
    };
  }

  /** Removes all waits: the command has ended. */
  endAll(): void {
    this.#shown.length = 0;
    this.clear();
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /** The spinner of this frame. */
  get spinner(): string {
    return this.#screen.style("cyan", this.#screen.spinner(this.#frame));
  }

  /** Removes the lines from the screen, before something else is written. */
  clear(): void {
    if (this.#drawn.length === 0) return;
    // A narrower terminal has broken the lines since.
    const rowsOf = (line: string) => Math.max(1, Math.ceil(widthOf(line) / this.#columns));
    const rows = this.#drawn.reduce((sum, line) => sum + rowsOf(line), 0);
    // Line by line: some terminals keep what is erased with the rest of the screen in their scrollback.
    this.#system.stderr.write(`\r\u001b[K${"\u001b[1A\u001b[K".repeat(rows - 1)}`);
    this.#drawn = [];
    this.#release();
  }

  /** The width of the terminal. */
  get #columns(): number {
    return Math.max(20, this.#system.stderr.columns || this.#screen.columns);
  }

  /** The room for the last line. Its end stays free: the terminal shows `^C` there, and must not break the line. */
  get #room(): number {
    return this.#columns - 3;
  }

  /** Returns a line of a spinner, a text that is cut if necessary, and its end. */
  #line(text: string, end: string): string {
    const shown = this.#screen.cutAlways(text, Math.max(8, this.#room - widthOf(end) - 3));
    return `${this.spinner} ${shown} ${this.#screen.style("dim", end)}`;
  }

  #next(): void {
    const newest = this.#shown.at(-1);
    if (!newest || this.#isBusy()) return;
    const elapsedMs = performance.now() - newest.since;
    if (elapsedMs < newest.quietMs) return;
    this.#frame += 1;
    const all = newest.draw(elapsedMs);
    const lines = all.map((line, at) =>
      this.#screen.cutAlways(line, at === all.length - 1 ? this.#room : this.#columns),
    );
    this.clear();
    this.#system.stderr.write(lines.join("\n"));
    this.#drawn = lines;
    this.#release = this.#system.onExit(() => this.clear());
  }
}

/** Formats an elapsed time: `1.2 s`, `34 s`, `2 min 5 s`. */
export function durationOf(ms: number): string {
  if (ms < 9_950) return `${(ms / 1_000).toFixed(1)} s`;
  const seconds = Math.floor(ms / 1_000);
  return seconds < 60 ? `${seconds} s` : `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}
