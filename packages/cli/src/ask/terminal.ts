import type { Interface } from "node:readline";
import { type Screen, widthOf } from "../screen.ts";
import type { World } from "../world.ts";
import { wrap } from "./layout.ts";

/** The person has left a question without an answer: with Ctrl-C, or with Ctrl-D where input ends. */
export class Left extends Error {
  readonly how: "cancel" | "decline";

  constructor(how: "cancel" | "decline") {
    super(how === "cancel" ? "cancelled" : "declined");
    this.how = how;
  }
}

/** What completes a line: the proposals, and the part of the line that they stand for. */
export type Complete = (line: string) => Promise<readonly [proposals: readonly string[], part: string]>;

export interface LineOptions {
  readonly prompt?: string;
  /** What stands there to be changed. */
  readonly initial?: string;
  /** Nothing of it is shown. */
  readonly isSecret?: boolean;
  readonly complete?: Complete;
  /** The newest first. */
  readonly history?: readonly string[];
}

/** One key and what it means. */
export interface Choice<T> {
  readonly key: string;
  readonly label: string;
  readonly value: T;
}

/** The person at the terminal: asked one question at a time, on standard error. */
export class Terminal {
  readonly #world: World;
  readonly #screen: Screen;
  #turn: Promise<unknown> = Promise.resolve();
  #waiting = 0;
  #signal: AbortSignal | undefined;
  #isMidLine = false;

  constructor(world: World, screen: Screen) {
    this.#world = world;
    this.#screen = screen;
  }

  /** Whether somebody is asked right now: nothing else is to be written then. */
  get isAsking(): boolean {
    return this.#waiting > 0;
  }

  /** Resolves when nobody is asked any more. */
  async quiet(): Promise<void> {
    while (this.isAsking) await this.#turn;
  }

  get columns(): number {
    return Math.max(20, this.#world.stderr.columns ?? this.#screen.columns);
  }

  /** Waits until nobody else asks, then asks; the signal takes the question back. */
  ask<T>(signal: AbortSignal | undefined, work: () => Promise<T>): Promise<T> {
    this.#waiting += 1;
    const turn = this.#turn.then(async () => {
      signal?.throwIfAborted();
      this.#signal = signal;
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

  /** What the program itself says; may be styled. */
  say(text = ""): void {
    this.#freshLine();
    this.#world.stderr.write(
      `${text
        .split("\n")
        .flatMap((line) => wrap(line, this.columns))
        .join("\n")}\n`,
    );
  }

  /** What somebody else wrote, made visible, behind a bar that it cannot draw over; `maxLines` of it. */
  quote(text: string, maxLines?: number): void {
    this.bar(this.#screen.safe(text, { lines: "keep" }), maxLines);
  }

  /** A text that is safe to show, behind a bar. */
  bar(text: string, maxLines: number = Number.POSITIVE_INFINITY): void {
    const screen = this.#screen;
    const lines = wrap(text, this.columns - 5);
    for (const line of lines.slice(0, maxLines)) {
      this.#world.stderr.write(`  ${screen.style("dim", screen.mark("bar"))} ${line}\n`);
    }
    if (lines.length > maxLines) {
      this.say(`  ${screen.style("dim", `${screen.mark("more")} ${lines.length - maxLines} more lines`)}`);
    }
  }

  /** A piece of a text that comes bit by bit, on standard output. */
  stream(text: string): void {
    if (text === "") return;
    this.#world.stdout.write(text);
    this.#isMidLine = !text.endsWith("\n");
  }

  /** Ends the line of what came bit by bit. */
  endStream(): void {
    this.#freshLine();
  }

  #freshLine(): void {
    if (this.#isMidLine) this.#world.stdout.write("\n");
    this.#isMidLine = false;
  }

  /** One key of several; nothing that was typed before the question was seen counts. */
  async choose<T>(choices: readonly Choice<T>[]): Promise<T> {
    const { stdin, stderr } = this.#world;
    const screen = this.#screen;
    const { emitKeypressEvents } = await import("node:readline");
    emitKeypressEvents(stdin);
    const deaf = () => {};
    stdin.on("keypress", deaf).setRawMode(true).resume();
    try {
      // Two rounds of the event loop: whatever waits in the terminal has been read by then.
      for (let round = 0; round < 2; round += 1) await new Promise((resolve) => setImmediate(resolve));
      const shown = choices.map(({ key, label }) => `${screen.style("bold", key)} ${label}`);
      const lines = flow(shown, ` ${screen.mark("dot")} `, this.columns - 5);
      stderr.write(`${lines.map((line) => `  ${line}`).join("\n")} `);
      const chosen = await this.#key(choices);
      stderr.write(`${screen.style("cyan", chosen.key)}\n`);
      return chosen.value;
    } catch (reason) {
      stderr.write("\n");
      throw reason;
    } finally {
      stdin.off("keypress", deaf).setRawMode(false).pause();
    }
  }

  #key<T>(choices: readonly Choice<T>[]): Promise<Choice<T>> {
    const { stdin } = this.#world;
    const signal = this.#signal;
    return new Promise((resolve, reject) => {
      const settle = (how: () => void) => {
        stdin.off("keypress", pressed).off("end", ended);
        signal?.removeEventListener("abort", takenBack);
        how();
      };
      const pressed = (text: string | undefined, key: { name?: string; ctrl?: boolean }) => {
        if (key.ctrl && key.name === "c") settle(() => reject(new Left("cancel")));
        else if (key.ctrl && key.name === "d") settle(() => reject(new Left("decline")));
        const chosen = choices.find((choice) => choice.key === text);
        if (chosen) settle(() => resolve(chosen));
      };
      const ended = () => settle(() => reject(new Left("cancel")));
      const takenBack = () => settle(() => reject(signal?.reason));
      if (signal?.aborted) takenBack();
      else {
        stdin.on("keypress", pressed).once("end", ended);
        signal?.addEventListener("abort", takenBack, { once: true });
      }
    });
  }

  /** A line of text. */
  async line(options: LineOptions = {}): Promise<string> {
    const { prompt = "  > ", initial = "", isSecret = false, complete, history = [] } = options;
    const { stdin, stderr } = this.#world;
    const { createInterface } = await import("node:readline");
    const { Writable } = await import("node:stream");
    this.#freshLine();
    const lines = createInterface({
      input: stdin,
      output: isSecret ? new Writable({ write: (_chunk, _encoding, done) => done() }) : stderr,
      terminal: true,
      prompt: isSecret ? "" : prompt,
      history: isSecret ? [] : [...history],
      historySize: isSecret ? 0 : 200,
      ...(complete && {
        completer: (line: string, done: (error: null, result: [string[], string]) => void) => {
          // What cannot be completed is typed.
          const none: readonly [readonly string[], string] = [[], line];
          complete(line)
            .catch(() => none)
            .then(([proposals, part]) => done(null, [this.#showable(proposals), part]));
        },
      }),
    });
    try {
      // Not before: until now the terminal itself shows what is typed.
      if (isSecret) stderr.write(prompt);
      return await this.#read(lines, initial);
    } finally {
      lines.close();
      if (isSecret) stderr.write("\n");
    }
  }

  /** Proposals that can be shown as they are: the terminal gets them as they are. */
  #showable(proposals: readonly string[]): string[] {
    return proposals.filter((proposal) => this.#screen.safe(proposal) === proposal);
  }

  #read(lines: Interface, initial: string): Promise<string> {
    const { stderr } = this.#world;
    const signal = this.#signal;
    return new Promise((resolve, reject) => {
      const leave = (reason: unknown) => {
        stderr.write("\n");
        reject(reason);
      };
      const takenBack = () => leave(signal?.reason);
      if (signal?.aborted) return takenBack();
      signal?.addEventListener("abort", takenBack, { once: true });
      lines
        .on("line", resolve)
        .on("SIGINT", () => leave(new Left("cancel")))
        .on("close", () => {
          signal?.removeEventListener("abort", takenBack);
          reject(new Left("decline"));
        });
      lines.prompt();
      if (initial !== "") lines.write(initial);
    });
  }
}

/** Pieces one after another, on as many lines as they need. */
function flow(pieces: readonly string[], between: string, columns: number): string[] {
  const lines: string[] = [];
  for (const piece of pieces) {
    const last = lines.at(-1);
    const longer = `${last}${between}${piece}`;
    if (last !== undefined && widthOf(longer) <= columns) lines[lines.length - 1] = longer;
    else lines.push(piece);
  }
  return lines;
}
