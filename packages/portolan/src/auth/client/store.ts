import { Expiring } from "../../storage/expiring-map.ts";
import type { Storage } from "../../storage/storage.ts";
import { withLease } from "./lease.ts";
import { Turns } from "./turns.ts";

/** Keeps tokens and registrations; what it holds is secret. */
export interface CredentialStore {
  get(key: string): Promise<string | undefined>;
  /** Writes all or nothing; undefined deletes. */
  set(key: string, value: string | undefined, options?: { readonly ttlMs?: number }): Promise<void>;
  /**
   * Runs `work` while nobody else who shares the store, in this process or another one, runs work under the same key.
   * Whoever dies in the middle holds nobody up for long. Work that asks for its own key again waits for itself.
   */
  exclusive<T>(key: string, work: () => Promise<T>, options?: ExclusiveOptions): Promise<T>;
}

/** How long others are waited for. */
export interface ExclusiveOptions {
  /** In milliseconds; a minute unless said. */
  readonly patienceMs?: number;
}

/** How a store lies in a storage. */
export interface StoreInOptions {
  /** What its keys begin with; `"credentials:"` unless given. */
  readonly prefix?: string;
}

/** A store that is gone with the process. */
export function memoryStore(): CredentialStore {
  const rows = new Expiring<string>(Date.now);
  const turns = new Turns();
  return {
    get: async (key) => rows.get(key),
    async set(key, value, { ttlMs } = {}) {
      if (value === undefined) rows.delete(key);
      else rows.set(key, value, ttlMs ?? "never");
    },
    exclusive: (key, work) => turns.take(key, work),
  };
}

/**
 * A store that all processes with the same storage share; whoever can read the storage can read the credentials.
 * Exclusive work holds a lease of 30 s, which is renewed while it runs; others wait for it for a minute unless they say otherwise.
 * A process that stood still for so long that its lease ran out is not told: what its work did is done, and an error
 * would make it look undone.
 */
export function storeIn(storage: Storage, options: StoreInOptions = {}): CredentialStore {
  const { prefix = "credentials:" } = options;
  const { kv } = storage;
  const turns = new Turns();
  const rowOf = (key: string) => `${prefix}value:${key}`;
  return {
    get: (key) => kv.get(rowOf(key)),
    async set(key, value, setOptions = {}) {
      if (value === undefined) await kv.delete(rowOf(key));
      else await kv.set(rowOf(key), value, setOptions);
    },
    // In turns first, so that one process has at most one in the race for the lease.
    exclusive: (key, work, waiting) =>
      turns.take(key, () => withLease(storage, `${prefix}lease:${key}`, work, waiting)),
  };
}
