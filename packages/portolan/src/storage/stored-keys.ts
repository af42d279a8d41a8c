import { PortolanError } from "../errors.ts";
import { checkOptions, type OptionNames } from "../options.ts";
import {
  createSealer,
  type OpenedText,
  type OpenOptions,
  randomSecret,
  type Sealer,
  type SealOptions,
} from "./crypto.ts";
import { maxStoredKeys, storedKeyMaxAgeMs, storedKeyRetirementMs } from "./limits.ts";
import type { KeyValue, Storage } from "./storage.ts";

/** A key in the storage. The first one seals, all of them open. */
interface StoredKey {
  readonly secret: string;
  /** The time since 1970 at which a newer key took its place. */
  readonly retiredAt?: number;
}

const storedAt = "mcp/keys";

/** Options of `rotateKeys`. */
export interface RotateKeysOptions {
  /**
   * Rejects if the storage has no key, which is the case when no server has used it, or only with another prefix. Default:
   * false: the first key is made.
   */
  readonly mustExist?: boolean;
}

/** The keys after `rotateKeys`. */
export interface KeyRotation {
  /** The number of older keys that still open what they have sealed. */
  readonly olderKeys: number;
  /** The time since 1970 from which the key that was replaced opens nothing. Undefined if there was none. */
  readonly replacedKeyEndsAt?: number;
}

const rotateKeysOptions: OptionNames<RotateKeysOptions> = { mustExist: 1 };

/**
 * Puts a new key in front of those that servers without `secrets` keep in their storage. Texts that were sealed with an
 * older key can be opened for another day. Running processes notice the new key within a minute.
 */
export async function rotateKeys({ kv }: Storage, options: RotateKeysOptions = {}): Promise<KeyRotation> {
  checkOptions(options, rotateKeysOptions, "rotateKeys");
  for (;;) {
    const text = await kv.get(storedAt);
    if (text === undefined && options.mustExist) {
      throw new PortolanError(
        "invalid-argument",
        "Keys: the storage has none to replace: no server has sealed with it",
      );
    }
    const now = Date.now();
    const [current, ...older] = text === undefined ? [] : parseKeys(text);
    const kept = older.filter(({ retiredAt = now }) => now - retiredAt < storedKeyRetirementMs);
    const keys = [{ secret: randomSecret() }, ...(current ? [{ ...current, retiredAt: now }] : []), ...kept];
    if (keys.length > maxStoredKeys) {
      throw new PortolanError(
        "limit-reached",
        `Keys: expected at most ${maxStoredKeys} within a day, got one more; rotate them less often`,
      );
    }
    if (await kv.set(storedAt, JSON.stringify(keys), { expect: text ?? null })) {
      return { olderKeys: keys.length - 1, ...(current && { replacedKeyEndsAt: now + storedKeyRetirementMs }) };
    }
  }
}

/** Seals with keys that all processes with the same storage share. The first process that needs a key makes it. */
export class StoredKeySealer implements Sealer {
  readonly #kv: KeyValue;
  #text: string | undefined;
  #sealer: Sealer | undefined;
  #readAt = Number.NEGATIVE_INFINITY;
  /** The read that has not begun, and the one that runs. Requests that come while one runs share the next one. */
  #next: Promise<Sealer> | undefined;
  #running: Promise<unknown> = Promise.resolve();

  constructor(kv: KeyValue) {
    this.#kv = kv;
  }

  async seal(value: string, options: SealOptions): Promise<string> {
    const isFresh = performance.now() - this.#readAt < storedKeyMaxAgeMs;
    const sealer = (isFresh && this.#sealer) || (await this.#read());
    return sealer.seal(value, options);
  }

  async open(sealed: string, options: OpenOptions): Promise<OpenedText> {
    const known = this.#sealer;
    const opened = await (known ?? (await this.#read())).open(sealed, options);
    if (!known || opened.ok || opened.reason !== "unknown-key") return opened;
    // Another process may have sealed it with a newer key.
    const newest = await this.#read();
    return newest === known ? opened : newest.open(sealed, options);
  }

  /**
   * Puts the keys of this process back into a storage that has lost them, behind those that others have made meanwhile: all
   * that was sealed with either can be opened everywhere.
   */
  async restore(): Promise<void> {
    const own = this.#text;
    for (let isDone = own === undefined; !isDone; ) {
      const text = await this.#kv.get(storedAt);
      const stored = text === undefined ? [] : parseKeys(text);
      const retiredAt = stored.length > 0 ? Date.now() : undefined;
      const missing = parseKeys(own ?? "")
        .filter(({ secret }) => !stored.some((key) => key.secret === secret))
        .map((key) => ({ ...(retiredAt !== undefined && { retiredAt }), ...key }));
      const keys = [...stored, ...missing].slice(0, maxStoredKeys);
      isDone = missing.length === 0 || (await this.#kv.set(storedAt, JSON.stringify(keys), { expect: text ?? null }));
    }
    if (own !== undefined) await this.#read();
  }

  #read(): Promise<Sealer> {
    if (!this.#next) {
      const begin = () => {
        this.#next = undefined;
        return this.#readNow();
      };
      this.#next = this.#running.then(begin, begin);
      this.#running = this.#next;
      this.#next.catch(() => {});
    }
    return this.#next;
  }

  async #readNow(): Promise<Sealer> {
    let text = await this.#kv.get(storedAt);
    while (text === undefined) {
      // A storage that lost its keys gets those back that this process knows.
      const own = this.#text ?? JSON.stringify([{ secret: randomSecret() }]);
      text = (await this.#kv.set(storedAt, own, { expect: null })) ? own : await this.#kv.get(storedAt);
    }
    this.#readAt = performance.now();
    if (this.#sealer && text === this.#text) return this.#sealer;
    this.#sealer = createSealer({ secrets: parseKeys(text).map(({ secret }) => secret) });
    this.#text = text;
    return this.#sealer;
  }
}

function parseKeys(text: string): StoredKey[] {
  try {
    const keys = JSON.parse(text) as StoredKey[];
    if (keys.length > 0 && keys.every(({ secret }) => typeof secret === "string")) return keys;
  } catch {
    // Said below, because the text may contain secrets.
  }
  throw new PortolanError(
    "store-failed",
    `The keys in the storage (${storedAt}) cannot be read: something else wrote there`,
  );
}
