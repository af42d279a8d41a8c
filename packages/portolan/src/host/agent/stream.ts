import type { RunDone, RunEvent } from "./run.ts";

const maxUnread = 1_000;

/** The events of one run for one reader, whom the run waits for when it falls far behind. */
export class EventStream implements AsyncIterable<RunEvent> {
  readonly result: Promise<RunDone>;
  readonly #left: () => void;
  #unread: RunEvent[] = [];
  #isRead = false;
  #isOver = false;
  #wakeReader: () => void = () => {};
  #wakeWriter: () => void = () => {};
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
    this.#unread.push(event);
    if (event.type === "done") {
      this.#isOver = true;
      this.#finish(event);
    }
    this.#wakeReader();
    if (this.#unread.length < maxUnread) return;
    if (!this.#isRead) this.#unread.shift();
    else {
      await new Promise<void>((resolve) => {
        this.#wakeWriter = resolve;
      });
    }
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<RunEvent> {
    this.#isRead = true;
    try {
      for (;;) {
        const batch = this.#unread;
        this.#unread = [];
        this.#wakeWriter();
        yield* batch;
        if (this.#unread.length > 0) continue;
        if (this.#isOver) return;
        await new Promise<void>((resolve) => {
          this.#wakeReader = resolve;
        });
      }
    } finally {
      this.#wakeWriter();
      if (!this.#isOver) this.#left();
    }
  }
}
