import { PortolanError } from "portolan";
import { charsOf } from "../api.ts";
import { maxKeptRunEventChars, maxKeptRunEvents, maxUnreadRunEventChars, maxUnreadRunEvents } from "../limits.ts";
import type { NumberedRunEvent, RunDone, RunEvent } from "./run.ts";

interface KeptEvent {
  readonly event: RunEvent;
  readonly size: number;
}

/**
 * The newest events of one run, by number. The run waits for the one reader of the iteration when that reader falls far
 * behind, and for none of `events()`.
 */
export class RunEventStream implements AsyncIterable<RunEvent> {
  readonly result: Promise<RunDone>;
  readonly #onLeft: () => void;
  readonly #kept = new Map<number, KeptEvent>();
  /** Characters of the kept events. */
  #chars = 0;
  /** The numbers of the oldest kept event and of the newest one. */
  #first = 1;
  #last = 0;
  /** The last event that the reader of the iteration has taken, and the characters of the later ones. */
  #taken = 0;
  #unreadChars = 0;
  #isIterated = false;
  /** True while the run waits for the reader of the iteration if necessary. */
  #isHeld = false;
  #isReleased = false;
  #isOver = false;
  /** Readers that wait for the next event. */
  readonly #readers = new Set<() => void>();
  /** Writers that wait for the reader of the iteration. */
  #writers: (() => void)[] = [];
  #finish: (done: RunDone) => void = () => {};

  /** `onLeft` is called when the reader of the iteration leaves before the end. */
  constructor(onLeft: () => void) {
    this.#onLeft = onLeft;
    this.result = new Promise((resolve) => {
      this.#finish = resolve;
    });
  }

  /** Resolves when there is room for the next event. */
  async emit(event: RunEvent): Promise<void> {
    if (this.#isOver) return;
    // Newer progress follows.
    if (this.#isFull && event.type === "tool" && event.stage === "progress") return;
    if (this.#isFull && event.type === "task" && event.how === "changed") return;
    const size = sizeOf(event);
    this.#last += 1;
    this.#kept.set(this.#last, { event, size });
    this.#chars += size;
    this.#unreadChars += size;
    if (event.type === "done") {
      this.#isOver = true;
      this.#finish(event);
    }
    this.#dropOldest();
    const waiting = [...this.#readers];
    this.#readers.clear();
    for (const wake of waiting) wake();
    if (this.#isFull && !this.#isOver) await new Promise<void>((resolve) => this.#writers.push(resolve));
  }

  /** Stops waiting for the reader, because the run ends. */
  release(): void {
    this.#isReleased = true;
    this.#isHeld = false;
    for (const wake of this.#writers.splice(0)) wake();
  }

  /** Returns the events after a number, for one reader of many. */
  events(after = 0): AsyncIterable<NumberedRunEvent> {
    if (!(Number.isInteger(after) && after >= 0 && after <= this.#last)) {
      const expected = `the number of an event of this run, at most ${this.#last}`;
      throw new PortolanError("invalid-argument", `events: expected ${expected}, got ${String(after)}`);
    }
    return { [Symbol.asyncIterator]: () => new RunEventReader(this, after) };
  }

  [Symbol.asyncIterator](): AsyncGenerator<RunEvent> {
    if (this.#isIterated) {
      throw new PortolanError(
        "invalid-argument",
        "run: expected one reader, got a second; iterate over the run only once, or read `run.events()`",
      );
    }
    this.#isIterated = true;
    return this.#iterate();
  }

  /** Returns the event after a number, or how many are lost before the oldest one; undefined if there is none yet. */
  after(number: number): NumberedRunEvent | undefined {
    const lost = this.#first - 1 - number;
    if (lost > 0) return { type: "lost", count: lost, seq: this.#first - 1 };
    const kept = this.#kept.get(number + 1);
    return kept && { ...kept.event, seq: number + 1 };
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /** Calls `wake` once, with the next event. */
  onNext(wake: () => void): void {
    this.#readers.add(wake);
  }

  forget(wake: () => void): void {
    this.#readers.delete(wake);
  }

  async *#iterate(): AsyncGenerator<RunEvent> {
    this.#isHeld = !this.#isReleased;
    try {
      for (;;) {
        yield* this.#takeAll();
        if (this.#taken < this.#last) continue;
        if (this.#isOver) return;
        await new Promise<void>((resolve) => this.onNext(resolve));
      }
    } finally {
      this.release();
      if (!this.#isOver) this.#onLeft();
    }
  }

  /** Takes what the reader of the iteration has not read, so that the run goes on. */
  #takeAll(): RunEvent[] {
    const lost = this.#first - 1 - this.#taken;
    const batch: RunEvent[] = lost > 0 ? [{ type: "lost", count: lost }] : [];
    for (let at = Math.max(this.#first, this.#taken + 1); at <= this.#last; at += 1) {
      const kept = this.#kept.get(at);
      if (kept) batch.push(kept.event);
    }
    this.#taken = this.#last;
    this.#unreadChars = 0;
    for (const wake of this.#writers.splice(0)) wake();
    return batch;
  }

  /** True if the run waits until the reader of the iteration has taken its events. */
  get #isFull(): boolean {
    if (!this.#isHeld) return false;
    return this.#last - this.#taken >= maxUnreadRunEvents || this.#unreadChars >= maxUnreadRunEventChars;
  }

  #dropOldest(): void {
    for (const [number, { size }] of this.#kept) {
      if (this.#kept.size <= maxKeptRunEvents && this.#chars <= maxKeptRunEventChars) return;
      // The last event is the result of the run.
      if (number === this.#last || (this.#isHeld && number > this.#taken)) return;
      this.#kept.delete(number);
      this.#chars -= size;
      this.#first = number + 1;
    }
  }
}

/** One reader of `events()`. */
class RunEventReader implements AsyncIterableIterator<NumberedRunEvent> {
  readonly #stream: RunEventStream;
  /** The number of the last event that was read. */
  #read: number;
  #hasLeft = false;
  readonly #wake = (): void => this.#deliver();
  #waiting: ((result: IteratorResult<NumberedRunEvent>) => void)[] = [];

  constructor(stream: RunEventStream, after: number) {
    this.#stream = stream;
    this.#read = after;
  }

  next(): Promise<IteratorResult<NumberedRunEvent>> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      this.#deliver();
    });
  }

  /** Ends this reader at once, also one that waits. */
  return(): Promise<IteratorResult<NumberedRunEvent>> {
    this.#hasLeft = true;
    this.#stream.forget(this.#wake);
    this.#deliver();
    return Promise.resolve({ value: undefined, done: true });
  }

  [Symbol.asyncIterator](): AsyncIterableIterator<NumberedRunEvent> {
    return this;
  }

  #deliver(): void {
    for (let resolve = this.#waiting[0]; resolve; resolve = this.#waiting[0]) {
      const value = this.#hasLeft ? undefined : this.#stream.after(this.#read);
      if (!value && !this.#hasLeft && !this.#stream.isOver) {
        this.#stream.onNext(this.#wake);
        return;
      }
      this.#waiting.shift();
      if (value) this.#read = value.seq;
      resolve(value ? { value, done: false } : { value: undefined, done: true });
    }
  }
}

/** Returns about how many characters an event occupies. */
function sizeOf(event: RunEvent): number {
  switch (event.type) {
    case "text":
    case "thinking":
      return event.delta.length;
    case "notice":
      return event.text.length;
    case "approval":
    case "question":
      return charsOf(event.question);
    case "tool":
      return sizeOfCall(event);
    default:
      return 0;
  }
}

function sizeOfCall(event: Extract<RunEvent, { type: "tool" }>): number {
  if (event.stage === "call") return charsOf(event.args);
  if (event.stage !== "result") return event.progress.message?.length ?? 0;
  const { content, structuredContent } = event.result;
  let chars = event.seen?.text.length ?? 0;
  if (structuredContent !== undefined) chars += charsOf(structuredContent);
  for (const block of content) {
    // A text or an image may be very long, so it is not written only to be measured.
    if (block.type === "text") chars += block.text.length;
    else chars += "data" in block ? block.data.length : charsOf(block);
  }
  return chars;
}
