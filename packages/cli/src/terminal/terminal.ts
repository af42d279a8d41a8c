import type { System } from "../system.ts";
import { QuestionDismissed, TypeAhead } from "./input.ts";
import type { Screen } from "./screen.ts";
import { Waits } from "./waits.ts";
import { widthOf, wrap } from "./wrap.ts";

/** Completes a line: returns proposals, and the part of the line that they replace. */
export type Completer = (line: string) => Promise<readonly [proposals: readonly string[], part: string]>;

export interface LineOptions {
  readonly prompt?: string;
  /** Text to edit. */
  readonly initial?: string;
  /** The input is not echoed. */
  readonly isSecret?: boolean;
  readonly complete?: Completer;
  /** Shift-Tab goes back to the previous field. */
  readonly hasBack?: boolean;
  /** Earlier lines, the newest first. */
  readonly history?: readonly string[];
  /** The input of this reader. Text typed ahead for one reader must not answer another. */
  readonly typed?: TypeAhead;
}

/** A key and its meaning. */
export interface Choice<T> {
  readonly key: string;
  readonly label: string;
  readonly value: T;
}

/** Asks the person at the terminal one question at a time, on standard error. */
export class Terminal {
  /** Shows what the program waits for. */
  readonly waits: Waits;
  readonly #system: System;
  readonly #screen: Screen;
  #turn: Promise<unknown> = Promise.resolve();
  #waiting = 0;
  #signal: AbortSignal | undefined;
  #isMidLine = false;
  /** Writes the text that a stream holds back. */
  #flushText = () => {};
  /** Input typed ahead for the current question. */
  #typed = new TypeAhead();

  constructor(system: System, screen: Screen) {
    this.#system = system;
    this.#screen = screen;
    this.waits = new Waits(system, screen, () => this.isAsking || this.#isMidLine);
  }

  /** True while a question is on the screen. Nothing else may be written then. */
  get isAsking(): boolean {
    return this.#waiting > 0;
  }

  /** Resolves when no question is on the screen. */
  async quiet(): Promise<void> {
    while (this.isAsking) await this.#turn;
  }

  get columns(): number {
    return Math.max(20, this.#system.stderr.columns ?? this.#screen.columns);
  }

  get rows(): number {
    return Math.max(10, this.#system.stderr.rows || 24);
  }

  /** Queues a question. `signal` withdraws it. */
  ask<T>(signal: AbortSignal | undefined, work: () => Promise<T>): Promise<T> {
    this.#waiting += 1;
    this.waits.clear();
    const turn = this.#turn.then(async () => {
      signal?.throwIfAborted();
      this.#signal = signal;
      this.#typed = new TypeAhead();
      this.#freshLine();
      return work();
    });
    this.#turn = turn.then(
      () => this.#end(),
      () => this.#end(),
    );
    return turn;
  }

  #end(): void {
    this.#waiting -= 1;
    this.#signal = undefined;
  }

  /** Writes text of the program, which may be styled. */
  say(text = ""): void {
    this.#freshLine();
    this.#system.stderr.write(
      `${text
        .split("\n")
        .flatMap((line) => wrap(line, this.columns))
        .join("\n")}\n`,
    );
  }

  /** Begins a question: a sentence with the name of the server in it. `before` and `after` may be styled. */
  heading(before: string, server: string, after: string): void {
    const screen = this.#screen;
    this.say();
    this.say(
      `${screen.style("yellow", screen.mark("ask"))} ${before}${screen.style("bold", screen.safe(server))}${after}`,
    );
  }

  /** Shows a warning within a question. */
  warn(text: string): void {
    this.say(`  ${this.#screen.style("red", this.#screen.mark("warn"))} ${this.#screen.safe(text)}`);
  }

  /** Writes text of a server behind a bar, escaped. At most `maxLines`. */
  quote(text: string, maxLines?: number): void {
    this.bar(this.#screen.safe(text, { lines: "keep" }), maxLines);
  }

  /** Writes text that is already safe behind a bar. */
  bar(text: string, maxLines: number = Number.POSITIVE_INFINITY, hint = ""): void {
    const screen = this.#screen;
    this.waits.clear();
    const lines = wrap(text, this.columns - 5);
    for (const line of lines.slice(0, maxLines)) {
      this.#system.stderr.write(`  ${screen.style("dim", screen.mark("bar"))} ${line}\n`);
    }
    if (lines.length > maxLines) {
      this.say(`  ${screen.style("dim", `${screen.mark("more")} ${lines.length - maxLines} more lines${hint}`)}`);
    }
  }

  /** Writes a piece of streamed text to standard output. */
  stream(text: string): void {
    if (text === "") return;
    this.waits.clear();
    this.#system.stdout.write(text);
    this.#isMidLine = !text.endsWith("\n");
  }

  /** Ends the line of streamed text. */
  endStream(): void {
    this.#freshLine();
  }

  /**
   * Calls `flush` before anything but the stream is written: text that it holds back comes before a question. Returns a
   * function that ends this.
   */
  holdText(flush: () => void): () => void {
    this.#flushText = flush;
    return () => {
      this.#flushText = () => {};
    };
  }

  #freshLine(): void {
    this.waits.clear();
    this.#flushText();
    if (this.#isMidLine) this.#system.stdout.write("\n");
    this.#isMidLine = false;
  }

  /** Waits for one of several keys. Keys typed before the question was shown do not count. */
  async choose<T>(choices: readonly Choice<T>[]): Promise<T> {
    const { stdin, stderr } = this.#system;
    const screen = this.#screen;
    const { emitKeypressEvents } = await import("node:readline");
    emitKeypressEvents(stdin);
    const ignore = () => {};
    stdin.on("keypress", ignore).setRawMode(true).resume();
    try {
      // After two rounds of the event loop, everything typed before has been read.
      for (let round = 0; round < 2; round += 1) await new Promise((resolve) => setImmediate(resolve));
      const shown = choices.map(({ key, label }) => `${screen.style("bold", key)} ${label}`);
      const room = this.columns - 5;
      const lines = joinPieces(shown, ` ${screen.mark("dot")} `, room).flatMap((line) => wrap(line, room));
      stderr.write(`${lines.map((line) => `  ${line}`).join("\n")} `);
      const chosen = await this.#key(choices);
      stderr.write(`${screen.style("cyan", chosen.key)}\n`);
      return chosen.value;
    } catch (reason) {
      stderr.write("\n");
      throw reason;
    } finally {
      stdin.off("keypress", ignore).setRawMode(false).pause();
    }
  }

  #key<T>(choices: readonly Choice<T>[]): Promise<Choice<T>> {
    const { stdin } = this.#system;
    const signal = this.#signal;
    return new Promise((resolve, reject) => {
      const settle = (how: () => void) => {
        stdin.off("keypress", pressed).off("end", ended);
        signal?.removeEventListener("abort", withdrawn);
        how();
      };
      const pressed = (text: string | undefined, key: { name?: string; ctrl?: boolean }) => {
        if (key.ctrl && key.name === "c") settle(() => reject(new QuestionDismissed("cancel")));
        else if (key.ctrl && key.name === "d") settle(() => reject(new QuestionDismissed("decline")));
        const chosen = choices.find((choice) => choice.key === text);
        if (chosen) settle(() => resolve(chosen));
      };
      const ended = () => settle(() => reject(new QuestionDismissed("cancel")));
      const withdrawn = () => settle(() => reject(signal?.reason));
      if (signal?.aborted) withdrawn();
      else {
        stdin.on("keypress", pressed).once("end", ended);
        signal?.addEventListener("abort", withdrawn, { once: true });
      }
    });
  }

  /** Reads a line, or several that were pasted. */
  async line(options: LineOptions = {}): Promise<string> {
    this.#freshLine();
    const { readLine } = await import("./read-line.ts");
    const asking = { system: this.#system, screen: this.#screen, signal: this.#signal };
    return readLine(asking, { typed: this.#typed, ...options });
  }
}

/** Joins pieces into as few lines as possible. */
function joinPieces(pieces: readonly string[], between: string, columns: number): string[] {
  const lines: string[] = [];
  for (const piece of pieces) {
    const last = lines.at(-1);
    const longer = `${last}${between}${piece}`;
    if (last !== undefined && widthOf(longer) <= columns) lines[lines.length - 1] = longer;
    else lines.push(piece);
  }
  return lines;
}
