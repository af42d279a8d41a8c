import type { JsonObject } from "../jsonrpc/message.ts";
import { checkOptions } from "../options.ts";
import { defaultMaxChars, defaultMaxEntries } from "./limits.ts";

/** The owner and the request of one cached result. */
export interface CacheKey {
  readonly server: string;
  /** Results never pass from one principal to another, whatever scope the server allows. */
  readonly principal: string;
  readonly method: string;
  readonly params: JsonObject;
}

/** Results that servers allow to keep, for as long as they allow it. */
export interface ResponseCache {
  get(key: CacheKey, now: number): JsonObject | undefined;
  set(key: CacheKey, result: JsonObject, until: number): void;
  /** Removes one owner's results of some methods; with `uri`, only those of this resource, its parents and children. */
  drop(owner: { readonly server: string; readonly principal: string }, methods: readonly string[], uri?: string): void;
}

/** Options of `createResponseCache`. */
export interface ResponseCacheOptions {
  /** Default: 1,000. */
  readonly maxEntries?: number;
  /** Characters of JSON in the whole cache. Default: 16 Mi. */
  readonly maxChars?: number;
}

/** Creates a cache in memory, which many clients may share. The least recently used results are removed first. */
export function createResponseCache(options: ResponseCacheOptions = {}): ResponseCache {
  checkOptions(options, { maxEntries: 1, maxChars: 1 }, "createResponseCache");
  return new MemoryCache(options.maxEntries ?? defaultMaxEntries, options.maxChars ?? defaultMaxChars);
}

interface CacheEntry extends CacheKey {
  readonly text: string;
  readonly until: number;
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
    // Kept as text: a caller that changes its result does not change that of the next.
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
      if (uri === undefined || isRelated(String(entry.params["uri"]), uri)) this.#delete(id, entry);
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

function idOf({ server, principal, method, params }: CacheKey): string {
  const named = Object.entries(params).filter(([name]) => name !== "_meta");
  return JSON.stringify([server, principal, method, named.sort(([a], [b]) => (a < b ? -1 : 1))]);
}

/** A change of a URI may also change its parents and its children. */
function isRelated(kept: string, changed: string): boolean {
  if (kept === changed) return true;
  return (
    changed.startsWith(kept.endsWith("/") ? kept : `${kept}/`) ||
    kept.startsWith(changed.endsWith("/") ? changed : `${changed}/`)
  );
}
