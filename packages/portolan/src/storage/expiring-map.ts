import { PortolanError } from "../errors.ts";
import { purgeIntervalMs } from "./limits.ts";

/** A map whose rows can expire. Expired rows are removed by later calls, so that it needs no timer. */
export class ExpiringMap<V> {
  readonly #rows = new Map<string, Row<V>>();
  readonly #now: () => number;
  readonly #dropped: ((value: V, key: string) => void) | undefined;
  /** No row expires before this time, so that a full map is not searched in vain. */
  #soonest = Number.POSITIVE_INFINITY;
  #purgedAt = Number.NEGATIVE_INFINITY;

  constructor(now: () => number, dropped?: (value: V, key: string) => void) {
    this.#now = now;
    this.#dropped = dropped;
  }

  get size(): number {
    return this.#rows.size;
  }

  keys(): Iterable<string> {
    return this.#rows.keys();
  }

  /** All rows, also those that have expired since the last purge. */
  entries(): Iterable<[string, Row<V>]> {
    return this.#rows.entries();
  }

  get(key: string): V | undefined {
    const row = this.#rows.get(key);
    if (row === undefined || row.expiresAt > this.#now()) return row?.value;
    this.delete(key);
    return undefined;
  }

  /** Writes a row. "as-before" keeps the expiry of the row that it replaces. */
  set(key: string, value: V, ttlMs: number | "never" | "as-before"): void {
    if (this.#now() - this.#purgedAt >= purgeIntervalMs) this.purge();
    const expiresAt = this.#expiryOf(key, ttlMs);
    this.#rows.set(key, { value, expiresAt });
    this.#soonest = Math.min(this.#soonest, expiresAt);
  }

  delete(key: string): void {
    const row = this.#rows.get(key);
    if (row === undefined) return;
    this.#rows.delete(key);
    this.#dropped?.(row.value, key);
  }

  /** Removes all expired rows. */
  purge(): void {
    const now = this.#now();
    if (this.#soonest > now) return;
    this.#purgedAt = now;
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

interface Row<V> {
  readonly value: V;
  readonly expiresAt: number;
}
