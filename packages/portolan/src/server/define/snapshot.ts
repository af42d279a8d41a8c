import { PortolanError } from "../../errors.ts";
import type { JsonObject } from "../../jsonrpc/message.ts";
import { invalidParams } from "../../protocol/errors.ts";
import type { Outcome, Peer, Revision } from "../../protocol/revision.ts";
import type { CacheHints, Implementation, ServerCapabilities } from "../../protocol/types/index.ts";
import type { ServedExchange } from "../call/exchange.ts";
import {
  type ExtensionParts,
  type ExtraMethod,
  type FeatureKind,
  knows,
  type Middleware,
  type ServerExtension,
} from "../extension.ts";
import type { ServerOptions } from "./definition.ts";
import type { CompiledPrompt, CompiledResource, CompiledTemplate } from "./resources.ts";
import type { CompiledTool } from "./tools.ts";

/** Everything a server was told, in order. */
export interface Parts {
  readonly tools: readonly CompiledTool[];
  readonly resources: readonly CompiledResource[];
  readonly templates: readonly CompiledTemplate[];
  readonly prompts: readonly CompiledPrompt[];
  readonly middleware: readonly { readonly method: string | undefined; readonly around: Middleware }[];
  readonly extensions: readonly ServerExtension[];
  readonly methods: ReadonlyMap<string, ExtraMethod>;
  readonly notifications: ReadonlyMap<string, NotificationHandler>;
}

/** Hears a notification of a client. */
export type NotificationHandler = (params: JsonObject, peer: Peer) => void;

/** How entries change for a caller that knows some extensions. */
export interface Decoration {
  readonly key: string;
  decorate(entry: JsonObject): JsonObject;
}

type ListenTest = (wanted: unknown, topic: string, payload: JsonObject) => boolean;

const defaultPageSize = 1_000;

/** A server compiled for serving: nothing in it changes, and any number of connections use it at once. */
export class Snapshot {
  readonly info: Implementation;
  readonly options: ServerOptions<unknown>;
  readonly parts: Parts;
  readonly isLive: boolean;
  readonly logging: boolean;
  /** Features that still load what they need; requests wait for it. Undefined once everything is there. */
  loading: Promise<void> | undefined;
  readonly tools: FeatureList<CompiledTool>;
  readonly resources: FeatureList<CompiledResource>;
  readonly templates: FeatureList<CompiledTemplate>;
  readonly prompts: FeatureList<CompiledPrompt>;
  readonly #chains = new Map<string, readonly Middleware[]>();
  readonly #extensions = new Map<Revision, readonly [ServerExtension, ExtensionParts][]>();
  readonly #capabilities = new Map<Revision, ServerCapabilities>();

  constructor(info: Implementation, options: ServerOptions<unknown>, parts: Parts, isLive: boolean) {
    this.info = info;
    this.options = options;
    this.parts = parts;
    this.isLive = isLive;
    const offersSomething =
      parts.tools.length + parts.resources.length + parts.templates.length + parts.prompts.length > 0;
    this.logging = options.logging ?? (offersSomething || isLive);
    this.tools = this.#list("tools/list", "tools", "tool", parts.tools);
    this.resources = this.#list("resources/list", "resources", "resource", parts.resources);
    this.templates = this.#list("resources/templates/list", "resourceTemplates", "template", parts.templates);
    this.prompts = this.#list("prompts/list", "prompts", "prompt", parts.prompts);
    const loading = [...parts.tools, ...parts.templates].flatMap((feature) => feature.loading ?? []);
    if (loading.length > 0) this.loading = this.#load(loading);
  }

  async #load(loading: Promise<void>[]): Promise<void> {
    await Promise.all(loading);
    this.loading = undefined;
  }

  #list<F extends Feature>(method: string, member: string, kind: FeatureKind, features: readonly F[]): FeatureList<F> {
    const { pageSize = defaultPageSize, cache, view } = this.options;
    if (!Number.isInteger(pageSize) || pageSize < 1) {
      throw new PortolanError("invalid-definition", `pageSize: expected a whole number above 0, got ${pageSize}`);
    }
    return new FeatureList(member, features, {
      pageSize,
      // What depends on the caller is never shared between callers.
      cache: cache && view ? { ...cache, cacheScope: "private" } : cache,
      viewOf: (exchange) => this.viewOf(exchange),
      decorationFor: (exchange) => this.decorationFor(kind, exchange),
      encode: ({ peer }, result) =>
        JSON.stringify(peer.revision.encodeResult(method, { kind: "complete", result }, { info: this.info })),
    });
  }

  viewOf(exchange: ServedExchange): string {
    return this.options.view?.(exchange.principal) ?? "";
  }

  /** Whether templates say at listing time what resources exist. */
  get listsTemplates(): boolean {
    return this.parts.templates.some(({ definition }) => definition.list !== undefined);
  }

  get completes(): boolean {
    return (
      this.parts.templates.some(({ definition }) => Object.keys(definition.complete ?? {}).length > 0) ||
      this.parts.prompts.some(({ definition }) =>
        Object.values(definition.arguments ?? {}).some((argument) => argument.complete !== undefined),
      )
    );
  }

  get offersResources(): boolean {
    return this.isLive || this.resources.size + this.templates.size > 0;
  }

  get offersSubscriptions(): boolean {
    if (this.isLive) return true;
    const { resources, templates } = this.parts;
    return [...resources, ...templates].some(({ definition }) => definition.subscribe || definition.watch);
  }

  /** The middleware around one method, outermost first. */
  chain(method: string): readonly Middleware[] {
    let chain = this.#chains.get(method);
    if (!chain) {
      const { extensions, middleware } = this.parts;
      const around = extensions.flatMap((extension) =>
        extension.around ? [ifKnown(extension.id, extension.around)] : [],
      );
      const own = middleware.filter((entry) => entry.method === undefined || entry.method === method);
      chain = [...around, ...own.map((entry) => entry.around)];
      // Names of methods come from peers: only those that exist are worth remembering.
      if (this.#chains.size < 1_000) this.#chains.set(method, chain);
    }
    return chain;
  }

  /** What the extensions add for a revision. */
  extensionsOn(revision: Revision): readonly [ServerExtension, ExtensionParts][] {
    let active = this.#extensions.get(revision);
    if (!active) {
      active = this.parts.extensions.flatMap((extension): [ServerExtension, ExtensionParts][] => {
        const parts = extension.on(revision);
        return parts ? [[extension, parts]] : [];
      });
      this.#extensions.set(revision, active);
    }
    return active;
  }

  decorationFor(kind: FeatureKind, { peer }: ServedExchange): Decoration | undefined {
    if (this.parts.extensions.length === 0) return undefined;
    const active = this.extensionsOn(peer.revision).filter(([{ id }, parts]) => parts.decorate && knows(peer, id));
    if (active.length === 0) return undefined;
    return {
      key: active.map(([{ id }]) => id).join(" "),
      decorate: (entry) => active.reduce((current, [, parts]) => parts.decorate?.(kind, current) ?? current, entry),
    };
  }

  /** Members of a listen filter that extensions understand. */
  listenTests(peer: Peer): [name: string, test: ListenTest][] {
    return this.extensionsOn(peer.revision)
      .filter(([{ id }]) => knows(peer, id))
      .flatMap(([, parts]) => Object.entries(parts.listen ?? {}));
  }

  capabilities({ revision }: Pick<Peer, "revision">): ServerCapabilities {
    let capabilities = this.#capabilities.get(revision);
    if (!capabilities) {
      capabilities = this.#compileCapabilities(revision);
      this.#capabilities.set(revision, capabilities);
    }
    return capabilities;
  }

  #compileCapabilities(revision: Revision): ServerCapabilities {
    const listChanged = this.isLive ? { listChanged: true } : {};
    const resources = {
      ...(this.offersSubscriptions && { subscribe: true }),
      ...((this.isLive || this.listsTemplates) && { listChanged: true }),
    };
    const extensions = this.extensionsOn(revision).map(([{ id }, parts]) => [id, parts.settings ?? {}]);
    return {
      ...((this.tools.size > 0 || this.isLive) && { tools: listChanged }),
      ...(this.offersResources && { resources }),
      ...((this.prompts.size > 0 || this.isLive) && { prompts: listChanged }),
      ...(this.completes && { completions: {} }),
      ...(this.logging && { logging: {} }),
      ...(extensions.length > 0 && { extensions: Object.fromEntries(extensions) }),
    };
  }
}

function ifKnown(id: string, around: Middleware): Middleware {
  return (exchange, next) => (knows(exchange.peer, id) ? around(exchange, next) : next(exchange));
}

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
export interface PageOptions {
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
  readonly #options: PageOptions;
  readonly #visible = new Map<string, readonly F[]>();
  readonly #pages = new Map<string, string>();
  #cachedCharacters = 0;

  constructor(member: string, features: readonly F[], options: PageOptions) {
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
