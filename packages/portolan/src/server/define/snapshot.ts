import { PortolanError } from "../../errors.ts";
import type { JsonObject } from "../../jsonrpc/message.ts";
import { invalidParams } from "../../protocol/errors.ts";
import type { OfferedCapability, Outcome, Peer, Revision } from "../../protocol/revision.ts";
import type { CacheHints, Implementation, ServerCapabilities } from "../../protocol/types/index.ts";
import type { ServedExchange } from "../call/exchange.ts";
import {
  type CustomMethod,
  type ExtensionParts,
  type FeatureKind,
  knows,
  type Middleware,
  type ServerExtension,
} from "../extension.ts";
import { defaultPageSize, maxCachedChains, maxCachedPageCharacters, maxCachedViews } from "../limits.ts";
import type { ServerOptions } from "./definition.ts";
import type { CompiledPrompt, CompiledResource, CompiledTemplate } from "./resources.ts";
import type { CompiledTool } from "./tools.ts";

/** The parts of a server's definition, in the order they were added. */
export interface Parts {
  readonly tools: readonly CompiledTool[];
  readonly resources: readonly CompiledResource[];
  readonly templates: readonly CompiledTemplate[];
  readonly prompts: readonly CompiledPrompt[];
  readonly middleware: readonly { readonly method: string | undefined; readonly around: Middleware }[];
  readonly extensions: readonly ServerExtension[];
  readonly methods: ReadonlyMap<string, CustomMethod>;
  readonly notifications: ReadonlyMap<string, NotificationHandler>;
}

/** Handles a notification of a client. */
export type NotificationHandler = (params: JsonObject, peer: Peer) => void;

/** A change of list entries for callers that declared some extensions. */
export interface Decoration {
  /** Part of the key under which changed pages are cached. */
  readonly key: string;
  decorate(entry: JsonObject): JsonObject;
}

/** A server compiled for serving. It does not change, so that any number of connections share it. */
export class Snapshot {
  readonly info: Implementation;
  readonly options: ServerOptions<unknown>;
  readonly parts: Parts;
  readonly isLive: boolean;
  readonly logging: boolean;
  /** The capabilities that methods depend on. */
  readonly offered: { readonly [C in OfferedCapability]: boolean };
  /** Pending while features load what they need; requests wait for it. Never rejects. Undefined afterwards. */
  loading: Promise<void> | undefined;
  /** The features that turned out to be invalid and are left out. Complete after `loading`. */
  invalid: readonly Feature[] = [];
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
    this.offered = this.#offered();
    const loading = [...parts.tools, ...parts.templates].flatMap((feature) => feature.loading ?? []);
    if (loading.length > 0) this.loading = Promise.all(loading).then(() => this.#leaveOut());
    else this.#leaveOut();
  }

  /** Leaves out invalid features: one of them never takes its neighbours with it. */
  #leaveOut(): void {
    this.loading = undefined;
    this.invalid = [...this.tools.removeInvalid(), ...this.templates.removeInvalid()];
  }

  #offered(): Snapshot["offered"] {
    const { isLive, logging, tools, resources, templates, prompts } = this;
    return {
      tools: isLive || tools.size > 0,
      resources: isLive || resources.size + templates.size > 0,
      "resources.subscribe": isLive || this.#hasSubscriptions(),
      prompts: isLive || prompts.size > 0,
      completions: this.#hasCompleters(),
      logging,
    };
  }

  #hasSubscriptions(): boolean {
    const { resources, templates } = this.parts;
    return [...resources, ...templates].some(({ definition }) => definition.subscribe || definition.watch);
  }

  #hasCompleters(): boolean {
    const { templates, prompts } = this.parts;
    return (
      templates.some(({ definition }) => Object.keys(definition.complete ?? {}).length > 0) ||
      prompts.some(({ definition }) =>
        Object.values(definition.arguments ?? {}).some((argument) => argument.complete !== undefined),
      )
    );
  }

  #list<F extends Feature>(method: string, member: string, kind: FeatureKind, features: readonly F[]): FeatureList<F> {
    const { pageSize = defaultPageSize, cache, view } = this.options;
    if (!Number.isInteger(pageSize) || pageSize < 1) {
      throw new PortolanError("invalid-definition", `pageSize: expected a whole number above 0, got ${pageSize}`);
    }
    return new FeatureList(member, features, {
      pageSize,
      // A list that depends on the caller is never shared between callers.
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

  /** True if a template lists its resources when it is asked. */
  get listsTemplates(): boolean {
    return this.parts.templates.some(({ definition }) => definition.list !== undefined);
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
      if (this.#chains.size < maxCachedChains) this.#chains.set(method, chain);
    }
    return chain;
  }

  /** The extensions that take part in a revision, each with what it adds. */
  extensionsOn(revision: Revision): readonly [ServerExtension, ExtensionParts][] {
    let active = this.#extensions.get(revision);
    if (!active) {
      active = this.parts.extensions.flatMap((extension): [ServerExtension, ExtensionParts][] => {
        const isRefused = revision.encoderParts.traits.refusedExtensions.includes(extension.id);
        const parts = isRefused ? undefined : extension.on(revision);
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

  capabilities({ revision }: Pick<Peer, "revision">): ServerCapabilities {
    let capabilities = this.#capabilities.get(revision);
    if (!capabilities) {
      capabilities = this.#compileCapabilities(revision);
      this.#capabilities.set(revision, capabilities);
    }
    return capabilities;
  }

  #compileCapabilities(revision: Revision): ServerCapabilities {
    const { offered } = this;
    const listChanged = this.isLive ? { listChanged: true } : {};
    const resources = {
      ...(offered["resources.subscribe"] && { subscribe: true }),
      ...((this.isLive || this.listsTemplates) && { listChanged: true }),
    };
    const extensions = this.extensionsOn(revision).map(([{ id }, parts]) => [id, parts.settings ?? {}]);
    return {
      ...(offered.tools && { tools: listChanged }),
      ...(offered.resources && { resources }),
      ...(offered.prompts && { prompts: listChanged }),
      ...(offered.completions && { completions: {} }),
      ...(offered.logging && { logging: {} }),
      ...(extensions.length > 0 && { extensions: Object.fromEntries(extensions) }),
    };
  }
}

function ifKnown(id: string, around: Middleware): Middleware {
  return (exchange, next) => (knows(exchange.peer, id) ? around(exchange, next) : next(exchange));
}

/** A tool, prompt, resource or template of a server, as lists need it. */
export interface Feature {
  /** Its name or URI. */
  readonly key: string;
  /** Its list entry before a revision encodes it; incomplete while it is loading. */
  entry: JsonObject;
  readonly visibleTo?: ((view: string) => boolean) | undefined;
  /** Pending while it loads what it needs; undefined once it can be used. Never rejects. */
  loading?: Promise<void> | undefined;
  /** The reason why it is invalid, found while it was loading. */
  problem?: PortolanError | undefined;
  /** True if it comes from a mounted server, so that this server starts without it. */
  readonly isMounted?: boolean;
}

/** A feature with what its handler needs. */
export interface CompiledFeature extends Feature {
  readonly makeApp: ServerOptions<unknown>["app"];
  /** Middleware of the mounted server it comes from. */
  readonly around: readonly Middleware[];
}

/** The settings of a feature list. */
export interface PageOptions {
  readonly pageSize: number;
  readonly cache: CacheHints | undefined;
  /** Returns the view of a caller; "" if all callers see the same. */
  viewOf(exchange: ServedExchange): string;
  decorationFor(exchange: ServedExchange): Decoration | undefined;
  /** Encodes a page for the caller's revision as JSON text. */
  encode(exchange: ServedExchange, result: JsonObject): string;
}

/** Features sorted by key: found by a map, listed in pages that are encoded once and cached. */
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

  /** Removes the invalid features and returns them. */
  removeInvalid(): F[] {
    const invalid = [...this.#byKey.values()].filter(({ problem }) => problem);
    for (const { key } of invalid) this.#byKey.delete(key);
    return invalid;
  }

  /** Returns a feature, or undefined if it does not exist or the caller's view hides it. */
  find(key: string, exchange: ServedExchange): F | undefined {
    const feature = this.#byKey.get(key);
    if (feature?.visibleTo && !feature.visibleTo(this.#options.viewOf(exchange))) return undefined;
    return feature;
  }

  /** Returns the features that the caller may see, in the order of the list. */
  visible(exchange: ServedExchange): readonly F[] {
    const view = this.#options.viewOf(exchange);
    let features = this.#visible.get(view);
    if (!features) {
      features = [...this.#byKey.values()].filter((feature) => feature.visibleTo?.(view) ?? true);
      if (this.#visible.size >= maxCachedViews) this.#visible.clear();
      this.#visible.set(view, features);
    }
    return features;
  }

  /** Returns one page. It is serialized once for all callers of one revision and view. */
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
      this.#cache(cacheKey, resultText);
    }
    return { kind: "prepared", resultText };
  }

  /** Returns the index at which the requested page begins, among entries sorted by key. */
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

  /** Returns one page of entries that are made for this request. */
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

  #cache(key: string, text: string): void {
    this.#cachedCharacters += text.length;
    if (this.#cachedCharacters > maxCachedPageCharacters) {
      this.#pages.clear();
      this.#cachedCharacters = text.length;
    }
    this.#pages.set(key, text);
  }
}

/** Returns the name or URI of a list entry. */
export function keyOf(entry: JsonObject): string {
  return String(entry["uriTemplate"] ?? entry["uri"] ?? entry["name"]);
}

/** Makes a cursor. It names its list and view, so that it is valid for no other. */
function toCursor(list: string, view: string, key: string): string {
  return JSON.stringify([list, view, key]);
}

function parseCursor(cursor: string, list: string, view: string): string {
  try {
    const key: unknown = JSON.parse(cursor)[2];
    if (typeof key === "string" && toCursor(list, view, key) === cursor) return key;
  } catch {
    // Refused below, with the same answer as every cursor that is not ours.
  }
  throw invalidParams("cursor: expected a nextCursor of this list; start again without a cursor");
}
