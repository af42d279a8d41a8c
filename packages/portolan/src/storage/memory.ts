import { PortolanError } from "../errors.ts";
import { checkOptions, type OptionNames } from "../options.ts";
import { ExpiringMap } from "./expiring-map.ts";
import {
  defaultLimit,
  defaultMaxChars,
  defaultMaxEntries,
  defaultMaxLogChars,
  defaultMaxLogEntries,
} from "./limits.ts";
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

/** Options of `createMemoryStorage`. */
export interface MemoryStorageOptions {
  /** At most this many keys. Default: 100,000. */
  readonly maxEntries?: number;
  /** At most this many characters of keys and values together. Default: 256 Mi. */
  readonly maxChars?: number;
  /** At most this many log entries, all logs together. Default: 100,000. */
  readonly maxLogEntries?: number;
  /** At most this many characters of log entries, all logs together. Default: 64 Mi. */
  readonly maxLogChars?: number;
  /** A clock in milliseconds that never goes back. Default: `performance.now`. */
  readonly now?: () => number;
}

/** Creates a storage for one process. Writes beyond a limit reject with "limit-reached". */
export function createMemoryStorage(options: MemoryStorageOptions = {}): Storage {
  checkOptions(options, memoryStorageOptions, "createMemoryStorage");
  const { maxEntries = defaultMaxEntries, maxLogEntries = defaultMaxLogEntries } = options;
  const { maxChars = defaultMaxChars, maxLogChars = defaultMaxLogChars, now = () => performance.now() } = options;
  return {
    kv: new MemoryKeyValue({ maxEntries, maxChars }, now),
    log: new MemoryLog({ maxEntries: maxLogEntries, maxChars: maxLogChars }, now),
    bus: createMemoryBus(),
    isLocal: true,
  };
}

const memoryStorageOptions: OptionNames<MemoryStorageOptions> = {
  maxEntries: 1,
  maxChars: 1,
  maxLogEntries: 1,
  maxLogChars: 1,
  now: 1,
};

/** Values in memory. `write` and `remove` are the methods of the interface without a promise. */
export class MemoryKeyValue implements KeyValue {
  readonly #rows: ExpiringMap<string>;
  readonly #bounds: Bounds;
  #chars = 0;

  constructor(bounds: Bounds, now: () => number) {
    this.#rows = new ExpiringMap(now, (value, key) => {
      this.#chars -= key.length + value.length;
    });
    this.#bounds = bounds;
  }

  async get(key: string): Promise<string | undefined> {
    return this.#rows.get(key);
  }

  async set(key: string, value: string, options?: SetOptions): Promise<boolean> {
    return this.write(key, value, options);
  }

  write(key: string, value: string, options: SetOptions = {}): boolean {
    const { ttlMs, expect } = options;
    const present = this.#rows.get(key);
    if (expect !== undefined && expect !== (present ?? null)) return false;
    const added = value.length - (present === undefined ? -key.length : present.length);
    this.#makeRoom(present === undefined ? 1 : 0, added);
    this.#rows.set(key, value, ttlMs ?? "never");
    this.#chars += added;
    return true;
  }

  async delete(key: string): Promise<void> {
    this.remove(key);
  }

  remove(key: string): void {
    this.#rows.delete(key);
  }

  /** All values, and when they expire. */
  *rows(): Iterable<StoredRow<string>> {
    this.#rows.purge();
    yield* this.#rows.entries();
  }

  async list(prefix: string, options: KeyListOptions = {}): Promise<KeyValueEntry[]> {
    const { after, limit = defaultLimit } = options;
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

  #makeRoom(entries: number, chars: number): void {
    if (this.#hasRoom(entries, chars)) return;
    this.#rows.purge();
    if (this.#hasRoom(entries, chars)) return;
    const { maxEntries, maxChars } = this.#bounds;
    throw new PortolanError(
      "limit-reached",
      `The memory storage is full: it holds at most ${maxEntries} keys and ${maxChars} characters. Raise maxEntries or maxChars, give values a ttlMs, or delete some`,
    );
  }

  #hasRoom(entries: number, chars: number): boolean {
    const { maxEntries, maxChars } = this.#bounds;
    if (entries > 0 && this.#rows.size + entries > maxEntries) return false;
    return chars <= 0 || this.#chars + chars <= maxChars;
  }
}

/** A key, its value, and when it expires by the clock of the storage. */
export type StoredRow<V> = readonly [key: string, row: { readonly value: V; readonly expiresAt: number }];

/** The limits of all keys, or of all logs, together. */
interface Bounds {
  readonly maxEntries: number;
  readonly maxChars: number;
}

/** An entry of a log with the number that its id is made of. */
export interface Numbered extends LogEntry {
  readonly number: number;
}

/** Logs in memory. `add` and `drop` are the methods of the interface without a promise. */
export class MemoryLog implements Log {
  readonly #logs: ExpiringMap<Numbered[]>;
  readonly #bounds: Bounds;
  readonly #waiting = new Map<string, Set<() => void>>();
  #count = 0;
  #chars = 0;
  /** The number of the newest entry of all logs. */
  lastNumber = 0;

  constructor(bounds: Bounds, now: () => number) {
    this.#logs = new ExpiringMap(now, (entries) => this.#forget(entries));
    this.#bounds = bounds;
  }

  async append(key: string, value: string, options?: AppendOptions): Promise<string> {
    return this.add(key, value, options).id;
  }

  add(key: string, value: string, options: AppendOptions = {}): Numbered {
    const { keep = Number.MAX_SAFE_INTEGER, ttlMs } = options;
    if (!Number.isSafeInteger(keep) || keep < 1) {
      throw new PortolanError("invalid-argument", `keep: expected a whole number above 0, got ${keep}`);
    }
    this.#makeRoom((this.#logs.get(key)?.length ?? 0) < keep ? 1 : 0, value.length);
    // Read again: making room may have removed this log.
    const entries = this.#logs.get(key) ?? [];
    this.#logs.set(key, entries, ttlMs ?? "as-before");
    this.lastNumber += 1;
    const entry = { id: String(this.lastNumber), value, number: this.lastNumber };
    entries.push(entry);
    this.#count += 1;
    this.#chars += value.length;
    if (entries.length > keep) this.#forget(entries.splice(0, entries.length - keep));
    this.#wake(key);
    return entry;
  }

  after(key: string, id: string, options: FollowOptions = {}): AsyncIterable<LogEntry> {
    const { follow = false } = options;
    return { [Symbol.asyncIterator]: () => new LogReader(this, key, id, follow) };
  }

  async delete(key: string): Promise<void> {
    this.drop(key);
  }

  drop(key: string): void {
    this.#logs.delete(key);
  }

  /** Returns the newest entry of a log. */
  newest(key: string): Numbered | undefined {
    return this.#logs.get(key)?.at(-1);
  }

  /** All logs, and when they expire. */
  *rows(): Iterable<StoredRow<readonly Numbered[]>> {
    this.#logs.purge();
    yield* this.#logs.entries();
  }

  /** Returns the first entry after a number. */
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
      `The memory storage is full: its logs hold at most ${maxEntries} entries and ${maxChars} characters. Raise maxLogEntries or maxLogChars, or append with keep or ttlMs`,
    );
  }

  #hasRoom(entries: number, chars: number): boolean {
    return this.#count + entries <= this.#bounds.maxEntries && this.#chars + chars <= this.#bounds.maxChars;
  }
}

/** A reader of one log. It is no generator, which would queue `return` behind the wait that `return` has to end. */
class LogReader implements AsyncIterator<LogEntry> {
  readonly #log: MemoryLog;
  readonly #key: string;
  readonly #id: string;
  readonly #follow: boolean;
  #number: number | undefined;
  #isOver = false;
  #wake: (() => void) | undefined;
  #lastRead: Promise<unknown> = Promise.resolve();

  constructor(log: MemoryLog, key: string, id: string, follow: boolean) {
    this.#log = log;
    this.#key = key;
    this.#id = id;
    this.#follow = follow;
  }

  next(): Promise<IteratorResult<LogEntry>> {
    const read = () => this.#read();
    const result = this.#lastRead.then(read, read);
    this.#lastRead = result;
    return result;
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
    throw new PortolanError(
      "invalid-argument",
      "Log: expected the id of an entry or an empty string, got another string",
    );
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

interface Subscription {
  readonly receive: (value: string) => void;
}

export function createMemoryBus(): Bus {
  const topics = new Map<string, Set<Subscription>>();
  return {
    async publish(topic, value) {
      for (const subscription of topics.get(topic) ?? []) {
        // Each in a microtask: a subscriber that throws or publishes does not affect the others or the publisher.
        queueMicrotask(() => {
          if (topics.get(topic)?.has(subscription)) subscription.receive(value);
        });
      }
    },
    // In one process no message gets lost, so the third argument is never called.
    async subscribe(topic, receive) {
      const subscription = { receive };
      const subscriptions = topics.get(topic) ?? new Set();
      topics.set(topic, subscriptions.add(subscription));
      return async () => {
        subscriptions.delete(subscription);
        if (subscriptions.size === 0 && topics.get(topic) === subscriptions) topics.delete(topic);
      };
    },
  };
}
