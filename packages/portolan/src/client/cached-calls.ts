import type { JsonObject, RpcNotification } from "../jsonrpc/message.ts";
import { type CacheKey, createResponseCache, type ResponseCache } from "./cache.ts";
import type { Call } from "./call.ts";
import type { ClientConnection } from "./connection.ts";
import { maxResultTtlMs } from "./limits.ts";
import type { InteractiveCallOptions } from "./options.ts";

// Loaded late: a program that only calls tools needs no cache.

/** The methods whose results each notification invalidates. */
const invalidated: { readonly [notification: string]: readonly string[] } = {
  "notifications/tools/list_changed": ["tools/list"],
  "notifications/prompts/list_changed": ["prompts/list"],
  "notifications/resources/list_changed": ["resources/list", "resources/templates/list"],
  "notifications/resources/updated": ["resources/read"],
};

/** Distinguishes clients without a `eraCacheKey` in a shared cache. */
let clients = 0;

/** The cacheable calls of one client. */
export class CachedCalls {
  readonly #connection: ClientConnection;
  readonly #cache: ResponseCache;
  readonly #owner: { readonly server: string; readonly principal: string };
  /** Counts invalidations: a result that was requested before one must not be cached after it. */
  #invalidations = 0;

  constructor(connection: ClientConnection) {
    const { cache, principal = "", eraCacheKey } = connection.options;
    this.#connection = connection;
    this.#cache = cache || createResponseCache();
    clients += 1;
    // Clients share results only if both name the same server.
    this.#owner = { server: eraCacheKey ?? `client ${clients}`, principal };
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
