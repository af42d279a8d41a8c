import { PortolanError } from "../../errors.ts";
import type { RunDone, RunEvent } from "./run.ts";

const maxUnread = 1_000;

/** The events of one run for one reader, whom the run waits for when it falls far behind. */
export class EventStream implements AsyncIterable<RunEvent> {
  readonly result: Promise<RunDone>;
  readonly #left: () => void;
  #unread: RunEvent[] = [];
  #isTaken = false;
  #isRead = false;
  #isOver = false;
  #isReleased = false;
  #wakeReader: () => void = () => {};
  /** Those who wait for room. */
  #writers: (() => void)[] = [];
  #finish: (done: RunDone) => void = () => {};

  /** `left` is called when the reader leaves before the end. */
  constructor(left: () => void) {
    this.#left = left;
    this.result = new Promise((resolve) => {
      this.#finish = resolve;
    });
  }

  /** Resolves when there is room for more; what nobody reads is not kept. */
  async tell(event: RunEvent): Promise<void> {
    if (this.#isOver) return;
    const isFull = this.#unread.length >= maxUnread;
    // There is always newer progress.
    if (isFull && event.type === "tool" && event.stage === "progress") return;
    this.#unread.push(event);
    if (event.type === "done") {
      this.#isOver = true;
      this.#finish(event);
    }
    this.#wakeReader();
    if (this.#unread.length < maxUnread || this.#isReleased || this.#isOver) return;
    if (!this.#isRead) this.#unread.shift();
    else await new Promise<void>((resolve) => this.#writers.push(resolve));
  }

  /** The reader is waited for no longer: the run is to end. */
  release(): void {
    this.#isReleased = true;
    this.#wakeWriters();
  }

  [Symbol.asyncIterator](): AsyncGenerator<RunEvent> {
    if (this.#isTaken) {
      throw new PortolanError("invalid-argument", "run: its events are read already; they are for one reader");
    }
    this.#isTaken = true;
    return this.#read();
  }

  async *#read(): AsyncGenerator<RunEvent> {
    this.#isRead = true;
    try {
      for (;;) {
        const batch = this.#unread;
        this.#unread = [];
        this.#wakeWriters();
        yield* batch;
        if (this.#unread.length > 0) continue;
        if (this.#isOver) return;
        await new Promise<void>((resolve) => {
          this.#wakeReader = resolve;
        });
      }
    } finally {
      this.release();
      if (!this.#isOver) this.#left();
    }
  }

  #wakeWriters(): void {
    for (const wake of this.#writers.splice(0)) wake();
  }
}
