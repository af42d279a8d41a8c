import { PortolanError } from "../errors.ts";
import { type JsonObject, RpcError, type RpcNotification } from "../jsonrpc/message.ts";
import type { ListAllOptions } from "./api.ts";
import { type CacheKey, createResponseCache, type ResponseCache } from "./cache.ts";
import type { Call } from "./call.ts";
import type { ClientConnection } from "./connection.ts";
import type { InteractiveCallOptions } from "./options.ts";

const defaultMaxItems = 100_000;
const defaultMaxPages = 10_000;

/** Asks for one page; a fresh one is not taken from what was kept. */
type Ask = (params: JsonObject, isFresh?: boolean) => Promise<JsonObject>;

/** The items of all pages of a list. A list that does not end, or goes in circles, is given up. */
export async function* walk<T>(ask: Ask, method: string, member: string, options: ListAllOptions): AsyncGenerator<T> {
  const { maxItems = defaultMaxItems, maxPages = defaultMaxPages } = options;
  const seen = new Set<string>();
  let cursor: string | undefined;
  let items = 0;
  for (let pages = 1; ; pages += 1) {
    const page = await ask(cursor === undefined ? {} : { cursor });
    const listed = page[member] as T[];
    items += listed.length;
    if (items > maxItems) throw endless(method, `more than ${maxItems} items`, "maxItems");
    yield* listed;
    const { nextCursor } = page;
    // The empty string is a cursor like any other.
    if (typeof nextCursor !== "string") return;
    if (seen.has(nextCursor))
      throw endless(method, `the cursor ${JSON.stringify(nextCursor.slice(0, 40))} a second time`);
    if (pages >= maxPages) throw endless(method, `more than ${maxPages} pages`, "maxPages");
    seen.add(nextCursor);
    cursor = nextCursor;
  }
}

/** All items in one array. A list that changed under its reader is read once more from the start. */
export async function collect<T>(ask: Ask, method: string, member: string, options: ListAllOptions): Promise<T[]> {
  let isBehindFirst = false;
  const noting: Ask = (params) => {
    isBehindFirst = "cursor" in params;
    return ask(params);
  };
  try {
    return await all(walk<T>(noting, method, member, options));
  } catch (reason) {
    const isBadCursor = isBehindFirst && reason instanceof RpcError && reason.code === -32602;
    if (!isBadCursor) throw reason;
    return all(walk<T>((params) => ask(params, true), method, member, options));
  }
}

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = [];
  for await (const item of items) list.push(item);
  return list;
}

function endless(method: string, what: string, option?: string): PortolanError {
  const advice = option === undefined ? "" : `; raise ${option} if that is right`;
  return new PortolanError("limit-reached", `${method}: the server gave ${what}${advice}`);
}

/** However long a server says: nothing is kept for more than a day. */
const maxTtlMs = 24 * 60 * 60_000;

/** What each notification makes stale. */
const stale: { readonly [notification: string]: readonly string[] } = {
  "notifications/tools/list_changed": ["tools/list"],
  "notifications/prompts/list_changed": ["prompts/list"],
  "notifications/resources/list_changed": ["resources/list", "resources/templates/list"],
  "notifications/resources/updated": ["resources/read"],
};

let clients = 0;

/** The cache as one client uses it. */
export class Caching {
  readonly #wire: ClientConnection;
  readonly #cache: ResponseCache;
  readonly #owner: { readonly server: string; readonly principal: string };
  /** Counts changes, so that what was asked for before one is not kept after it. */
  #changes = 0;

  constructor(wire: ClientConnection) {
    const { cache, principal = "", verdictKey } = wire.options;
    this.#wire = wire;
    this.#cache = cache || createResponseCache();
    clients += 1;
    // A shared cache is shared only between clients that say they are of one server.
    this.#owner = { server: verdictKey ?? `client ${clients}`, principal };
    wire.listen((notification) => this.#hear(notification));
    wire.onRenewed(() => this.forget());
  }

  /** Makes a call whose result may be kept, or gives the one that was. */
  async call(method: string, params: JsonObject, options: InteractiveCallOptions): Promise<JsonObject> {
    const cache = this.#cache;
    if (isOwn(options)) return this.#wire.call(method, params, options);
    const key: CacheKey = { ...this.#owner, method, params };
    const kept = options.fresh ? undefined : cache.get(key, this.#wire.clock.now());
    if (kept) return kept;
    const changes = this.#changes;
    let made: Call | undefined;
    const result = await this.#wire.call(method, { ...params }, options, (call) => {
      made = call;
    });
    const { ttlMs, resultType } = result;
    if (resultType === "input_required") return result;
    // What took questions to get is an answer to their answers, and to nothing else.
    if (typeof ttlMs === "number" && ttlMs > 0 && made?.rounds === 1 && changes === this.#changes) {
      cache.set(key, result, this.#wire.clock.now() + Math.min(ttlMs, maxTtlMs));
    }
    return result;
  }

  /** Everything watched may have changed while nobody heard of it. */
  forget(methods: readonly string[] = Object.values(stale).flat(), uri?: string): void {
    this.#changes += 1;
    this.#cache.drop(this.#owner, methods, uri);
  }

  #hear({ method, params }: RpcNotification): void {
    if (!Object.hasOwn(stale, method)) return;
    const uri = params?.["uri"];
    this.forget(stale[method], typeof uri === "string" ? uri : undefined);
  }
}

/** A call that says something of its own is not like the others, and an answer to questions least of all. */
function isOwn({ meta, capabilities, answers, inputResponses, requestState }: InteractiveCallOptions): boolean {
  return [meta, capabilities, answers, inputResponses, requestState].some((own) => own !== undefined);
}
