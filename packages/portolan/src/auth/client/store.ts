import { ExpiringMap } from "../../storage/expiring-map.ts";
import type { Storage } from "../../storage/storage.ts";
import { KeyedMutex, withLease } from "./concurrency.ts";

/** Stores tokens and client registrations. Its content is secret. */
export interface CredentialStore {
  get(key: string): Promise<string | undefined>;
  /** Writes a value atomically; `undefined` deletes it. */
  set(key: string, value: string | undefined, options?: { readonly ttlMs?: number }): Promise<void>;
  /**
   * Runs `work` while no other work runs under the same key, in this process or in another one that shares the store.
   * A process that dies blocks others only for a limited time. Work must not call `exclusive` with its own key: it
   * would wait for itself.
   */
  exclusive<T>(key: string, work: () => Promise<T>, options?: ExclusiveOptions): Promise<T>;
}

/** How long exclusive work waits for another holder. */
export interface ExclusiveOptions {
  /** Default: 60,000. */
  readonly patienceMs?: number;
  /** Says what is waited for, to a person: "Another program is signing in at https://example.com". */
  readonly reason?: string;
}

/** Where a credential store keeps its keys in a storage. */
export interface StoreInOptions {
  /** Prefix of all keys. Default: `"credentials:"`. */
  readonly prefix?: string;
}

/** Creates a store in memory; it is gone when the process ends. */
export function memoryStore(): CredentialStore {
  const rows = new ExpiringMap<string>(() => performance.now());
  const mutex = new KeyedMutex();
  return {
    get: async (key) => rows.get(key),
    async set(key, value, { ttlMs } = {}) {
      if (value === undefined) rows.delete(key);
      else rows.set(key, value, ttlMs ?? "never");
    },
    exclusive: (key, work) => mutex.run(key, work),
  };
}

/**
 * Creates a store that all processes with the same storage share; everyone who can read the storage can read the
 * credentials. Exclusive work holds a lease of 30 seconds, which is renewed while the work runs.
 * A process that was suspended until its lease expired gets no error: its work is done, and an error would make it look
 * undone.
 */
export function storeIn(storage: Storage, options: StoreInOptions = {}): CredentialStore {
  const { prefix = "credentials:" } = options;
  const { kv } = storage;
  const mutex = new KeyedMutex();
  const rowOf = (key: string) => `${prefix}value:${key}`;
  return {
    get: (key) => kv.get(rowOf(key)),
    async set(key, value, setOptions = {}) {
      if (value === undefined) await kv.delete(rowOf(key));
      else await kv.set(rowOf(key), value, setOptions);
    },
    // The mutex comes first, so that at most one caller of each process competes for the lease.
    exclusive: (key, work, waiting) => mutex.run(key, () => withLease(storage, `${prefix}lease:${key}`, work, waiting)),
  };
}
