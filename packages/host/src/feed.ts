import { maxUnreadEvents } from "./limits.ts";
/** Options of `Feed`. */
export interface FeedOptions<E> {
  /** Unread events with the same key replace each other; events without a key are all kept. */
  readonly keyOf: (event: E) => string | undefined;
  /** Makes the event that replaces the dropped ones. */
  readonly lost: (count: number) => E;
  /** Unread events kept for each reader. Default: 1,000. */
  readonly maxUnread?: number;
}

/** Events for any number of readers. Each reader receives the events after it began; a slow one loses the oldest. */
export class Feed<E> {
  readonly #options: FeedOptions<E>;
  readonly #readers = new Set<Reader<E>>();
  #isOver = false;

  constructor(options: FeedOptions<E>) {
    this.#options = options;
  }

  /** True if an event would be read; others need not be made. */
  get hasReaders(): boolean {
    return this.#readers.size > 0;
  }

  emit(event: E): void {
    for (const reader of this.#readers) reader.add(event);
  }

  /** Begins to read at once, not with the first `next`. */
  read(wants: (event: E) => boolean = () => true): AsyncIterableIterator<E> {
    const reader = new Reader(this.#options, wants, () => this.#readers.delete(reader));
    if (this.#isOver) reader.end();
    else this.#readers.add(reader);
    return reader;
  }

  /** Ends every reader after its unread events. */
  end(): void {
    this.#isOver = true;
    for (const reader of this.#readers) reader.end();
    this.#readers.clear();
  }
}

class Reader<E> implements AsyncIterableIterator<E> {
  readonly #options: FeedOptions<E>;
  readonly #wants: (event: E) => boolean;
  readonly #leave: () => void;
  readonly #unread = new Map<string | symbol, E>();
  #lost = 0;
  #isOver = false;
  #waiting: ((result: IteratorResult<E>) => void)[] = [];

  constructor(options: FeedOptions<E>, wants: (event: E) => boolean, leave: () => void) {
    this.#options = options;
    this.#wants = wants;
    this.#leave = leave;
  }

  add(event: E): void {
    if (this.#isOver || !this.#wants(event)) return;
    const waiting = this.#waiting.shift();
    if (waiting) {
      waiting({ value: event, done: false });
      return;
    }
    const { keyOf, maxUnread = maxUnreadEvents } = this.#options;
    const key = keyOf(event);
    // Moved to the end, because the newest event comes last.
    if (key !== undefined) this.#unread.delete(key);
    if (this.#unread.size >= maxUnread) {
      const [oldest] = this.#unread.keys();
      if (oldest !== undefined) this.#unread.delete(oldest);
      this.#lost += 1;
    }
    this.#unread.set(key ?? Symbol(), event);
  }

  end(): void {
    this.#isOver = true;
    for (const waiting of this.#waiting.splice(0)) waiting({ value: undefined, done: true });
  }

  next(): Promise<IteratorResult<E>> {
    if (this.#lost > 0) {
      const value = this.#options.lost(this.#lost);
      this.#lost = 0;
      return Promise.resolve({ value, done: false });
    }
    for (const [key, value] of this.#unread) {
      this.#unread.delete(key);
      return Promise.resolve({ value, done: false });
    }
    if (this.#isOver) return Promise.resolve({ value: undefined, done: true });
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
    });
  }

  return(): Promise<IteratorResult<E>> {
    this.#leave();
    this.#unread.clear();
    this.#lost = 0;
    this.end();
    return Promise.resolve({ value: undefined, done: true });
  }

  [Symbol.asyncIterator](): AsyncIterableIterator<E> {
    return this;
  }
}
