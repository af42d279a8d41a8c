import { PortolanError } from "../errors.ts";

interface Row<V> {
  readonly value: V;
  readonly expiresAt: number;
}

/** What is due is looked for at most so often, for all rows are looked at. */
const searchMs = 1_000;

/** A map whose rows may expire; what is due goes when it is next touched, so there is no timer. */
export class Expiring<V> {
  readonly #rows = new Map<string, Row<V>>();
  readonly #now: () => number;
  readonly #dropped: ((value: V) => void) | undefined;
  /** Nothing is due before this time, so a full map is not searched in vain. */
  #soonest = Number.POSITIVE_INFINITY;
  #searchedAt = Number.NEGATIVE_INFINITY;

  constructor(now: () => number, dropped?: (value: V) => void) {
    this.#now = now;
    this.#dropped = dropped;
  }

  get size(): number {
    return this.#rows.size;
  }

  keys(): Iterable<string> {
    return this.#rows.keys();
  }

  get(key: string): V | undefined {
    const row = this.#rows.get(key);
    if (row === undefined || row.expiresAt > this.#now()) return row?.value;
    this.delete(key);
    return undefined;
  }

  /** Writes a row; "as-before" keeps the expiry of the row it replaces. */
  set(key: string, value: V, ttlMs: number | "never" | "as-before"): void {
    if (this.#now() - this.#searchedAt >= searchMs) this.purge();
    const expiresAt = this.#expiryOf(key, ttlMs);
    this.#rows.set(key, { value, expiresAt });
    this.#soonest = Math.min(this.#soonest, expiresAt);
  }

  delete(key: string): void {
    const row = this.#rows.get(key);
    if (row === undefined) return;
    this.#rows.delete(key);
    this.#dropped?.(row.value);
  }

  /** Drops all that is due. */
  purge(): void {
    const now = this.#now();
    if (this.#soonest > now) return;
    this.#searchedAt = now;
    this.#soonest = Number.POSITIVE_INFINITY;
    for (const [key, { expiresAt }] of this.#rows) {
      if (expiresAt <= now) this.delete(key);
      else this.#soonest = Math.min(this.#soonest, expiresAt);
    }
  }

  #expiryOf(key: string, ttlMs: number | "never" | "as-before"): number {
    if (ttlMs === "never") return Number.POSITIVE_INFINITY;
    if (ttlMs === "as-before") return this.#rows.get(key)?.expiresAt ?? Number.POSITIVE_INFINITY;
    if (Number.isFinite(ttlMs) && ttlMs > 0) return this.#now() + ttlMs;
    throw new PortolanError("invalid-argument", `ttlMs: expected a number of milliseconds above 0, got ${ttlMs}`);
  }
}
