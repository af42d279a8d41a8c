import { PortolanError } from "../errors.ts";
import { Expiring } from "./expiring-map.ts";
import type {
  AppendOptions,
  Bus,
  FollowOptions,
  KeyListOptions,
  KeyValue,
  KeyValueEntry,
  Log,
  LogEntry,
  SetOptions,
  Storage,
} from "./storage.ts";

/** The bounds and the clock of a memory storage. */
export interface MemoryStorageOptions {
  /** Keys at once; 100,000 unless given. */
  readonly maxEntries?: number;
  /** Log entries at once, all logs together; 100,000 unless given. */
  readonly maxLogEntries?: number;
  /** Characters of log entries at once, all logs together; 64 Mi unless given. */
  readonly maxLogChars?: number;
  /** Milliseconds that only grow; `Date.now` unless given. */
  readonly now?: () => number;
}

/** Storage for one process: what is over a bound is refused with "limit-reached", what is due goes when next touched. */
export function createMemoryStorage(options: MemoryStorageOptions = {}): Storage {
  const { maxEntries = 100_000, maxLogEntries = 100_000, maxLogChars = 64 * 1024 * 1024, now = Date.now } = options;
  const log = createMemoryLog({ maxEntries: maxLogEntries, maxChars: maxLogChars }, now);
  return { kv: new MemoryKeyValue(maxEntries, now), log, bus: createMemoryBus() };
}

class MemoryKeyValue implements KeyValue {
  readonly #rows: Expiring<string>;
  readonly #maxEntries: number;

  constructor(maxEntries: number, now: () => number) {
    this.#rows = new Expiring(now);
    this.#maxEntries = maxEntries;
  }

  async get(key: string): Promise<string | undefined> {
    return this.#rows.get(key);
  }

  async set(key: string, value: string, options: SetOptions = {}): Promise<boolean> {
    const { ttlMs, expect } = options;
    const present = this.#rows.get(key);
    if (expect !== undefined && expect !== (present ?? null)) return false;
    if (present === undefined) this.#makeRoom();
    this.#rows.set(key, value, ttlMs ?? "never");
    return true;
  }

  async delete(key: string): Promise<void> {
    this.#rows.delete(key);
  }

  async list(prefix: string, options: KeyListOptions = {}): Promise<KeyValueEntry[]> {
    const { after, limit = 100 } = options;
    this.#rows.purge();
    const keys: string[] = [];
    for (const key of this.#rows.keys()) {
      if (key.startsWith(prefix) && (after === undefined || key > after)) keys.push(key);
    }
    const page: KeyValueEntry[] = [];
    for (const key of keys.sort().slice(0, limit)) {
      const value = this.#rows.get(key);
      if (value !== undefined) page.push({ key, value });
    }
    return page;
  }

  #makeRoom(): void {
    if (this.#rows.size < this.#maxEntries) return;
    this.#rows.purge();
    if (this.#rows.size < this.#maxEntries) return;
    throw new PortolanError(
      "limit-reached",
      `Memory storage: expected at most ${this.#maxEntries} keys; raise maxEntries, give values a ttlMs or delete them`,
    );
  }
}

interface Subscription {
  readonly hear: (value: string) => void;
}

function createMemoryBus(): Bus {
  const topics = new Map<string, Set<Subscription>>();
  return {
    async publish(topic, value) {
      for (const subscription of topics.get(topic) ?? []) {
        // Apart from the publisher and from each other: a listener that throws or publishes disturbs nobody's order.
        queueMicrotask(() => {
          if (topics.get(topic)?.has(subscription)) subscription.hear(value);
        });
      }
    },
    // In one process nothing gets lost, so the third argument is never called.
    async subscribe(topic, hear) {
      const subscription = { hear };
      const subscriptions = topics.get(topic) ?? new Set();
      topics.set(topic, subscriptions.add(subscription));
      return async () => {
        subscriptions.delete(subscription);
        if (subscriptions.size === 0 && topics.get(topic) === subscriptions) topics.delete(topic);
      };
    },
  };
}

/** How much all logs may hold together. */
export interface LogBounds {
  readonly maxEntries: number;
  readonly maxChars: number;
}

/** Logs in one process, bounded together. */
export function createMemoryLog(bounds: LogBounds, now: () => number): Log {
  return new MemoryLog(bounds, now);
}

interface Numbered extends LogEntry {
  readonly number: number;
}

class MemoryLog implements Log {
  readonly #logs: Expiring<Numbered[]>;
  readonly #bounds: LogBounds;
  readonly #waiting = new Map<string, Set<() => void>>();
  #count = 0;
  #chars = 0;
  #lastNumber = 0;

  constructor(bounds: LogBounds, now: () => number) {
    this.#logs = new Expiring(now, (entries) => this.#forget(entries));
    this.#bounds = bounds;
  }

  async append(key: string, value: string, options: AppendOptions = {}): Promise<string> {
    const { keep = Number.MAX_SAFE_INTEGER, ttlMs } = options;
    if (!Number.isSafeInteger(keep) || keep < 1) {
      throw new PortolanError("invalid-argument", `keep: expected a whole number above 0, got ${keep}`);
    }
    this.#makeRoom((this.#logs.get(key)?.length ?? 0) < keep ? 1 : 0, value.length);
    // Read again: making room may have dropped this very log.
    const entries = this.#logs.get(key) ?? [];
    this.#logs.set(key, entries, ttlMs ?? "as-before");
    this.#lastNumber += 1;
    const id = String(this.#lastNumber);
    entries.push({ id, value, number: this.#lastNumber });
    this.#count += 1;
    this.#chars += value.length;
    if (entries.length > keep) this.#forget(entries.splice(0, entries.length - keep));
    this.#wake(key);
    return id;
  }

  after(key: string, id: string, options: FollowOptions = {}): AsyncIterable<LogEntry> {
    const { follow = false } = options;
    return { [Symbol.asyncIterator]: () => new Reader(this, key, id, follow) };
  }

  async delete(key: string): Promise<void> {
    this.#logs.delete(key);
  }

  /** The first kept entry behind a number. */
  entryAfter(key: string, number: number): Numbered | undefined {
    const entries = this.#logs.get(key) ?? [];
    let low = 0;
    let high = entries.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((entries[middle]?.number ?? 0) > number) high = middle;
      else low = middle + 1;
    }
    return entries[low];
  }

  /** Calls `wake` once at the next append, unless the returned function is called first. */
  wait(key: string, wake: () => void): () => void {
    const waiting = this.#waiting.get(key) ?? new Set();
    this.#waiting.set(key, waiting.add(wake));
    return () => {
      waiting.delete(wake);
      if (waiting.size === 0 && this.#waiting.get(key) === waiting) this.#waiting.delete(key);
    };
  }

  #wake(key: string): void {
    const waiting = this.#waiting.get(key) ?? [];
    this.#waiting.delete(key);
    for (const wake of waiting) wake();
  }

  #forget(entries: readonly Numbered[]): void {
    this.#count -= entries.length;
    for (const { value } of entries) this.#chars -= value.length;
  }

  #makeRoom(entries: number, chars: number): void {
    if (this.#hasRoom(entries, chars)) return;
    this.#logs.purge();
    if (this.#hasRoom(entries, chars)) return;
    const { maxEntries, maxChars } = this.#bounds;
    throw new PortolanError(
      "limit-reached",
      `Memory storage: expected at most ${maxEntries} log entries of ${maxChars} characters together; raise maxLogEntries or maxLogChars, or append with keep or ttlMs`,
    );
  }

  #hasRoom(entries: number, chars: number): boolean {
    return this.#count + entries <= this.#bounds.maxEntries && this.#chars + chars <= this.#bounds.maxChars;
  }
}

/** Written by hand because a generator would queue `return` behind the very wait that it has to end. */
class Reader implements AsyncIterator<LogEntry> {
  readonly #log: MemoryLog;
  readonly #key: string;
  readonly #id: string;
  readonly #follow: boolean;
  #number: number | undefined;
  #isOver = false;
  #wake: (() => void) | undefined;
  #turn: Promise<unknown> = Promise.resolve();

  constructor(log: MemoryLog, key: string, id: string, follow: boolean) {
    this.#log = log;
    this.#key = key;
    this.#id = id;
    this.#follow = follow;
  }

  next(): Promise<IteratorResult<LogEntry>> {
    const read = () => this.#read();
    const turn = this.#turn.then(read, read);
    this.#turn = turn;
    return turn;
  }

  async return(): Promise<IteratorResult<LogEntry>> {
    this.#isOver = true;
    this.#wake?.();
    return { done: true, value: undefined };
  }

  async #read(): Promise<IteratorResult<LogEntry>> {
    while (!this.#isOver) {
      this.#number ??= this.#start();
      const entry = this.#log.entryAfter(this.#key, this.#number);
      if (entry !== undefined) {
        this.#number = entry.number;
        return { done: false, value: { id: entry.id, value: entry.value } };
      }
      if (this.#follow) await this.#appended();
      else this.#isOver = true;
    }
    return { done: true, value: undefined };
  }

  #start(): number {
    if (this.#id === "") return 0;
    const number = Number(this.#id);
    if (Number.isSafeInteger(number) && number > 0 && String(number) === this.#id) return number;
    this.#isOver = true;
    throw new PortolanError("invalid-argument", "Log: expected the id of an entry or an empty one, got another string");
  }

  async #appended(): Promise<void> {
    await new Promise<void>((resolve) => {
      const stopWaiting = this.#log.wait(this.#key, resolve);
      this.#wake = () => {
        stopWaiting();
        resolve();
      };
    });
    this.#wake = undefined;
  }
}
