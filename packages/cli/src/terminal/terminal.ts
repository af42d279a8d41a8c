import type { System } from "../system.ts";
import { endsInPaste, QuestionDismissed, TypeAhead } from "./input.ts";
import type { Screen } from "./screen.ts";
import { Waits } from "./waits.ts";
import { listOf, widthOf, wrap } from "./wrap.ts";

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
  /** Is called with pasted text instead of adding it to the line. */
  readonly onPaste?: (text: string) => void;
  /** The input of this reader. Text typed ahead for one reader must not answer another. */
  readonly typed?: TypeAhead;
}

/** A choice of a question. The answer is its key, its word, or its whole label. */
export interface Choice<T> {
  /** One letter. Its case matters only if another choice has the same letter in the other case. */
  readonly key: string;
  /** The whole word for the letter, such as `yes`. */
  readonly word?: string;
  readonly label: string;
  readonly value: T;
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: this is what sequences begin with
const sequences = /\u001b\[[\d;]*[A-Za-z~]/g;

/** Cuts discarded input, which is only to be recognized. */
function cutTo(text: string): string {
  return text.length > 60 ? `${text.slice(0, 60)}…` : text;
}

/** After this many answers that are no choice, a question is dismissed. */
const maxAnswers = 10;

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
    const left = lines.length - maxLines;
    if (left > 0) {
      this.say(
        `  ${screen.style("dim", `${screen.mark("more")} ${left} more ${left === 1 ? "line" : "lines"}${hint}`)}`,
      );
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

  /**
   * Asks for one of several choices: a letter or a word, and Enter. Text that was typed before, or pasted, decides nothing.
   * Without a usable answer the question is dismissed in the end.
   */
  async choose<T>(choices: readonly Choice<T>[]): Promise<T> {
    const { stdin, stderr } = this.#system;
    this.#freshLine();
    // Loaded first: nothing may be typed between the question and its reader.
    const { readLine } = await import("./read-line.ts");
    const asking = { system: this.#system, screen: this.#screen, signal: this.#signal };
    let hasEnded = false;
    const ended = () => {
      hasEnded = true;
    };
    stdin.once("end", ended);
    try {
      for (let tries = 0; tries < maxAnswers; tries += 1) {
        const typed = new TypeAhead();
        const discarded = await this.#discardInput();
        typed.isPasting = endsInPaste(discarded);
        if (tries === 0) {
          stderr.write(this.#choiceLines(choices));
          // A line that was typed while a call ran is no answer, and would be lost without a sign.
          const line = discarded
            .replace(sequences, "")
            .replace(/\p{Cc}+/gu, " ")
            .trim();
          if (line !== "")
            this.say(
              `  ${this.#screen.style("dim", `not used, because it was typed before this question: ${this.#screen.safe(cutTo(line))}`)}`,
            );
        }
        let isPasted = false;
        const onPaste = () => {
          isPasted = true;
        };
        const answer = await readLine(asking, { prompt: "  Your choice, then Enter: ", typed, onPaste });
        // Text that arrives together with the end of the line was pasted, in a terminal that does not tell.
        isPasted ||= typed.ahead.trim() !== "";
        const chosen = isPasted ? undefined : choiceOf(choices, answer.trim());
        if (chosen) return chosen.value;
        const why = isPasted ? "Pasted text does not answer. " : "";
        this.say(
          `  ${why}Please answer with ${listOf(
            choices.map(({ key }) => key),
            "or",
          )}.`,
        );
      }
      this.say(`  No answer in ${maxAnswers} tries.`);
      throw new QuestionDismissed("cancel");
    } catch (reason) {
      if (hasEnded && reason instanceof QuestionDismissed) throw new QuestionDismissed("cancel");
      throw reason;
    } finally {
      this.#typed.drop();
      stdin.off("end", ended);
    }
  }

  /** Formats choices as lines: each letter before its meaning. */
  #choiceLines(choices: readonly Choice<unknown>[]): string {
    const screen = this.#screen;
    const shown = choices.map(({ key, label }) => `${screen.style("bold", key)} ${label}`);
    const room = this.columns - 5;
    const lines = joinPieces(shown, ` ${screen.mark("dot")} `, room).flatMap((line) => wrap(line, room));
    return lines.map((line) => `  ${line}\n`).join("");
  }

  /** Discards everything that was typed until now, and returns it. */
  async #discardInput(): Promise<string> {
    const { stdin } = this.#system;
    let discarded = "";
    const discard = (bytes: Buffer) => {
      discarded += bytes;
    };
    stdin.on("data", discard).setRawMode(true).resume();
    // After two rounds of the event loop, everything typed before has been read.
    for (let round = 0; round < 2; round += 1) await new Promise((resolve) => setImmediate(resolve));
    stdin.off("data", discard);
    return discarded;
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

/** Finds the choice that an answer names. */
function choiceOf<T>(choices: readonly Choice<T>[], answer: string): Choice<T> | undefined {
  const word = answer.toLowerCase();
  const byLetter = choices.filter(({ key }) => key.toLowerCase() === word);
  return (
    byLetter.find(({ key }) => key === answer) ??
    (byLetter.length === 1 ? byLetter[0] : undefined) ??
    choices.find(({ word: own, label }) => own === word || label.toLowerCase() === word)
  );
}
