import { maxUnreadEvents } from "./limits.ts";
/** How a feed treats readers that fall behind. */
export interface FeedOptions<E> {
  /** Events of one key replace each other while nobody has read them; those without one are all kept. */
  readonly keyOf: (event: E) => string | undefined;
  /** What a reader hears in place of the events it was too slow for. */
  readonly lost: (count: number) => E;
  /** How many unread events are kept for each reader; 1,000 unless said. */
  readonly maxUnread?: number;
}

/** Events for any number of readers, each of which hears all that happens after it began, as far as it keeps up. */
export class Feed<E> {
  readonly #options: FeedOptions<E>;
  readonly #readers = new Set<Reader<E>>();
  #isOver = false;

  constructor(options: FeedOptions<E>) {
    this.#options = options;
  }

  /** Whether anybody reads: what nobody reads need not be made. */
  get hasReaders(): boolean {
    return this.#readers.size > 0;
  }

  emit(event: E): void {
    for (const reader of this.#readers) reader.add(event);
  }

  /** Reading begins at once, not with the first `next`. */
  read(wants: (event: E) => boolean = () => true): AsyncIterableIterator<E> {
    const reader = new Reader(this.#options, wants, () => this.#readers.delete(reader));
    if (this.#isOver) reader.end();
    else this.#readers.add(reader);
    return reader;
  }

  /** Ends every reader after what it has not read yet. */
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
    // Moved to the end: what is told last happened last.
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
