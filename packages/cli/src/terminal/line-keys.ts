import { Readable } from "node:stream";
import { StringDecoder } from "node:string_decoder";
import type { TypeAhead } from "./input.ts";

/** Around what is pasted, where the terminal was asked to say so. */
const pasteStart = "\u001b[200~";
const pasteEnd = "\u001b[201~";
const backKey = "\u001b[Z";
const interruptKey = "\u0003";
/** After each of them, what follows is for somebody else, or for the line as it is when a completion has come. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: this is what sequences begin with
const turns = /\u001b\[200~|\r\n?|\n|\t/;

/** What is no key. */
export interface LineEvents {
  readonly pasted: (text: string) => void;
  /** Ctrl-C, while keys wait for something else. */
  readonly interrupted: () => void;
  /** Shift-Tab. */
  readonly back?: (() => void) | undefined;
}

/** Where the keys of one line come from: up to its end, with what was pasted apart; what is behind it stays in `typed`. */
export class LineKeys extends Readable {
  readonly #typed: TypeAhead;
  readonly #events: LineEvents;
  #isPasting = false;
  #isOver = false;

  constructor(typed: TypeAhead, events: LineEvents) {
    super();
    this.#typed = typed;
    this.#events = events;
    // While a completion is waited for, keys wait, too.
    this.on("resume", () => setImmediate(() => this.#drain()));
  }

  override _read(): void {}

  hear(bytes: Buffer): void {
    this.#typed.decoder ??= new StringDecoder("utf8");
    // What Ctrl-D is turned into when it is typed before anybody reads.
    const text = this.#typed.decoder.write(bytes).replaceAll("\0", "\u0004");
    this.#typed.ahead += text;
    if (this.#events.back && !this.#isPasting && text === backKey) {
      this.#typed.drop();
      this.#events.back();
      return;
    }
    this.#drain();
    // Neither a server that is slow to complete nor a paste without an end holds anybody.
    const waits = !this.#isOver && this.#typed.ahead !== "";
    if (waits && text.endsWith(interruptKey)) this.#events.interrupted();
  }

  #drain(): void {
    const typed = this.#typed;
    while (typed.ahead !== "" && !this.#isOver && !this.isPaused()) {
      if (typed.hasReturned && typed.ahead.startsWith("\n")) typed.ahead = typed.ahead.slice(1);
      typed.hasReturned = false;
      if (this.#isPasting ? !this.#takePaste() : !this.#takeKeys()) return;
    }
  }

  /** False while the end of what is pasted has not come. */
  #takePaste(): boolean {
    const typed = this.#typed;
    const end = typed.ahead.indexOf(pasteEnd);
    if (end < 0) return false;
    const text = typed.ahead.slice(0, end);
    typed.ahead = typed.ahead.slice(end + pasteEnd.length);
    this.#isPasting = false;
    this.#events.pasted(plain(text));
    return true;
  }

  /** False when nothing more can be taken before something comes. */
  #takeKeys(): boolean {
    const typed = this.#typed;
    const { ahead } = typed;
    const found = turns.exec(ahead);
    if (!found) {
      const until = ahead.length - heldBack(ahead);
      typed.ahead = ahead.slice(until);
      if (until > 0) this.push(ahead.slice(0, until));
      return false;
    }
    const [turn] = found;
    const before = ahead.slice(0, found.index);
    typed.ahead = ahead.slice(found.index + turn.length);
    this.#isPasting = turn === pasteStart;
    this.#isOver = !this.#isPasting && turn !== "\t";
    typed.hasReturned = turn === "\r";
    const keys = this.#isPasting ? before : `${before}${this.#isOver ? "\r" : turn}`;
    if (keys !== "") this.push(keys);
    return true;
  }
}

/** How much of the end may be the beginning of a mark; the escape key alone is none. */
function heldBack(text: string): number {
  for (let length = pasteStart.length - 1; length > 1; length -= 1) {
    if (text.endsWith(pasteStart.slice(0, length))) return length;
  }
  return 0;
}

/** What was pasted without what would do something to the terminal, and without the ends of its last line. */
function plain(text: string): string {
  return (
    text
      .replace(/\r\n?/g, "\n")
      // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not get through
      .replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, "")
      .replace(/\n+$/, "")
  );
}
