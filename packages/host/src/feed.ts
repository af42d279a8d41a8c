import { maxUnreadEventChars, maxUnreadEvents } from "./limits.ts";

/** Options of `Feed`. */
export interface FeedOptions<E> {
  /** Unread events with the same key replace each other; events without a key are all kept. */
  readonly keyOf: (event: E) => string | undefined;
  /** Makes the event that replaces the dropped ones. */
  readonly lost: (count: number) => E;
  /** Returns the characters that an event occupies. */
  readonly sizeOf: (event: E) => number;
  /** Unread events kept for each reader. Default: 1,000. */
  readonly maxUnread?: number;
  /** Characters of the unread events kept for each reader. Default: 16 Mi. */
  readonly maxUnreadChars?: number;
  /** Called with true before the first reader reads, and with false after the last one has left. */
  readonly onReaders?: (hasReaders: boolean) => void;
}

interface UnreadEvent<E> {
  readonly event: E;
  readonly size: number;
}

/** Events for any number of readers. Each reader receives the events after it began; a slow one loses the oldest. */
export class Feed<E> {
  readonly #options: FeedOptions<E>;
  readonly #readers = new Set<Reader<E>>();
  /** True if an event would be read; others need not be made. */
  hasReaders = false;
  #isOver = false;

  constructor(options: FeedOptions<E>) {
    this.#options = options;
  }

  emit(event: E): void {
    for (const reader of this.#readers) reader.add(event);
  }

  /** Begins to read at once, not with the first `next`. */
  read(wants: (event: E) => boolean = () => true): AsyncIterableIterator<E> {
    const reader = new Reader(this.#options, wants, () => {
      this.#readers.delete(reader);
      this.#noteReaders();
    });
    if (this.#isOver) reader.end();
    else {
      this.#readers.add(reader);
      this.#noteReaders();
    }
    return reader;
  }

  /** Ends every reader after its unread events. */
  end(): void {
    this.#isOver = true;
    for (const reader of this.#readers) reader.end();
    this.#readers.clear();
    this.#noteReaders();
  }

  #noteReaders(): void {
    const hasReaders = this.#readers.size > 0;
    if (hasReaders === this.hasReaders) return;
    this.hasReaders = hasReaders;
    this.#options.onReaders?.(hasReaders);
  }
}

class Reader<E> implements AsyncIterableIterator<E> {
  readonly #options: FeedOptions<E>;
  readonly #wants: (event: E) => boolean;
  readonly #leave: () => void;
  readonly #unread = new Map<string | symbol, UnreadEvent<E>>();
  #chars = 0;
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
    const { keyOf, sizeOf, maxUnread = maxUnreadEvents, maxUnreadChars = maxUnreadEventChars } = this.#options;
    const key = keyOf(event);
    // Moved to the end, because the newest event comes last.
    if (key !== undefined) this.#remove(key);
    const size = sizeOf(event);
    for (const oldest of this.#unread.keys()) {
      if (this.#unread.size < maxUnread && this.#chars + size <= maxUnreadChars) break;
      this.#remove(oldest);
      this.#lost += 1;
    }
    this.#unread.set(key ?? Symbol(), { event, size });
    this.#chars += size;
  }

  #remove(key: string | symbol): void {
    this.#chars -= this.#unread.get(key)?.size ?? 0;
    this.#unread.delete(key);
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
    for (const [key, { event }] of this.#unread) {
      this.#remove(key);
      return Promise.resolve({ value: event, done: false });
    }
    if (this.#isOver) return Promise.resolve({ value: undefined, done: true });
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
    });
  }

  return(): Promise<IteratorResult<E>> {
    this.#leave();
    this.#unread.clear();
    this.#chars = 0;
    this.#lost = 0;
    this.end();
    return Promise.resolve({ value: undefined, done: true });
  }

  [Symbol.asyncIterator](): AsyncIterableIterator<E> {
    return this;
  }
}
