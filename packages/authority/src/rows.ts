import { randomUUID } from "node:crypto";
import { PortolanError } from "portolan";
import { createSealer, type Sealer, type Storage, sha256 } from "portolan/storage";
import { keyLifetimeMs, lockMs, lockRetryMs, maxWriteAttempts } from "./limits.ts";

/** A value with compare-and-set. */
export interface Row<T> {
  readonly value: T;
  /** Sealed with the secret that this process seals with. */
  readonly isSealedWithFirst: boolean;
  /** Replaces the value. Resolves to `undefined` if the row has changed since it was read. Default `ttlMs`: the present expiry. */
  replace(value: T, ttlMs?: number): Promise<Row<T> | undefined>;
}

/** The sealed text of a row. */
interface Stored<T> {
  readonly value: T;
  /** Milliseconds since the epoch. */
  readonly until: number;
}

/** A row that this process cannot open, because it does not have the secret that sealed it. */
export class UnknownSecretError extends PortolanError {
  /** Names the secret, without telling anything about it. */
  readonly keyId: string;

  constructor(keyId: string, what: string) {
    super("invalid-argument", `secrets: none opens a stored row, which was sealed with key ${keyId}. ${what} ${steps}`);
    this.keyId = keyId;
  }
}

const steps =
  "To change a secret: 1. append the new one to `secrets` in every process; 2. move it to the front in every process; 3. remove the old one.";

/** Receives rows that were found in the storage, but cannot be used. */
export interface RowReports {
  unknownSecret(error: UnknownSecretError): void;
  /** A row has expired by the clock of this process, although the storage still has it. */
  expired(): void;
}

const silent: RowReports = { unknownSecret: () => {}, expired: () => {} };

const purpose = "authority-row";
const taken = "taken";
const takenMs = 60_000;
/** A sealed text begins with its version and the id of its key (6 bytes). */
const keyIdIn = (sealed: string): string => sealed.slice(3, 11);

/** The stored data of an authority: sealed values under hashed keys, each with an expiry. */
export class Rows {
  /** The storage; its failures are remembered. */
  readonly storage: Storage;
  /** The id of the key that seals. */
  readonly keyId: string;
  readonly #sealer: Sealer;
  readonly #prefix: string;
  readonly #reports: RowReports;
  readonly #failures = new WeakSet<object>();

  private constructor(storage: Storage, sealer: Sealer, prefix: string, keyId: string, reports: RowReports) {
    this.storage = remembering(storage, this.#failures);
    this.#sealer = sealer;
    this.#prefix = prefix;
    this.keyId = keyId;
    this.#reports = reports;
  }

  /** Creates the rows of one issuer; others may share the storage. */
  static async of(
    issuer: string,
    storage: Storage,
    secrets: readonly string[],
    reports: RowReports = silent,
  ): Promise<Rows> {
    const sealer = createSealer({ secrets });
    const keyId = keyIdIn(await sealer.seal("", { purpose, binding: "", ttlMs: 1 }));
    const prefix = `authority/${(await sha256(issuer)).slice(0, 16)}`;
    const rows = new Rows(storage, sealer, prefix, keyId, reports);
    // Written once: tells processes that do not have this secret whether it is newer than theirs, or was removed.
    const since = String(Date.now());
    await rows.storage.kv.set(rows.#sinceKeyOf(keyId), since, { ttlMs: keyLifetimeMs, expect: null });
    return rows;
  }

  /** True if the storage has failed with this error. */
  isStorageFailure(error: unknown): boolean {
    return typeof error === "object" && error !== null && this.#failures.has(error);
  }

  /** Returns the key of a row. Ids are often secrets, so the key contains their digests only. */
  async keyOf(kind: string, ...ids: readonly string[]): Promise<string> {
    const digests = await Promise.all(ids.map(sha256));
    return [this.#prefix, kind, ...digests].join("/");
  }

  async get<T>(key: string): Promise<T | undefined> {
    return (await this.read<T>(key))?.value;
  }

  async read<T>(key: string): Promise<Row<T> | undefined> {
    const text = await this.storage.kv.get(key);
    const stored = text === undefined ? undefined : await this.#open<T>(key, text);
    return text === undefined || stored === undefined ? undefined : this.#toRow(key, text, stored);
  }

  #toRow<T>(key: string, text: string, { value, until }: Stored<T>): Row<T> {
    const replace = async (next: T, ttlMs = until - Date.now()): Promise<Row<T> | undefined> => {
      if (ttlMs <= 0) return undefined;
      const stored: Stored<T> = { value: next, until: Date.now() + ttlMs };
      const sealed = await this.#seal(key, next, ttlMs);
      const isReplaced = await this.storage.kv.set(key, sealed, { ttlMs, expect: text });
      return isReplaced ? this.#toRow(key, sealed, stored) : undefined;
    };
    return { value, isSealedWithFirst: keyIdIn(text) === this.keyId, replace };
  }

  async set(key: string, value: unknown, ttlMs: number): Promise<void> {
    await this.storage.kv.set(key, await this.#seal(key, value, ttlMs), { ttlMs });
  }

  /** Writes a row if there is none yet. Resolves to true if it was written. */
  async add(key: string, value: unknown, ttlMs: number): Promise<boolean> {
    return this.storage.kv.set(key, await this.#seal(key, value, ttlMs), { ttlMs, expect: null });
  }

  /** Writes a row if there is none that can be opened: one of a removed secret is replaced. Resolves to true if written. */
  async addOrReplaceUnreadable(key: string, value: unknown, ttlMs: number): Promise<boolean> {
    if (await this.add(key, value, ttlMs)) return true;
    const text = await this.storage.kv.get(key);
    if (text === undefined || (await this.#open(key, text)) !== undefined) return false;
    return this.storage.kv.set(key, await this.#seal(key, value, ttlMs), { ttlMs, expect: text });
  }

  /** Writes a row, unless `take` or `discard` removed it within the last minute: what has ended does not begin again. */
  async setUnlessTaken(key: string, value: unknown, ttlMs: number): Promise<void> {
    const sealed = await this.#seal(key, value, ttlMs);
    for (let tries = 0; tries < maxWriteAttempts; tries += 1) {
      const text = await this.storage.kv.get(key);
      if (text === taken || (await this.storage.kv.set(key, sealed, { ttlMs, expect: text ?? null }))) return;
    }
    // Others wrote the row at the same time, again and again: the last one counts.
  }

  /** Reads and removes a value, for one caller only. */
  async take<T>(key: string): Promise<T | undefined> {
    const text = await this.storage.kv.get(key);
    const stored = text === undefined ? undefined : await this.#open<T>(key, text);
    if (text === undefined || stored === undefined) return undefined;
    const isMine = await this.storage.kv.set(key, taken, { ttlMs: takenMs, expect: text });
    return isMine ? stored.value : undefined;
  }

  /** Removes a value. For a minute, `wasTaken` tells that there was one. */
  async discard(key: string): Promise<void> {
    // A full storage may still delete.
    await this.storage.kv.set(key, taken, { ttlMs: takenMs }).catch(() => this.storage.kv.delete(key));
  }

  /** Resolves to true if the value was removed within the last minute, by `take` or `discard`. */
  async wasTaken(key: string): Promise<boolean> {
    return (await this.storage.kv.get(key)) === taken;
  }

  async delete(key: string): Promise<void> {
    await this.storage.kv.delete(key);
  }

  /** Lists the rows below a key, with their keys. Throws after the last one if the secret of another one is missing here. */
  async *below<T>(key: string): AsyncGenerator<{ readonly key: string; readonly value: T }> {
    let after: string | undefined;
    let unknown: UnknownSecretError | undefined;
    for (;;) {
      const page = await this.storage.kv.list(`${key}/`, after === undefined ? {} : { after });
      for (const entry of page) {
        const stored = await this.#open<T>(entry.key, entry.value).catch((error) => {
          if (!(error instanceof UnknownSecretError)) throw error;
          unknown ??= error;
          return undefined;
        });
        if (stored) yield { key: entry.key, value: stored.value };
      }
      after = page.at(-1)?.key;
      if (after !== undefined) continue;
      if (unknown) throw unknown;
      return;
    }
  }

  /** Throws an `UnknownSecretError` if another process seals with the key of this id, which is newer than the one here. */
  async checkKey(keyId: string): Promise<void> {
    const [theirs, ours = "0"] = await Promise.all(
      [keyId, this.keyId].map((id) => this.storage.kv.get(this.#sinceKeyOf(id))),
    );
    if (theirs === undefined || Number(theirs) <= Number(ours)) return;
    const what =
      "Another process seals with a secret that this process does not have: requests that need such rows get status 503 here.";
    throw this.#report(keyId, what);
  }

  #report(keyId: string, what: string): UnknownSecretError {
    const error = new UnknownSecretError(keyId, what);
    this.#reports.unknownSecret(error);
    return error;
  }

  #sinceKeyOf(keyId: string): string {
    return `${this.#prefix}/sealing-since/${keyId}`;
  }

  async #seal(key: string, value: unknown, ttlMs: number): Promise<string> {
    const text = JSON.stringify({ value, until: Date.now() + ttlMs });
    return this.#sealer.seal(text, { purpose, binding: key, ttlMs });
  }

  async #open<T>(key: string, text: string): Promise<Stored<T> | undefined> {
    const opened = await this.#sealer.open(text, { purpose, binding: key });
    if (opened.ok) return JSON.parse(opened.value) as Stored<T>;
    if (opened.reason === "unknown-key") {
      await this.checkKey(keyIdIn(text));
      const what =
        "That secret was removed: the row counts as absent, and the login that it belongs to has to be repeated.";
      this.#report(keyIdIn(text), what);
    }
    if (opened.reason === "expired") this.#reports.expired();
    return undefined;
  }
}

/** Returns the storage; errors that it rejects with are added to `failures`. */
function remembering(storage: Storage, failures: WeakSet<object>): Storage {
  const { kv, bus } = storage;
  const call = async <T>(work: () => Promise<T>): Promise<T> => {
    try {
      return await work();
    } catch (error) {
      if (typeof error === "object" && error !== null) failures.add(error);
      throw error;
    }
  };
  return {
    log: storage.log,
    kv: {
      get: (...given) => call(() => kv.get(...given)),
      set: (...given) => call(() => kv.set(...given)),
      delete: (...given) => call(() => kv.delete(...given)),
      list: (...given) => call(() => kv.list(...given)),
    },
    bus: {
      publish: (...given) => call(() => bus.publish(...given)),
      subscribe: (...given) => call(() => bus.subscribe(...given)),
    },
  };
}

/** Runs `work` while no other work runs under the same key, in this process or another one. */
export async function withLock<T>(rows: Rows, key: string, work: () => Promise<T>): Promise<T> {
  const { kv, bus } = rows.storage;
  const lock = `${key}/lock`;
  const holder = randomUUID();
  let heard = (): void => {};
  const unsubscribe = await bus.subscribe(
    lock,
    () => heard(),
    () => heard(),
  );
  try {
    while (!(await kv.set(lock, holder, { ttlMs: lockMs, expect: null }))) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, lockRetryMs);
        heard = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
  } finally {
    await unsubscribe();
  }
  try {
    return await work();
  } finally {
    try {
      // Only our own lock: another process may have taken it over because this took too long.
      if ((await kv.get(lock)) === holder) await kv.delete(lock);
      await bus.publish(lock, "");
    } catch {
      // The work is done, or has failed for its own reason. The lock expires.
    }
  }
}
