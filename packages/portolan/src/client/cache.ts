import type { JsonObject, RpcNotification } from "../jsonrpc/message.ts";
import type { Call } from "./call.ts";
import type { ClientConnection } from "./connection.ts";
import { defaultMaxChars, defaultMaxEntries, maxResultTtlMs } from "./limits.ts";
import type { InteractiveCallOptions } from "./options.ts";

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

export interface ResponseCacheOptions {
  /** Default: 1,000. */
  readonly maxEntries?: number;
  /** Characters of JSON in the whole cache. Default: 16 Mi. */
  readonly maxChars?: number;
}

/** Creates a cache in memory, which many clients may share. The least recently used results are removed first. */
export function createResponseCache(options: ResponseCacheOptions = {}): ResponseCache {
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

/** The methods whose results each notification invalidates. */
const invalidated: { readonly [notification: string]: readonly string[] } = {
  "notifications/tools/list_changed": ["tools/list"],
  "notifications/prompts/list_changed": ["prompts/list"],
  "notifications/resources/list_changed": ["resources/list", "resources/templates/list"],
  "notifications/resources/updated": ["resources/read"],
};

/** Distinguishes clients without a `verdictKey` in a shared cache. */
let clients = 0;

/** The cacheable calls of one client. */
export class CachedCalls {
  readonly #connection: ClientConnection;
  readonly #cache: ResponseCache;
  readonly #owner: { readonly server: string; readonly principal: string };
  /** Counts invalidations: a result that was requested before one must not be cached after it. */
  #invalidations = 0;

  constructor(connection: ClientConnection) {
    const { cache, principal = "", verdictKey } = connection.options;
    this.#connection = connection;
    this.#cache = cache || createResponseCache();
    clients += 1;
    // Clients share results only if both name the same server.
    this.#owner = { server: verdictKey ?? `client ${clients}`, principal };
    connection.listen((notification) => this.#onNotification(notification));
    connection.onRenewed(() => this.invalidate());
  }

  /** Returns a cached result, or calls the server and caches the result for as long as the server allows. */
  async call(method: string, params: JsonObject, options: InteractiveCallOptions): Promise<JsonObject> {
    const cache = this.#cache;
    if (isUncacheable(options)) return this.#connection.call(method, params, options);
    const key: CacheKey = { ...this.#owner, method, params };
    const cached = options.fresh ? undefined : cache.get(key, this.#connection.clock.now());
    if (cached) return cached;
    const invalidations = this.#invalidations;
    let call: Call | undefined;
    const result = await this.#connection.call(method, { ...params }, options, (created) => {
      call = created;
    });
    const { ttlMs, resultType } = result;
    if (resultType === "input_required") return result;
    // A result after questions depends on their answers, so it is not cached.
    if (typeof ttlMs === "number" && ttlMs > 0 && call?.rounds === 1 && invalidations === this.#invalidations) {
      cache.set(key, result, this.#connection.clock.now() + Math.min(ttlMs, maxResultTtlMs));
    }
    return result;
  }

  /** Removes results. Without arguments all of them, because changes may have been missed. */
  invalidate(methods: readonly string[] = Object.values(invalidated).flat(), uri?: string): void {
    this.#invalidations += 1;
    this.#cache.drop(this.#owner, methods, uri);
  }

  #onNotification({ method, params }: RpcNotification): void {
    if (!Object.hasOwn(invalidated, method)) return;
    const uri = params?.["uri"];
    this.invalidate(invalidated[method], typeof uri === "string" ? uri : undefined);
  }
}

/** A call with settings of its own, or with answers to questions, may have another result than the rest. */
function isUncacheable({ meta, capabilities, answers, inputResponses, requestState }: InteractiveCallOptions): boolean {
  return [meta, capabilities, answers, inputResponses, requestState].some((own) => own !== undefined);
}
