import { nameOf, PortolanError } from "../../errors.ts";
import type { JsonObject } from "../../jsonrpc/message.ts";
import { extensionId } from "../../protocol/extension-id.ts";
import { revisions } from "../../protocol/revisions/index.ts";
import type { AddTool, NoTools } from "../../protocol/typed-tools.ts";
import type { CustomMethod, Middleware, ServerExtension } from "../extension.ts";
import { reportError, ServerRuntime } from "../runtime.ts";
import type { Audience, Topics } from "../subscribe/hub.ts";
import { checkDefinition, checkMembers, checkServerOptions, expectFunction, unexpected } from "./check.ts";
import type {
  ArgumentDefinition,
  PromptDefinition,
  ResourceDefinition,
  ServerInfo,
  ServerOptions,
  TemplateDefinition,
  ToolDefinition,
} from "./definition.ts";
import { type AnyArgumentDefinitions, compilePrompt, compileResource, compileTemplate } from "./resources.ts";
import { type CompiledFeature, type NotificationHandler, type Parts, Snapshot } from "./snapshot.ts";
import { compileTool } from "./tools.ts";

const runtimeKey: unique symbol = Symbol("portolan.runtime");

/** A definition, or a live server: the first argument of every `serve…` function. */
export interface Servable {
  [runtimeKey](): ServerRuntime;
}

/**
 * The definition of a server: an immutable, compiled value. Each method returns a new definition. One definition can be
 * served over any number of transports to any number of clients of every revision at once.
 */
export interface Server<App = undefined, Tools = unknown> extends Servable {
  /** The types of the tools, for clients. Absent at run time. */
  readonly "~tools"?: Tools;
  /** Name and version of the server. */
  readonly info: ServerInfo;
  /** Keeps the types of the tools that follow, so that `connect<typeof server>(…)` knows them. */
  typed(): Server<App, NoTools>;
  /** Adds a tool. */
  tool<N extends string, I = JsonObject, O = unknown, A = I>(
    name: N,
    definition: ToolDefinition<I, O, App, A>,
  ): Server<App, AddTool<Tools, N, A, O>>;
  /** Adds a resource with a fixed URI. */
  resource(uri: string, definition: ResourceDefinition<App>): Server<App, Tools>;
  /** Adds resources whose URIs follow an RFC 6570 template, such as `note://{id}`. */
  template(uriTemplate: string, definition: TemplateDefinition<App>): Server<App, Tools>;
  /** Adds a prompt. */
  prompt<const A extends { [name: string]: ArgumentDefinition<App> } = Record<never, never>>(
    name: string,
    definition: PromptDefinition<A, App>,
  ): Server<App, Tools>;
  /** Removes a feature. Throws if it is not defined. */
  without(kind: "tools" | "resources" | "templates" | "prompts", key: string): Server<App, Tools>;
  /** Adds middleware around every request, or around the requests of one method. */
  use(around: Middleware, options?: { method?: string }): Server<App, Tools>;
  /** Adds an extension to the protocol. */
  extend(extension: ServerExtension): Server<App, Tools>;
  /**
   * Adds the features and the extensions of another server. Tools and prompts get the prefix before their names; resources
   * keep their URIs.
   */
  mount<P extends string>(
    prefix: P,
    server: Servable,
  ): Server<App, AddTool<Tools, `${P}${string}`, JsonObject, unknown>>;
  /** Adds a method of your own, on every revision. */
  method(name: string, method: CustomMethod): Server<App, Tools>;
  /** Adds a handler for a notification of stateful clients, such as a change of their roots. */
  notification(name: string, handle: NotificationHandler): Server<App, Tools>;
  /** Sends a notification outside a request, to the clients that subscribed to its topic. */
  publish<T extends keyof Topics>(topic: T, payload: Topics[T], audience?: Audience): void;
}

/** A server whose features change while it is served. */
export interface LiveServer<App = undefined, Tools = unknown> extends Servable {
  /** The types of the tools that the server begins with, for clients. Absent at run time. */
  readonly "~tools"?: Tools;
  /** The definition that is served now. */
  readonly current: Server<App, Tools>;
  /**
   * Replaces the definition. Clients get one notification per changed list, however often it changes in one turn.
   * Resolves when the new features are loaded. Rejects if one of them is invalid: it is left out, and the others are served.
   */
  update(change: (current: Server<App, Tools>) => Server<App>): Promise<void>;
  /** Sends a notification outside a request, as `publish` of a server does. */
  publish<T extends keyof Topics>(topic: T, payload: Topics[T], audience?: Audience): void;
}

/** Begins the definition of a server. */
export function createServer<App = undefined>(info: ServerInfo, options: ServerOptions<App> = {}): Server<App> {
  for (const member of ["name", "version"] as const) {
    if (typeof info?.[member] !== "string") {
      throw unexpected("createServer({ name, version })", `${member} as a string`, info?.[member]);
    }
  }
  checkServerOptions(info, options as ServerOptions<unknown>);
  return new Definition<App>({ ...info }, options as ServerOptions<unknown>, new DefinedFeatures([]));
}

/** One class for definitions with any tools: the types of the tools exist in the interface only. */
class Definition<App> implements Server<App, never> {
  readonly info: ServerInfo;
  readonly #options: ServerOptions<unknown>;
  readonly #features: DefinedFeatures;
  #runtime: ServerRuntime | undefined;

  constructor(info: ServerInfo, options: ServerOptions<unknown>, features: DefinedFeatures) {
    this.info = info;
    this.#options = options;
    this.#features = features;
  }

  typed(): Server<App, never> {
    return this;
  }

  tool<I, O, A>(name: string, definition: ToolDefinition<I, O, App, A>): Server<App, never> {
    for (const { toolMember } of this.#features.extensions) {
      if (toolMember && Object(definition)[toolMember.name] !== undefined) {
        return toolMember.define(this as never, name, definition as never) as never;
      }
    }
    warnOfName(this.#options, checkName("tool", name));
    this.#checkMembers(`Tool "${name}"`, definition, true);
    const feature = compileTool(
      name,
      definition as unknown as ToolDefinition<unknown, unknown, unknown>,
      this.#options,
    );
    return this.#with({ kind: "tools", feature });
  }

  resource(uri: string, definition: ResourceDefinition<App>): Server<App, never> {
    this.#checkMembers(`Resource "${uri}"`, definition, false);
    const feature = compileResource(uri, definition as unknown as ResourceDefinition<unknown>, this.#options.app);
    return this.#with({ kind: "resources", feature });
  }

  template(uriTemplate: string, definition: TemplateDefinition<App>): Server<App, never> {
    this.#checkMembers(`Resource "${uriTemplate}"`, definition, false);
    const feature = compileTemplate(
      uriTemplate,
      definition as unknown as TemplateDefinition<unknown>,
      this.#options.app,
    );
    return this.#with({ kind: "templates", feature });
  }

  prompt<A>(name: string, definition: PromptDefinition<A, App>): Server<App, never> {
    const feature = compilePrompt(
      checkName("prompt", name),
      definition as unknown as PromptDefinition<AnyArgumentDefinitions, unknown>,
      this.#options.app,
    );
    return this.#with({ kind: "prompts", feature });
  }

  without(kind: "tools" | "resources" | "templates" | "prompts", key: string): Server<App, never> {
    return new Definition<App>(this.info, this.#options, this.#features.without(kind, key));
  }

  use(around: Middleware, options: { method?: string } = {}): Server<App, never> {
    expectFunction("use", around);
    return this.#with({ kind: "middleware", feature: { method: options.method, around } });
  }

  extend(extension: ServerExtension): Server<App, never> {
    const { id, on } = Object(extension) as ServerExtension;
    if (!extensionId.test(id)) {
      throw unexpected("extend", "{ id, on } with an id such as com.example/id", id ?? extension);
    }
    expectFunction(`Extension "${id}": on`, on);
    const extended = this.#with({ kind: "extensions", feature: extension });
    return extension.define ? (extension.define(extended as never) as never) : extended;
  }

  mount(prefix: string, server: Servable): Server<App, never> {
    if (typeof prefix !== "string") throw unexpected("mount", "a prefix as a string", prefix);
    const { snapshot } = runtimeOf(server);
    const features = mountedKinds.flatMap(([kind, method, isPrefixed]) =>
      snapshot.parts[kind].map((feature: CompiledFeature) => ({
        kind,
        feature: mountFeature(feature, snapshot.middlewareOf(method), isPrefixed ? prefix : undefined),
      })),
    );
    // One extension may serve several servers. Another one with the same id is refused.
    const own = this.#features.extensions;
    const extensions = snapshot.parts.extensions.filter((extension) => !own.includes(extension));
    return this.#with(...features, ...extensions.map((feature) => ({ kind: "extensions", feature }) as const));
  }

  method(name: string, method: CustomMethod): Server<App, never> {
    checkDefinition("method", `Method "${checkName("method", name)}"`, method);
    return this.#with({ kind: "method", name, feature: method });
  }

  notification(name: string, handle: NotificationHandler): Server<App, never> {
    expectFunction(`Notification "${checkName("notification", name)}"`, handle);
    return this.#with({ kind: "notification", name, feature: handle });
  }

  publish<T extends keyof Topics>(topic: T, payload: Topics[T], audience?: Audience): void {
    publishOn(this[runtimeKey](), topic, payload, audience);
  }

  [runtimeKey](): ServerRuntime {
    this.#runtime ??= new ServerRuntime(this.toSnapshot(false));
    return this.#runtime;
  }

  toSnapshot(isLive: boolean): Snapshot {
    return new Snapshot(this.info, this.#options, this.#features.toParts(), isLive);
  }

  /** Features of another server may have members that we do not know. */
  #checkMembers(where: string, definition: object, isTool: boolean): void {
    if (!this.#options.leaveOutInvalid) checkMembers(where, definition, isTool);
  }

  #with(...added: DefinedFeature[]): Definition<App> {
    const all = added.reduce((all, feature) => all.add(feature), this.#features);
    return new Definition<App>(this.info, this.#options, all);
  }
}

function checkName(kind: string, name: string): string {
  if (typeof name !== "string" || name === "") {
    throw unexpected(`The name of a ${kind}`, "a string that is not empty", name);
  }
  return name;
}

const commonName = /^[A-Za-z0-9_.-]{1,128}$/;

/** Reports a name that the protocol advises against. It is served all the same. */
function warnOfName(options: ServerOptions<unknown>, name: string): void {
  if (commonName.test(name)) return;
  const advice = "some clients accept A-Z a-z 0-9 _ . - only, up to 128";
  reportError(options, new PortolanError("invalid-definition", `Tool name ${JSON.stringify(name)}: ${advice}`), {});
}

/** One part of a definition. */
type DefinedFeature =
  | { readonly kind: "tools" | "resources" | "templates" | "prompts"; readonly feature: { readonly key: string } }
  | { readonly kind: "middleware"; readonly feature: Parts["middleware"][number] }
  | { readonly kind: "extensions"; readonly feature: ServerExtension }
  | { readonly kind: "method"; readonly name: string; readonly feature: CustomMethod }
  | { readonly kind: "notification"; readonly name: string; readonly feature: NotificationHandler };

/** An append-only list that definitions share: adding takes one step, and a definition sees only its first `length`. */
class DefinedFeatures {
  readonly #entries: DefinedFeature[];
  readonly #keys: Map<string, number>;
  readonly length: number;
  readonly extensions: readonly ServerExtension[];

  constructor(
    entries: DefinedFeature[],
    keys: Map<string, number> = new Map(),
    extensions: readonly ServerExtension[] = [],
  ) {
    this.#entries = entries;
    this.#keys = keys;
    this.length = entries.length;
    this.extensions = extensions;
  }

  add(entry: DefinedFeature): DefinedFeatures {
    // Another definition was derived from this one before: this one needs a list of its own.
    if (this.#entries.length !== this.length) return this.#copy().add(entry);
    const key = keyOf(entry);
    if (key !== undefined) {
      if (this.#keys.has(key))
        throw new PortolanError("invalid-definition", `${key} is defined twice; names must differ`);
      this.#keys.set(key, this.length);
    }
    this.#entries.push(entry);
    const { extensions } = this;
    const all = entry.kind === "extensions" ? [...extensions, entry.feature] : extensions;
    return new DefinedFeatures(this.#entries, this.#keys, all);
  }

  /** Returns a list without one feature; this list keeps it. */
  without(kind: DefinedFeature["kind"], key: string): DefinedFeatures {
    const kept = this.#entries.slice(0, this.length).filter((entry) => entry.kind !== kind || entryKey(entry) !== key);
    if (kept.length === this.length) {
      throw new PortolanError(
        "invalid-argument",
        `without: expected the key of one of the defined ${kind}, got "${key}"`,
      );
    }
    return kept.reduce((all, entry) => all.add(entry), new DefinedFeatures([]));
  }

  #copy(): DefinedFeatures {
    const keys = new Map([...this.#keys].filter(([, index]) => index < this.length));
    return new DefinedFeatures(this.#entries.slice(0, this.length), keys, this.extensions);
  }

  toParts(): Parts {
    const entries = this.#entries.slice(0, this.length);
    const of = (kind: DefinedFeature["kind"]) => entries.filter((entry) => entry.kind === kind);
    const features = <T>(kind: DefinedFeature["kind"]): T[] => of(kind).map(({ feature }) => feature as T);
    const named = <T>(kind: DefinedFeature["kind"]): Map<string, T> =>
      new Map(of(kind).map((entry) => [(entry as { name: string }).name, entry.feature as T]));
    return {
      tools: features("tools"),
      resources: features("resources"),
      templates: features("templates"),
      prompts: features("prompts"),
      middleware: features("middleware"),
      extensions: this.extensions,
      methods: named("method"),
      notifications: named("notification"),
    };
  }
}

function keyOf(entry: DefinedFeature): string | undefined {
  if (entry.kind === "middleware") return undefined;
  if (entry.kind === "extensions") return `Extension "${entry.feature.id}"`;
  if ("name" in entry) return `The ${entry.kind} "${entry.name}"`;
  const kinds = { tools: "Tool", resources: "Resource", templates: "Resource template", prompts: "Prompt" };
  return `${kinds[entry.kind]} "${entry.feature.key}"`;
}

function entryKey(entry: DefinedFeature): string | undefined {
  return "key" in entry.feature ? entry.feature.key : undefined;
}

/** The features that a mounted server brings: their kind, the method that its middleware is around, and whether their names get the prefix. */
const mountedKinds = [
  ["tools", "tools/call", true],
  ["prompts", "prompts/get", true],
  ["resources", "resources/read", false],
  ["templates", "resources/read", false],
] as const;

/** Returns an object that inherits from the feature, because parts of the feature may still be loading. */
function mountFeature<F extends CompiledFeature>(feature: F, chain: readonly Middleware[], prefix?: string): F {
  const changes: PropertyDescriptorMap = {
    around: { value: [...chain, ...feature.around] },
    isMounted: { value: true },
  };
  if (prefix === undefined) return Object.create(feature, changes);
  const key = prefix + feature.key;
  const entry = (): JsonObject => ({ ...feature.entry, name: key });
  return Object.create(feature, { ...changes, key: { value: key }, entry: { get: entry } });
}

/** Makes a server that may change. A running call keeps the feature it began with. */
export function live<App, Tools>(server: Server<App, Tools>): LiveServer<App, Tools> {
  let current = server;
  const runtime = new ServerRuntime(liveSnapshotOf(server));
  /** The snapshot before the first change of this turn. */
  let announced: Snapshot | undefined;
  const announce = () => {
    const before = announced;
    announced = undefined;
    if (before) for (const topic of changedLists(before, runtime.snapshot)) runtime.hub.publish(topic, {});
  };
  return {
    get current() {
      return current;
    },
    update(change) {
      expectFunction("update", change, "invalid-argument");
      // The tools of a later definition are known at run time only.
      const next = change(current) as Server<App, Tools>;
      if (!(next instanceof Definition)) {
        throw unexpected("update: the function's return value", "the changed server", next, "invalid-argument");
      }
      const before = runtime.snapshot;
      runtime.snapshot = liveSnapshotOf(next);
      current = next;
      if (!announced) {
        announced = before;
        queueMicrotask(announce);
      }
      const ready = runtime.ready();
      // Many callers do not await an update: then `onError` alone learns of the failure.
      ready.catch(() => runtime.reportInvalid());
      return ready;
    },
    publish(topic, payload, audience) {
      publishOn(runtime, topic, payload, audience);
    },
    [runtimeKey]: () => runtime,
  };
}

/** Compiles a definition that is served live. */
function liveSnapshotOf(server: Servable): Snapshot {
  if (server instanceof Definition) return server.toSnapshot(true);
  throw notAServer("made by createServer", server);
}

function changedLists(before: Snapshot, after: Snapshot): string[] {
  const differ = (a: readonly object[], b: readonly object[]) =>
    a.length !== b.length || a.some((feature, index) => feature !== b[index]);
  const topics: string[] = [];
  if (differ(before.parts.tools, after.parts.tools)) topics.push("tools/list_changed");
  if (differ(before.parts.prompts, after.parts.prompts)) topics.push("prompts/list_changed");
  const resources = differ(before.parts.resources, after.parts.resources);
  if (resources || differ(before.parts.templates, after.parts.templates)) topics.push("resources/list_changed");
  return topics;
}

/** Publishes to this process and to the processes that share a storage. Throws for a list that cannot change. */
function publishOn(runtime: ServerRuntime, topic: keyof Topics, payload: JsonObject, audience?: Audience): void {
  // Extensions have topics of their own.
  const isKnown = revisions.some(({ encoderParts }) => encoderParts.serverNotifications.has(`notifications/${topic}`));
  if (!isKnown && runtime.snapshot.parts.extensions.length === 0) {
    throw unexpected("publish", 'a topic such as "resources/updated"', topic, "invalid-argument");
  }
  const mayChange =
    topic === "resources/list_changed" ? runtime.snapshot.listsTemplates : !topic.endsWith("list_changed");
  if (!mayChange && !runtime.snapshot.isLive) {
    throw new PortolanError(
      "invalid-argument",
      `publish("${topic}"): this list cannot change; serve live(server) to change it`,
    );
  }
  runtime.publish(topic, payload, audience);
}

/** Returns the state that all connections of a server share. */
export function runtimeOf(served: Servable): ServerRuntime {
  if (typeof served?.[runtimeKey] === "function") return served[runtimeKey]();
  throw notAServer("made by createServer or live", served);
}

function notAServer(made: string, got: unknown): PortolanError {
  return new PortolanError("invalid-argument", `Expected a server ${made}, got ${nameOf(got)}`);
}
