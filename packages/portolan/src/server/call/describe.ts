import type { MaybePromise } from "../../async.ts";
import { PortolanError } from "../../errors.ts";
import type { JsonObject } from "../../jsonrpc/message.ts";
import { outputSchemaFor } from "../../protocol/output-schema.ts";
import { complete, type Outcome, type Peer } from "../../protocol/revision.ts";
import { statelessVersions } from "../../protocol/revisions/index.ts";
import type { CacheHints, ServerCapabilities } from "../../protocol/types/index.ts";
import type { CompiledFeature, Feature, FeatureList } from "../define/snapshot.ts";
import type { FeatureKind } from "../extension.ts";
import { maxCachedPageCharacters, maxListedResources } from "../limits.ts";
import type { ServerRuntime } from "../runtime.ts";
import { activeExtensions, extensionsFor, isDeclared } from "./active-extensions.ts";
import { HandlerContext } from "./context.ts";
import type { Principal, ServedExchange } from "./exchange.ts";
import { indexAfter, parseCursor, toCursor } from "./page.ts";

/** Answers `initialize`. */
export function initialize(runtime: ServerRuntime, { peer, principal }: ServedExchange): Outcome {
  const { info, options } = runtime.snapshot;
  return complete({
    protocolVersion: peer.revision.version,
    capabilities: capabilitiesOf(runtime, peer, principal),
    serverInfo: info,
    instructions: options.instructions,
  });
}

/** Answers `server/discover`. */
export function discover(runtime: ServerRuntime, { peer, principal }: ServedExchange): Outcome {
  const { instructions, cache } = runtime.snapshot.options;
  return complete({
    supportedVersions: statelessVersions,
    capabilities: capabilitiesOf(runtime, peer, principal),
    instructions,
    ...cache,
  });
}

/** Returns the capabilities that the server declares to a caller of a revision. */
export function capabilitiesOf(runtime: ServerRuntime, { revision }: Peer, principal: Principal): ServerCapabilities {
  const { isLive, offered, listsTemplates } = runtime.snapshot;
  const listChanged = isLive ? { listChanged: true } : {};
  const resources = {
    ...(offered["resources.subscribe"] && { subscribe: true }),
    ...((isLive || listsTemplates) && { listChanged: true }),
  };
  const active = activeExtensions(runtime, revision);
  const declared = active.filter(({ isDeclarable }) => isDeclarable);
  const extensions = declared.map(({ extension, parts }) => [extension.id, parts.settings ?? {}]);
  return {
    ...Object.assign(
      {},
      ...active.map(({ parts: { capabilities: own } }) => (typeof own === "function" ? own(principal) : own)),
    ),
    ...(offered.tools && { tools: listChanged }),
    ...(offered.resources && { resources }),
    ...(offered.prompts && { prompts: listChanged }),
    ...(offered.completions && { completions: {} }),
    ...(offered.logging && { logging: {} }),
    ...(extensions.length > 0 && { extensions: Object.fromEntries(extensions) }),
  };
}

/** Answers `tools/list`, `resources/list`, `resources/templates/list` and `prompts/list`. */
export function listFeatures(runtime: ServerRuntime, exchange: ServedExchange): MaybePromise<Outcome> {
  const pages = pagesOf(runtime, exchange.method);
  const isMade = exchange.method === "resources/list" && runtime.snapshot.listsTemplates;
  return isMade ? listWithTemplates(runtime, exchange, pages) : pages.page(exchange);
}

/** Answers `resources/list` of a server whose templates list their resources when they are asked. */
async function listWithTemplates(runtime: ServerRuntime, exchange: ServedExchange, pages: ListPages): Promise<Outcome> {
  const { resources, templates } = runtime.snapshot;
  const entries = new Map<string, Entry>();
  const failures: unknown[] = [];
  for (const { definition, entry, makeApp } of templates.visible(exchange)) {
    if (!definition.list) continue;
    const context = new HandlerContext(exchange, runtime, makeApp);
    // A resource inherits the members of its template that it does not have itself.
    const { uriTemplate: _, ...shared } = entry;
    try {
      for (const resource of await definition.list(context)) {
        entries.set(resource.uri, { key: resource.uri, entry: { ...shared, ...resource } });
      }
    } catch (failure) {
      // One template that cannot list its resources does not hide those of the others.
      failures.push(failure);
    }
    if (entries.size > maxListedResources) {
      throw new PortolanError(
        "limit-reached",
        `resources/list: templates listed more than ${maxListedResources} resources; list fewer`,
      );
    }
  }
  for (const resource of resources.visible(exchange)) entries.set(resource.key, resource);
  // Without any resource, the failure must not look like an empty list.
  if (failures.length > 0 && entries.size === 0) throw failures[0];
  for (const failure of failures) runtime.report(failure, exchange.origin);
  const sorted = [...entries.values()].sort((a, b) => (a.key < b.key ? -1 : 1));
  return complete(pages.result(exchange, sorted));
}

/** A change of list entries for callers that declared some extensions. */
export interface Decoration {
  /** Part of the key under which changed pages are cached. */
  readonly key: string;
  /** Returns the changed entry; undefined if it is hidden. */
  decorate(entry: JsonObject, definition: Entry["definition"]): JsonObject | undefined;
}

/** The settings of a list. */
export interface PageOptions {
  /** The member of the result that holds the entries. */
  readonly member: string;
  readonly pageSize: number;
  readonly cache: CacheHints | undefined;
  decorationFor(exchange: ServedExchange): Decoration | undefined;
  /** Encodes a page for the caller's revision as JSON text. */
  encode(exchange: ServedExchange, result: JsonObject): string;
}

/** An entry with its name or URI, by which the list is sorted. */
type Entry = Pick<Feature, "key" | "entry"> & Partial<Pick<CompiledFeature, "definition">>;

/** The pages of one list. Each is encoded once and cached. */
export class ListPages {
  readonly #features: FeatureList<CompiledFeature>;
  readonly #options: PageOptions;
  readonly #cached = new Map<string, string>();
  #cachedCharacters = 0;

  constructor(features: FeatureList<CompiledFeature>, options: PageOptions) {
    this.#features = features;
    this.#options = options;
  }

  /** Returns one page. It is serialized once for all callers of one revision and view. */
  page(exchange: ServedExchange): Outcome {
    const { decorationFor, encode } = this.#options;
    const features = this.#features.visible(exchange);
    const start = this.#start(exchange, features);
    const decoration = decorationFor(exchange);
    const view = this.#features.viewOf(exchange);
    const cacheKey = `${exchange.peer.revision.version} ${start} ${decoration?.key ?? ""} ${view}`;
    let resultText = this.#cached.get(cacheKey);
    if (resultText === undefined) {
      resultText = encode(exchange, this.result(exchange, features, start, decoration));
      this.#cache(cacheKey, resultText);
    }
    return { kind: "prepared", resultText };
  }

  /** Returns the requested page of these entries, which are sorted by key. */
  result(
    exchange: ServedExchange,
    entries: readonly Entry[],
    start: number = this.#start(exchange, entries),
    decoration: Decoration | undefined = this.#options.decorationFor(exchange),
  ): JsonObject {
    const { member, pageSize, cache } = this.#options;
    const page = entries.slice(start, start + pageSize);
    const last = page[page.length - 1];
    const isMore = last !== undefined && start + pageSize < entries.length;
    return {
      [member]: page
        .map(({ entry, definition }) => (decoration ? decoration.decorate(entry, definition) : entry))
        .filter((entry) => entry !== undefined),
      nextCursor: isMore ? toCursor(member, this.#features.viewOf(exchange), last.key) : undefined,
      ...cache,
    };
  }

  /** Returns the index at which the requested page begins. */
  #start(exchange: ServedExchange, entries: readonly Entry[]): number {
    const { cursor } = exchange.params;
    if (cursor === undefined) return 0;
    const key = parseCursor(String(cursor), this.#options.member, this.#features.viewOf(exchange));
    return indexAfter(entries, key, (entry) => entry.key);
  }

  #cache(key: string, text: string): void {
    this.#cachedCharacters += text.length;
    if (this.#cachedCharacters > maxCachedPageCharacters) {
      this.#cached.clear();
      this.#cachedCharacters = text.length;
    }
    this.#cached.set(key, text);
  }
}

interface ListMethod {
  readonly list: "tools" | "resources" | "templates" | "prompts";
  readonly member: string;
  readonly kind: FeatureKind;
}

const listMethods: { readonly [method: string]: ListMethod } = {
  "tools/list": { list: "tools", member: "tools", kind: "tool" },
  "resources/list": { list: "resources", member: "resources", kind: "resource" },
  "resources/templates/list": { list: "templates", member: "resourceTemplates", kind: "template" },
  "prompts/list": { list: "prompts", member: "prompts", kind: "prompt" },
};

/** The pages of every served list. They are forgotten with their list, when the server's features change. */
const pagesByList = new WeakMap<FeatureList<CompiledFeature>, ListPages>();

function pagesOf(runtime: ServerRuntime, method: string): ListPages {
  const { snapshot } = runtime;
  const { list, member, kind } = listMethods[method] as ListMethod;
  const features: FeatureList<CompiledFeature> = snapshot[list];
  let pages = pagesByList.get(features);
  if (!pages) {
    const { info, pageSize, options } = snapshot;
    const { cache, view } = options;
    pages = new ListPages(features, {
      member,
      pageSize,
      // A list that depends on the caller is never shared between callers.
      cache: cache && view ? { ...cache, cacheScope: "private" } : cache,
      decorationFor: (exchange) => decorationFor(runtime, kind, exchange),
      encode: ({ peer: { revision } }, listed) => {
        const tools = listed["tools"] as JsonObject[] | undefined;
        const result = tools ? { ...listed, tools: tools.map((tool) => outputSchemaFor(revision, tool)) } : listed;
        return JSON.stringify(revision.encodeResult(method, { kind: "complete", result }, { info }));
      },
    });
    pagesByList.set(features, pages);
  }
  return pages;
}

function decorationFor(runtime: ServerRuntime, kind: FeatureKind, { peer }: ServedExchange): Decoration | undefined {
  if (runtime.snapshot.parts.extensions.length === 0) return undefined;
  const active = extensionsFor(runtime, peer).filter(({ parts }) => parts.decorate);
  if (active.length === 0) return undefined;
  return {
    key: active.map((one) => `${one.extension.id}${isDeclared(peer, one) ? "" : "?"}`).join(" "),
    decorate: (entry, definition) =>
      active.reduce<JsonObject | undefined>((current, one) => {
        const options = definition?.extensions?.[one.extension.id];
        return current && one.parts.decorate?.(current, { kind, options, isDeclared: isDeclared(peer, one) });
      }, entry),
  };
}
