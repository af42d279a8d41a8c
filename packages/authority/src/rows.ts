import { randomUUID } from "node:crypto";
import { createSealer, type Sealer, type Storage, sha256 } from "portolan/storage";

/** A row that may be replaced as long as nobody else did. */
export interface Row<T> {
  readonly value: T;
  /** Writes and says true, or says false when the row has changed since it was read; it ends as before unless told. */
  replace(value: T, ttlMs?: number): Promise<boolean>;
}

const purpose = "authority-row";
const taken = "taken";

/** Everything that an authority keeps: sealed, under keys that tell nothing, each row with an end. */
export class Rows {
  readonly storage: Storage;
  readonly #sealer: Sealer;
  readonly #prefix: string;

  private constructor(storage: Storage, sealer: Sealer, prefix: string) {
    this.storage = storage;
    this.#sealer = sealer;
    this.#prefix = prefix;
  }

  /** The rows of one issuer; others may share the storage. */
  static async of(issuer: string, storage: Storage, secrets: readonly string[]): Promise<Rows> {
    return new Rows(storage, createSealer({ secrets }), `authority/${(await sha256(issuer)).slice(0, 16)}`);
  }

  /** The key of a row; ids are often secrets, so only their digest is kept. */
  async keyOf(kind: string, ...ids: readonly string[]): Promise<string> {
    const digests = await Promise.all(ids.map(sha256));
    return [this.#prefix, kind, ...digests].join("/");
  }

  async get<T>(key: string): Promise<T | undefined> {
    return (await this.read<T>(key))?.value;
  }

  async read<T>(key: string): Promise<Row<T> | undefined> {
    const text = await this.storage.kv.get(key);
    const kept = text === undefined ? undefined : await this.#open<T>(key, text);
    if (text === undefined || kept === undefined) return undefined;
    const replace = async (value: T, ttlMs = kept.until - Date.now()): Promise<boolean> => {
      if (ttlMs <= 0) return false;
      return this.storage.kv.set(key, await this.#seal(key, value, ttlMs), { ttlMs, expect: text });
    };
    return { value: kept.value, replace };
  }

  async set(key: string, value: unknown, ttlMs: number): Promise<void> {
    await this.storage.kv.set(key, await this.#seal(key, value, ttlMs), { ttlMs });
  }

  /** Writes unless there is such a row already; says whether it did. */
  async add(key: string, value: unknown, ttlMs: number): Promise<boolean> {
    return this.storage.kv.set(key, await this.#seal(key, value, ttlMs), { ttlMs, expect: null });
  }

  /** The value, for one caller only: afterwards it is gone for all. */
  async take<T>(key: string): Promise<T | undefined> {
    const text = await this.storage.kv.get(key);
    const kept = text === undefined ? undefined : await this.#open<T>(key, text);
    if (text === undefined || kept === undefined) return undefined;
    const isMine = await this.storage.kv.set(key, taken, { ttlMs: 60_000, expect: text });
    return isMine ? kept.value : undefined;
  }

  async delete(key: string): Promise<void> {
    await this.storage.kv.delete(key);
  }

  /** The rows below a key, with their keys. */
  async *below<T>(key: string): AsyncGenerator<{ readonly key: string; readonly value: T }> {
    let after: string | undefined;
    for (;;) {
      const page = await this.storage.kv.list(`${key}/`, after === undefined ? {} : { after });
      for (const entry of page) {
        const kept = await this.#open<T>(entry.key, entry.value);
        if (kept) yield { key: entry.key, value: kept.value };
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

/** Whoever dies while it works holds nobody up for longer. */
const longestMs = 30_000;
/** How often a lock is tried whose release was not heard of. */
const againMs = 500;

/** Runs `work` while nobody else does under the same key, in this process or another one. */
export async function exclusive<T>(rows: Rows, key: string, work: () => Promise<T>): Promise<T> {
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
    while (!(await kv.set(lock, holder, { ttlMs: longestMs, expect: null }))) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, againMs);
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
    // Not somebody else's, who has taken it over because this took too long.
    if ((await kv.get(lock)) === holder) await kv.delete(lock);
    await bus.publish(lock, "");
  }
}
