import { randomUUID } from "node:crypto";
import { createSealer, type Sealer, type Storage, sha256 } from "portolan/storage";
import { lockMs, lockRetryMs } from "./limits.ts";

/** A value with compare-and-set. */
export interface Row<T> {
  readonly value: T;
  /** Replaces the value. Resolves to false if the row has changed since it was read. Default `ttlMs`: the present expiry. */
  replace(value: T, ttlMs?: number): Promise<boolean>;
}

const purpose = "authority-row";
const taken = "taken";

/** The stored data of an authority: sealed values under hashed keys, each with an expiry. */
export class Rows {
  readonly storage: Storage;
  readonly #sealer: Sealer;
  readonly #prefix: string;

  private constructor(storage: Storage, sealer: Sealer, prefix: string) {
    this.storage = storage;
    this.#sealer = sealer;
    this.#prefix = prefix;
  }

  /** Creates the rows of one issuer; others may share the storage. */
  static async of(issuer: string, storage: Storage, secrets: readonly string[]): Promise<Rows> {
    return new Rows(storage, createSealer({ secrets }), `authority/${(await sha256(issuer)).slice(0, 16)}`);
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
    if (text === undefined || stored === undefined) return undefined;
    const replace = async (value: T, ttlMs = stored.until - Date.now()): Promise<boolean> => {
      if (ttlMs <= 0) return false;
      return this.storage.kv.set(key, await this.#seal(key, value, ttlMs), { ttlMs, expect: text });
    };
    return { value: stored.value, replace };
  }

  async set(key: string, value: unknown, ttlMs: number): Promise<void> {
    await this.storage.kv.set(key, await this.#seal(key, value, ttlMs), { ttlMs });
  }

  /** Writes a row if there is none yet. Resolves to true if it was written. */
  async add(key: string, value: unknown, ttlMs: number): Promise<boolean> {
    return this.storage.kv.set(key, await this.#seal(key, value, ttlMs), { ttlMs, expect: null });
  }

  /** Reads and removes a value, for one caller only. */
  async take<T>(key: string): Promise<T | undefined> {
    const text = await this.storage.kv.get(key);
    const stored = text === undefined ? undefined : await this.#open<T>(key, text);
    if (text === undefined || stored === undefined) return undefined;
    const isMine = await this.storage.kv.set(key, taken, { ttlMs: 60_000, expect: text });
    return isMine ? stored.value : undefined;
  }

  async delete(key: string): Promise<void> {
    await this.storage.kv.delete(key);
  }

  /** Lists the rows below a key, with their keys. */
  async *below<T>(key: string): AsyncGenerator<{ readonly key: string; readonly value: T }> {
    let after: string | undefined;
    for (;;) {
      const page = await this.storage.kv.list(`${key}/`, after === undefined ? {} : { after });
      for (const entry of page) {
        const stored = await this.#open<T>(entry.key, entry.value);
        if (stored) yield { key: entry.key, value: stored.value };
      }
      after = page.at(-1)?.key;
      if (after === undefined) return;
    }
  }

  async #seal(key: string, value: unknown, ttlMs: number): Promise<string> {
    const text = JSON.stringify({ value, until: Date.now() + ttlMs });
    return this.#sealer.seal(text, { purpose, binding: key, ttlMs });
  }

  async #open<T>(key: string, text: string): Promise<{ readonly value: T; readonly until: number } | undefined> {
    const opened = await this.#sealer.open(text, { purpose, binding: key });
    return opened.ok ? (JSON.parse(opened.value) as { value: T; until: number }) : undefined;
  }
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
    // Only our own lock: another process may have taken it over because this took too long.
    if ((await kv.get(lock)) === holder) await kv.delete(lock);
    await bus.publish(lock, "");
  }
}
