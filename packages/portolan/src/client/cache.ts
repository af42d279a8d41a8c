import type { JsonObject } from "../jsonrpc/message.ts";

/** Names one kept result: whose it is, and what was asked. */
export interface CacheKey {
  readonly server: string;
  /** Results never pass from one principal to another, whatever the server says of them. */
  readonly principal: string;
  readonly method: string;
  readonly params: JsonObject;
}

/** Results that servers allow to be kept, for as long as they allow it. Bounded: the least used ones go first. */
export interface ResponseCache {
  get(key: CacheKey, now: number): JsonObject | undefined;
  set(key: CacheKey, result: JsonObject, until: number): void;
  /** Forgets what was kept for one server and principal of some methods, or of one resource and what lies below it. */
  drop(owner: { readonly server: string; readonly principal: string }, methods: readonly string[], uri?: string): void;
}

export interface ResponseCacheOptions {
  /** 1,000 unless said otherwise. */
  readonly maxEntries?: number;
  /** Characters of JSON in all; 16 Mi unless said otherwise. */
  readonly maxChars?: number;
}

interface CacheEntry extends CacheKey {
  readonly text: string;
  readonly until: number;
}

/** A cache in memory; one may be shared by many clients. */
export function createResponseCache(options: ResponseCacheOptions = {}): ResponseCache {
  return new MemoryCache(options.maxEntries ?? 1_000, options.maxChars ?? 16 * 1024 * 1024);
}

class MemoryCache implements ResponseCache {
  readonly #maxEntries: number;
  readonly #maxChars: number;
  readonly #entries = new Map<string, CacheEntry>();
  #chars = 0;

  constructor(maxEntries: number, maxChars: number) {
    this.#maxEntries = maxEntries;
    this.#maxChars = maxChars;
  }

  get(key: CacheKey, now: number): JsonObject | undefined {
    const id = idOf(key);
    const entry = this.#entries.get(id);
    if (!entry) return undefined;
    this.#delete(id, entry);
    if (entry.until <= now) return undefined;
    this.#add(id, entry);
    // Kept as text: what one caller does to its result is not seen by the next.
    return JSON.parse(entry.text) as JsonObject;
  }

  set(key: CacheKey, result: JsonObject, until: number): void {
    const id = idOf(key);
    const before = this.#entries.get(id);
    if (before) this.#delete(id, before);
    const text = JSON.stringify(result);
    if (text.length > this.#maxChars) return;
    this.#add(id, { ...key, text, until });
    for (const [oldest, entry] of this.#entries) {
      if (this.#entries.size <= this.#maxEntries && this.#chars <= this.#maxChars) break;
      this.#delete(oldest, entry);
    }
  }

  drop(owner: { readonly server: string; readonly principal: string }, methods: readonly string[], uri?: string): void {
    for (const [id, entry] of this.#entries) {
      const isTheirs = entry.server === owner.server && entry.principal === owner.principal;
      if (!isTheirs || !methods.includes(entry.method)) continue;
      if (uri === undefined || isAtOrAbove(String(entry.params["uri"]), uri)) this.#delete(id, entry);
    }
  }

  #add(id: string, entry: CacheEntry): void {
    this.#entries.set(id, entry);
    this.#chars += entry.text.length;
  }

  #delete(id: string, entry: CacheEntry): void {
    this.#entries.delete(id);
    this.#chars -= entry.text.length;
  }
}

/** Whether a change of `changed` may have changed `kept`: it is the same, or lies on the way to it. */
function isAtOrAbove(kept: string, changed: string): boolean {
  if (kept === changed) return true;
  return (
    changed.startsWith(kept.endsWith("/") ? kept : `${kept}/`) ||
    kept.startsWith(changed.endsWith("/") ? changed : `${changed}/`)
  );
}

function idOf({ server, principal, method, params }: CacheKey): string {
  const named = Object.entries(params).filter(([name]) => name !== "_meta");
  return JSON.stringify([server, principal, method, named.sort(([a], [b]) => (a < b ? -1 : 1))]);
}
