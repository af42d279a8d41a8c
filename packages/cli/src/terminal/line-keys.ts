import { Readable } from "node:stream";
import { StringDecoder } from "node:string_decoder";
import { pasteEnd, pasteStart, type TypeAhead } from "./input.ts";

const backKey = "\u001b[Z";
const interruptKey = "\u0003";
/** Where reading stops: text after a line end belongs to the next reader; text after a tab waits for the completion. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: this is what sequences begin with
const turns = /\u001b\[200~|\r\n?|\n|\t/;

/** The escape sequence of one key, or one character. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: this is what sequences begin with
const singleKeys = /\u001b(?:\[[\d;]*[A-Za-z~]|O[A-Za-z]|[^\u001b])|[\s\S]/gu;

/** Input that is not a key of the line. */
export interface LineEvents {
  readonly pasted: (text: string) => void;
  /** Ctrl-C while keys wait for a completion. */
  readonly interrupted: () => void;
  /** Shift-Tab. */
  readonly back?: (() => void) | undefined;
}

/** The key stream of one line, up to its end, without pasted text. Later input stays in `typed`. */
export class LineKeys extends Readable {
  readonly #typed: TypeAhead;
  readonly #events: LineEvents;
  #isOver = false;

  constructor(typed: TypeAhead, events: LineEvents) {
    super();
    this.#typed = typed;
    this.#events = events;
    // Keys wait while a completion is pending.
    this.on("resume", () => setImmediate(() => this.#drain()));
  }

  override _read(): void {}

  receive(bytes: Buffer): void {
    this.#typed.decoder ??= new StringDecoder("utf8");
    // A terminal turns Ctrl-D into NUL when it is typed before anything reads.
    const text = this.#typed.decoder.write(bytes).replaceAll("\0", "\u0004");
    this.#typed.ahead += text;
    if (this.#events.back && !this.#typed.isPasting && text === backKey) {
      this.#typed.drop();
      this.#events.back();
      return;
    }
    this.#drain();
    // Ctrl-C works even while a completion is slow or a paste has no end.
    const waits = !this.#isOver && this.#typed.ahead !== "";
    if (waits && text.endsWith(interruptKey)) this.#events.interrupted();
  }

  #drain(): void {
    const typed = this.#typed;
    while (typed.ahead !== "" && !this.#isOver && !this.isPaused()) {
      if (typed.hasReturned && typed.ahead.startsWith("\n")) typed.ahead = typed.ahead.slice(1);
      typed.hasReturned = false;
      if (typed.isPasting ? !this.#takePaste() : !this.#takeKeys()) return;
    }
  }

  /** Returns false until the end of the paste arrives. */
  #takePaste(): boolean {
    const typed = this.#typed;
    const end = typed.ahead.indexOf(pasteEnd);
    if (end < 0) return false;
    const text = typed.ahead.slice(0, end);
    typed.ahead = typed.ahead.slice(end + pasteEnd.length);
    typed.isPasting = false;
    this.#events.pasted(plain(text));
    return true;
  }

  /** Returns false when nothing more can be taken. */
  #takeKeys(): boolean {
    const typed = this.#typed;
    const { ahead } = typed;
    const found = turns.exec(ahead);
    if (!found) {
      const until = ahead.length - heldBack(ahead);
      typed.ahead = ahead.slice(until);
      this.#pushKeys(ahead.slice(0, until));
      return false;
    }
    const [turn] = found;
    const before = ahead.slice(0, found.index);
    typed.ahead = ahead.slice(found.index + turn.length);
    typed.isPasting = turn === pasteStart;
    this.#isOver = !typed.isPasting && turn !== "\t";
    typed.hasReturned = turn === "\r";
    const keys = typed.isPasting ? before : `${before}${this.#isOver ? "\r" : turn}`;
    this.#pushKeys(keys);
    return true;
  }

  /** Pushes key by key: readline of Node.js 20 puts several characters at once into the wrong places of a line. */
  #pushKeys(keys: string): void {
    for (const key of keys.match(singleKeys) ?? []) this.push(key);
  }
}

/** Returns how many characters at the end may begin a paste sequence. A lone escape key does not. */
function heldBack(text: string): number {
  for (let length = pasteStart.length - 1; length > 1; length -= 1) {
    if (text.endsWith(pasteStart.slice(0, length))) return length;
  }
  return 0;
}

/** Removes control characters and trailing newlines from pasted text. */
function plain(text: string): string {
  const shown = text
    .replace(/\r\n?/g, "\n")
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not get through
    .replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, "");
  let end = shown.length;
  while (shown[end - 1] === "\n") end -= 1;
  return shown.slice(0, end);
}
