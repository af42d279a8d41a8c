import type { JsonObject } from "../../jsonrpc/message.ts";
import { invalidParams } from "../../protocol/errors.ts";
import type { Outcome } from "../../protocol/revision.ts";
import type { CacheHints } from "../../protocol/types/index.ts";
import type { ServedExchange } from "../call/exchange.ts";

/** Something a server offers by name: a tool, a prompt, a resource, a template. */
export interface Feature {
  /** The name or URI that finds it. */
  readonly key: string;
  /** How it stands in a list, before a revision encodes it; complete once nothing is loading. */
  entry: JsonObject;
  readonly visibleTo?: ((view: string) => boolean) | undefined;
  /** What it needs is still being loaded; undefined once it can be used. */
  loading?: Promise<void> | undefined;
}

/** How the lists of a server are given out. */
export interface ListOptions {
  readonly pageSize: number;
  readonly cache: CacheHints | undefined;
  /** The view of a caller; undefined when all callers see the same. */
  viewOf(exchange: ServedExchange): string;
  /** Which extensions change the entries for this caller, as a cache key, and how. */
  decorationFor(
    exchange: ServedExchange,
  ): { readonly key: string; decorate(entry: JsonObject): JsonObject } | undefined;
  /** Puts a page on the wire of the caller's revision. */
  encode(exchange: ServedExchange, result: JsonObject): string;
}

const maxCachedCharacters = 32 * 1024 * 1024;

/** Features sorted by key: found in one step, listed in pages that are encoded once. */
export class FeatureList<F extends Feature> {
  readonly #byKey: Map<string, F>;
  readonly #member: string;
  readonly #options: ListOptions;
  readonly #visible = new Map<string, readonly F[]>();
  readonly #pages = new Map<string, string>();
  #cachedCharacters = 0;

  constructor(member: string, features: readonly F[], options: ListOptions) {
    this.#member = member;
    this.#options = options;
    const sorted = [...features].sort((a, b) => (a.key < b.key ? -1 : 1));
    this.#byKey = new Map(sorted.map((feature) => [feature.key, feature]));
  }

  get size(): number {
    return this.#byKey.size;
  }

  /** Finds a feature; what the caller's view does not show is unknown to it. */
  find(key: string, exchange: ServedExchange): F | undefined {
    const feature = this.#byKey.get(key);
    if (feature?.visibleTo && !feature.visibleTo(this.#options.viewOf(exchange))) return undefined;
    return feature;
  }

  /** Everything the caller may see, in the order of the list. */
  visible(exchange: ServedExchange): readonly F[] {
    const view = this.#options.viewOf(exchange);
    let features = this.#visible.get(view);
    if (!features) {
      features = [...this.#byKey.values()].filter((feature) => feature.visibleTo?.(view) ?? true);
      if (this.#visible.size >= 100) this.#visible.clear();
      this.#visible.set(view, features);
    }
    return features;
  }

  /** One page, serialized once for all callers of one revision and view. */
  page(exchange: ServedExchange): Outcome {
    const { viewOf, decorationFor, encode } = this.#options;
    const features = this.visible(exchange);
    const view = viewOf(exchange);
    const start = this.start(exchange, features);
    const decoration = decorationFor(exchange);
    const cacheKey = `${exchange.peer.revision.version} ${start} ${decoration?.key ?? ""} ${view}`;
    let resultText = this.#pages.get(cacheKey);
    if (resultText === undefined) {
      const entries = features.map((feature) => feature.entry);
      resultText = encode(exchange, this.result(exchange, entries, start, decoration?.decorate));
      this.#keep(cacheKey, resultText);
    }
    return { kind: "prepared", resultText };
  }

  /** Where the page that a request asks for begins, among entries sorted by key. */
  start(exchange: ServedExchange, entries: readonly { readonly key: string }[]): number {
    const { cursor } = exchange.params;
    if (cursor === undefined) return 0;
    const key = parseCursor(String(cursor), this.#member, this.#options.viewOf(exchange));
    let low = 0;
    let high = entries.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((entries[middle]?.key ?? "") <= key) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** One page of entries that are known only now, or that a middleware wants to see. */
  result(
    exchange: ServedExchange,
    entries: readonly JsonObject[],
    start: number,
    decorate?: (entry: JsonObject) => JsonObject,
  ): JsonObject {
    const { pageSize, cache, viewOf } = this.#options;
    const page = entries.slice(start, start + pageSize);
    const last = page[page.length - 1];
    const isMore = last !== undefined && start + pageSize < entries.length;
    return {
      [this.#member]: decorate ? page.map(decorate) : page,
      nextCursor: isMore ? toCursor(this.#member, viewOf(exchange), keyOf(last)) : undefined,
      ...cache,
    };
  }

  #keep(key: string, text: string): void {
    this.#cachedCharacters += text.length;
    if (this.#cachedCharacters > maxCachedCharacters) {
      this.#pages.clear();
      this.#cachedCharacters = text.length;
    }
    this.#pages.set(key, text);
  }
}

/** The name or URI of a list entry. */
export function keyOf(entry: JsonObject): string {
  return String(entry["uriTemplate"] ?? entry["uri"] ?? entry["name"]);
}

/** Readable, but nobody's business: a cursor counts only if it is one that this list would give. */
function toCursor(list: string, view: string, key: string): string {
  return JSON.stringify([list, view, key]);
}

function parseCursor(cursor: string, list: string, view: string): string {
  try {
    const key: unknown = JSON.parse(cursor)[2];
    if (typeof key === "string" && toCursor(list, view, key) === cursor) return key;
  } catch {
    // Refused below: whatever is no cursor of ours gets the same answer.
  }
  throw invalidParams("cursor: expected one that this list has given; start again without it");
}
