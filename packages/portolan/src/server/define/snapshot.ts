import { whenDone } from "../../async.ts";
import { PortolanError } from "../../errors.ts";
import type { JsonObject } from "../../jsonrpc/message.ts";
import type { OfferedCapability, Peer } from "../../protocol/revision.ts";
import type { Implementation } from "../../protocol/types/index.ts";
import type { ServedExchange } from "../call/exchange.ts";
import { type CustomMethod, extra, type Middleware, type ServerExtension } from "../extension.ts";
import { defaultPageSize, maxCachedChains, maxCachedViews } from "../limits.ts";
import type { ServerRuntime } from "../runtime.ts";
import type { ExtensionOptions, ServerOptions } from "./definition.ts";
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

/** A server compiled for serving. It does not change, so that any number of connections share it. */
export class Snapshot {
  readonly info: Implementation;
  readonly options: ServerOptions<unknown>;
  readonly parts: Parts;
  readonly isLive: boolean;
  /** The number of entries in one page of a list. */
  readonly pageSize: number;
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
  /** True once the author was told of fixed resources that were meant as templates. */
  declare hasReportedBraces?: boolean;
  readonly #chains = new Map<string, readonly Middleware[]>();

  constructor(info: Implementation, options: ServerOptions<unknown>, parts: Parts, isLive: boolean) {
    this.info = info;
    this.options = options;
    this.parts = parts;
    this.isLive = isLive;
    const { pageSize = defaultPageSize } = options;
    if (!Number.isInteger(pageSize) || pageSize < 1) {
      throw new PortolanError("invalid-definition", `pageSize: expected a whole number above 0, got ${pageSize}`);
    }
    this.pageSize = pageSize;
    const offersSomething =
      parts.tools.length + parts.resources.length + parts.templates.length + parts.prompts.length > 0;
    this.logging = options.logging ?? (offersSomething || isLive);
    const viewOf = (exchange: ServedExchange) => options.view?.(exchange.principal) ?? "";
    this.tools = new FeatureList(parts.tools, viewOf);
    this.resources = new FeatureList(parts.resources, viewOf);
    this.templates = new FeatureList(parts.templates, viewOf);
    this.prompts = new FeatureList(parts.prompts, viewOf);
    this.offered = this.#offered();
    const loading = [...parts.tools, ...parts.templates].map((feature) => feature.loading).filter(Boolean);
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

  /** True if a template lists its resources when it is asked. */
  get listsTemplates(): boolean {
    return this.parts.templates.some(({ definition }) => definition.list !== undefined);
  }

  /** The middleware around one method, outermost first: that of extensions, then the server's own. */
  chain(method: string, runtime: ServerRuntime): readonly Middleware[] {
    let chain = this.#chains.get(method);
    if (!chain) {
      const around = this.parts.extensions
        .filter((extension) => extension.around)
        .map(
          (extension): Middleware =>
            (exchange, next) =>
              whenDone(extra.get(), ({ runExtension }) => runExtension(runtime, extension, exchange, next)),
        );
      chain = [...around, ...this.middlewareOf(method)];
      if (this.#chains.size < maxCachedChains) this.#chains.set(method, chain);
    }
    return chain;
  }

  /** The server's own middleware around one method. */
  middlewareOf(method: string): readonly Middleware[] {
    const own = this.parts.middleware.filter((entry) => entry.method === undefined || entry.method === method);
    return own.map((entry) => entry.around);
  }
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
  readonly definition: { readonly extensions?: ExtensionOptions };
  readonly makeApp: ServerOptions<unknown>["app"];
  /** Middleware of the mounted server it comes from. */
  readonly around: readonly Middleware[];
}

/** Features by key, and sorted by key. Both are made when a call or a list needs them: a handshake waits for neither. */
export class FeatureList<F extends Feature> {
  /** Returns the view of a caller; "" if all callers see the same. */
  readonly viewOf: (exchange: ServedExchange) => string;
  #features: readonly F[];
  #byKey: Map<string, F> | undefined;
  #isSorted = false;
  readonly #visible = new Map<string, readonly F[]>();

  constructor(features: readonly F[], viewOf: (exchange: ServedExchange) => string) {
    this.viewOf = viewOf;
    this.#features = features;
  }

  get size(): number {
    return this.#features.length;
  }

  /** Removes the invalid features and returns them. */
  removeInvalid(): F[] {
    const invalid = this.#features.filter(({ problem }) => problem);
    if (invalid.length > 0) this.#features = this.#features.filter(({ problem }) => !problem);
    return invalid;
  }

  /** Returns a feature, or undefined if it does not exist or the caller's view hides it. */
  find(key: string, exchange: ServedExchange): F | undefined {
    this.#byKey ??= new Map(this.#features.map((one) => [one.key, one]));
    const feature = this.#byKey.get(key);
    if (feature?.visibleTo && !feature.visibleTo(this.viewOf(exchange))) return undefined;
    return feature;
  }

  /** Returns the features that the caller may see, in the order of the list. */
  visible(exchange: ServedExchange): readonly F[] {
    const view = this.viewOf(exchange);
    let features = this.#visible.get(view);
    if (!features) {
      if (!this.#isSorted) this.#features = [...this.#features].sort((a, b) => (a.key < b.key ? -1 : 1));
      this.#isSorted = true;
      features = this.#features.filter((feature) => feature.visibleTo?.(view) ?? true);
      if (this.#visible.size >= maxCachedViews) this.#visible.clear();
      this.#visible.set(view, features);
    }
    return features;
  }
}
