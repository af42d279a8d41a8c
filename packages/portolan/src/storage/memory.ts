import { PortolanError } from "../errors.ts";
import { Expiring } from "./expiring-map.ts";
import { createMemoryLog } from "./memory-log.ts";
import type { Bus, KeyListOptions, KeyValue, KeyValueEntry, SetOptions, Storage } from "./storage.ts";

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
