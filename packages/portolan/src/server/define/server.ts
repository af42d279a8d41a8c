import { nameOf, PortolanError } from "../../errors.ts";
import type { JsonObject } from "../../jsonrpc/message.ts";
import type { AddTool, NoTools } from "../../protocol/typed-tools.ts";
import type { ExtraMethod, Middleware, ServerExtension } from "../extension.ts";
import { type Audience, Runtime, type Topics, tellOperator } from "../subscribe/hub.ts";
import { expectFunction, expectFunctionIn, unexpected } from "./check.ts";
import type {
  ArgumentDefinition,
  PromptDefinition,
  ResourceDefinition,
  ServerInfo,
  ServerOptions,
  TemplateDefinition,
  ToolDefinition,
} from "./definition.ts";
import { type AnyArguments, compilePrompt, compileResource, compileTemplate } from "./resources.ts";
import { type Feature, type NotificationHandler, type Parts, Snapshot } from "./snapshot.ts";
import { compileTool } from "./tools.ts";

const runtimeKey: unique symbol = Symbol("portolan.runtime");

/**
 * A server's definition: an immutable, compiled value. Each method returns a new one; the same value can be served over
 * any number of transports to any number of clients of every revision, all at once.
 */
export interface Server<App = undefined, Tools = unknown> extends Servable {
  /** The types of the tools, for clients; there is nothing here at run time. */
  readonly "~tools"?: Tools;
  readonly info: ServerInfo;
  /** The same server, which keeps the types of the tools that follow: `connect<typeof server>(…)` then knows them. */
  typed(): Server<App, NoTools>;
  tool<N extends string, I = JsonObject, O = unknown, A = I>(
    name: N,
    definition: ToolDefinition<I, O, App, A>,
  ): Server<App, AddTool<Tools, N, A, O>>;
  resource(uri: string, definition: ResourceDefinition<App>): Server<App, Tools>;
  template(uriTemplate: string, definition: TemplateDefinition<App>): Server<App, Tools>;
  prompt<const A extends { [name: string]: ArgumentDefinition<App> } = Record<never, never>>(
    name: string,
    definition: PromptDefinition<A, App>,
  ): Server<App, Tools>;
  /** The same server without one of its features. */
  without(kind: "tools" | "resources" | "templates" | "prompts", key: string): Server<App, Tools>;
  /** Stands around every request, or around those of one method. */
  use(around: Middleware, options?: { method?: string }): Server<App, Tools>;
  /** Turns an extension on, for the clients that declare it. */
  extend(extension: ServerExtension): Server<App, Tools>;
  /** Brings the features of another server in, their names behind a prefix; resources keep their URIs. */
  mount<P extends string>(
    prefix: P,
    server: Servable,
  ): Server<App, AddTool<Tools, `${P}${string}`, JsonObject, unknown>>;
  /** Answers a request of your own, on every revision. */
  method(name: string, method: ExtraMethod): Server<App, Tools>;
  /** Hears a notification of stateful clients, such as a change of their roots. */
  notification(name: string, hear: NotificationHandler): Server<App, Tools>;
  /** Says something outside a request, to those who asked to hear it. */
  publish<T extends keyof Topics>(topic: T, payload: Topics[T], audience?: Audience): void;
}

/** What can be served: a definition, or a live server that changes. */
export interface Servable {
  [runtimeKey](): Runtime;
}

/** The shared state behind a served value. */
export function runtimeOf(served: Servable): Runtime {
  if (typeof served?.[runtimeKey] === "function") return served[runtimeKey]();
  throw notServed("made by createServer or live", served);
}

/** Makes what a live server is served by. */
export function servedBy<T extends object>(value: T, runtime: Runtime): T & Servable {
  return Object.assign(value, { [runtimeKey]: () => runtime });
}

const minSecretLength = 32;

/** Begins the definition of a server. */
export function createServer<App = undefined>(info: ServerInfo, options: ServerOptions<App> = {}): Server<App> {
  if (typeof info?.name !== "string" || typeof info.version !== "string") {
    throw unexpected("createServer", "{ name, version } as strings", info);
  }
  if (typeof options !== "object" || options === null) throw unexpected("createServer: options", "an object", options);
  if (options.secrets?.some((secret) => secret.length < minSecretLength)) {
    throw new PortolanError(
      "invalid-definition",
      `createServer: secrets: expected at least ${minSecretLength} characters each`,
    );
  }
  return new Definition<App>({ ...info }, options as ServerOptions<unknown>, new DefinedFeatures([]));
}

/** No tools are told apart here; what a chain of calls has defined is known to its types only. */
class Definition<App> implements Server<App, never> {
  readonly info: ServerInfo;
  readonly #options: ServerOptions<unknown>;
  readonly #entries: DefinedFeatures;
  #runtime: Runtime | undefined;

  constructor(info: ServerInfo, options: ServerOptions<unknown>, entries: DefinedFeatures) {
    this.info = info;
    this.#options = options;
    this.#entries = entries;
  }

  typed(): Server<App, never> {
    return this;
  }

  tool<I, O, A>(name: string, definition: ToolDefinition<I, O, App, A>): Server<App, never> {
    warnOfName(this.#options, named("tool", name));
    const feature = compileTool(
      name,
      definition as unknown as ToolDefinition<unknown, unknown, unknown>,
      this.#options.app,
    );
    return this.#with({ kind: "tools", feature });
  }

  resource(uri: string, definition: ResourceDefinition<App>): Server<App, never> {
    const feature = compileResource(uri, definition as unknown as ResourceDefinition<unknown>, this.#options.app);
    return this.#with({ kind: "resources", feature });
  }

  template(uriTemplate: string, definition: TemplateDefinition<App>): Server<App, never> {
    const feature = compileTemplate(
      uriTemplate,
      definition as unknown as TemplateDefinition<unknown>,
      this.#options.app,
    );
    return this.#with({ kind: "templates", feature });
  }

  prompt<A>(name: string, definition: PromptDefinition<A, App>): Server<App, never> {
    const feature = compilePrompt(
      named("prompt", name),
      definition as unknown as PromptDefinition<AnyArguments, unknown>,
      this.#options.app,
    );
    return this.#with({ kind: "prompts", feature });
  }

  without(kind: "tools" | "resources" | "templates" | "prompts", key: string): Server<App, never> {
    return new Definition<App>(this.info, this.#options, this.#entries.without(kind, key));
  }

  use(around: Middleware, options: { method?: string } = {}): Server<App, never> {
    expectFunction("use", around);
    return this.#with({ kind: "middleware", feature: { method: options.method, around } });
  }

  extend(extension: ServerExtension): Server<App, never> {
    if (typeof extension?.id !== "string") throw unexpected("extend", "{ id, on }", extension);
    if (!extension.id.includes("/")) {
      throw new PortolanError(
        "invalid-definition",
        `Extension "${extension.id}": expected an id with a prefix, such as com.example/id`,
      );
    }
    expectFunctionIn(`Extension "${extension.id}"`, extension, "on");
    return this.#with({ kind: "extensions", feature: extension });
  }

  mount(prefix: string, server: Servable): Server<App, never> {
    if (typeof prefix !== "string") throw unexpected("mount", "a prefix as a string", prefix);
    const { tools, resources, templates, prompts } = mounted(prefix, runtimeOf(server).snapshot);
    const entries: DefinedFeature[] = [
      ...tools.map((feature) => ({ kind: "tools", feature }) as const),
      ...resources.map((feature) => ({ kind: "resources", feature }) as const),
      ...templates.map((feature) => ({ kind: "templates", feature }) as const),
      ...prompts.map((feature) => ({ kind: "prompts", feature }) as const),
    ];
    return this.#with(...entries);
  }

  method(name: string, method: ExtraMethod): Server<App, never> {
    expectFunctionIn(`Method "${named("method", name)}"`, method, "handle");
    return this.#with({ kind: "method", name, feature: method });
  }

  notification(name: string, hear: NotificationHandler): Server<App, never> {
    expectFunction(`Notification "${named("notification", name)}"`, hear);
    return this.#with({ kind: "notification", name, feature: hear });
  }

  publish<T extends keyof Topics>(topic: T, payload: Topics[T], audience?: Audience): void {
    publishOn(this[runtimeKey](), topic, payload, audience);
  }

  [runtimeKey](): Runtime {
    this.#runtime ??= new Runtime(this.toSnapshot(false));
    return this.#runtime;
  }

  toSnapshot(isLive: boolean): Snapshot {
    return new Snapshot(this.info, this.#options, this.#entries.toParts(), isLive);
  }

  #with(...entries: DefinedFeature[]): Definition<App> {
    const all = entries.reduce((all, entry) => all.add(entry), this.#entries);
    return new Definition<App>(this.info, this.#options, all);
  }
}

/** The compiled form of a definition, for serving it live. */
export function snapshotOf(server: Servable, isLive: boolean): Snapshot {
  if (server instanceof Definition) return server.toSnapshot(isLive);
  throw notServed("made by createServer", server);
}

/** Publishes what the server said that it may publish. */
export function publishOn(runtime: Runtime, topic: keyof Topics, payload: JsonObject, audience?: Audience): void {
  const isOffered =
    topic === "resources/list_changed" ? runtime.snapshot.listsTemplates : !topic.endsWith("list_changed");
  if (!isOffered && !runtime.snapshot.isLive) {
    throw new PortolanError(
      "invalid-argument",
      `publish("${topic}"): this list cannot change; serve live(server) to change it`,
    );
  }
  runtime.hub.publish(topic, payload, audience);
  for (const tell of runtime.relays) tell({ topic, payload, audience });
}

const commonName = /^[A-Za-z0-9_.-]{1,128}$/;

/** Any name is served, but some clients refuse what the protocol advises against. */
function warnOfName(options: ServerOptions<unknown>, name: string): void {
  if (commonName.test(name)) return;
  const advice = "some clients refuse names with other characters than A-Z a-z 0-9 _ . - or longer than 128";
  tellOperator(options, new PortolanError("invalid-definition", `Tool name ${JSON.stringify(name)}: ${advice}`), {});
}

function named(kind: string, name: string): string {
  if (typeof name !== "string" || name === "") {
    throw unexpected(`The name of a ${kind}`, "a string that is not empty", name);
  }
  return name;
}

function notServed(made: string, got: unknown): PortolanError {
  return new PortolanError("invalid-argument", `Expected a server ${made}, got ${nameOf(got)}`);
}

/** One thing a server was told. */
export type DefinedFeature =
  | { readonly kind: "tools" | "resources" | "templates" | "prompts"; readonly feature: { readonly key: string } }
  | { readonly kind: "middleware"; readonly feature: Parts["middleware"][number] }
  | { readonly kind: "extensions"; readonly feature: ServerExtension }
  | { readonly kind: "method"; readonly name: string; readonly feature: ExtraMethod }
  | { readonly kind: "notification"; readonly name: string; readonly feature: NotificationHandler };

/** An append-only list that versions share: adding is one step, and no version sees what was added after it. */
export class DefinedFeatures {
  readonly #entries: DefinedFeature[];
  readonly #keys: Map<string, number>;
  readonly length: number;

  constructor(entries: DefinedFeature[], keys: Map<string, number> = new Map(), length: number = entries.length) {
    this.#entries = entries;
    this.#keys = keys;
    this.length = length;
  }

  add(entry: DefinedFeature): DefinedFeatures {
    // Another version went its own way from here: this one needs lists of its own.
    if (this.#entries.length !== this.length) return this.#copy().add(entry);
    const key = keyOf(entry);
    if (key !== undefined) {
      if (this.#keys.has(key))
        throw new PortolanError("invalid-definition", `${key} is defined twice; names must differ`);
      this.#keys.set(key, this.length);
    }
    this.#entries.push(entry);
    return new DefinedFeatures(this.#entries, this.#keys);
  }

  /** All but one feature; the definition it leaves keeps it. */
  without(kind: DefinedFeature["kind"], key: string): DefinedFeatures {
    const kept = this.#entries.slice(0, this.length).filter((entry) => entry.kind !== kind || entryKey(entry) !== key);
    if (kept.length === this.length) {
      throw new PortolanError(
        "invalid-argument",
        `without: expected one of the ${kind} that are defined, got "${key}"`,
      );
    }
    return kept.reduce((all, entry) => all.add(entry), new DefinedFeatures([]));
  }

  #copy(): DefinedFeatures {
    const keys = new Map([...this.#keys].filter(([, index]) => index < this.length));
    return new DefinedFeatures(this.#entries.slice(0, this.length), keys);
  }

  toParts(): Parts {
    const entries = this.#entries.slice(0, this.length);
    const features = <T>(kind: DefinedFeature["kind"]): T[] =>
      entries.filter((entry) => entry.kind === kind).map((entry) => entry.feature as T);
    const named = <T>(kind: DefinedFeature["kind"]): Map<string, T> =>
      new Map(
        entries.flatMap((entry) => (entry.kind === kind && "name" in entry ? [[entry.name, entry.feature as T]] : [])),
      );
    return {
      tools: features("tools"),
      resources: features("resources"),
      templates: features("templates"),
      prompts: features("prompts"),
      middleware: features("middleware"),
      extensions: features("extensions"),
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

interface Mountable extends Feature {
  readonly around: readonly Middleware[];
}

/** The features of a server under a prefix, each inside the middleware of the server it comes from. */
export function mounted(
  prefix: string,
  snapshot: Snapshot,
): Pick<Parts, "tools" | "resources" | "templates" | "prompts"> {
  const { tools, prompts, resources, templates } = snapshot.parts;
  const chain = (method: string) => snapshot.chain(method);
  return {
    tools: tools.map((tool) => under(tool, chain("tools/call"), prefix)),
    prompts: prompts.map((prompt) => under(prompt, chain("prompts/get"), prefix)),
    resources: resources.map((resource) => under(resource, chain("resources/read"))),
    templates: templates.map((template) => under(template, chain("resources/read"))),
  };
}

/** Inherits from the feature, because parts of it may still be loading. */
function under<F extends Mountable>(feature: F, chain: readonly Middleware[], prefix?: string): F {
  const around = [...chain, ...feature.around];
  if (prefix === undefined) return Object.create(feature, { around: { value: around } });
  const key = prefix + feature.key;
  const entry = (): JsonObject => ({ ...feature.entry, name: key });
  return Object.create(feature, { around: { value: around }, key: { value: key }, entry: { get: entry } });
}

/** A server whose features change while it is served. */
export interface LiveServer<App = undefined> extends Servable {
  readonly current: Server<App>;
  /** Replaces the definition; clients are told once of each list that changed, however often it did in one turn. */
  update(change: (current: Server<App>) => Server<App>): void;
  publish<T extends keyof Topics>(topic: T, payload: Topics[T], audience?: Audience): void;
}

/** Makes a server that may change: requests that run keep the definition they began with. */
export function live<App>(server: Server<App>): LiveServer<App> {
  let current = server;
  const runtime = new Runtime(snapshotOf(server, true));
  let announced: Snapshot | undefined;
  const announce = () => {
    const before = announced;
    announced = undefined;
    if (before) for (const topic of changedLists(before, runtime.snapshot)) runtime.hub.publish(topic, {});
  };
  return servedBy(
    {
      get current() {
        return current;
      },
      update(change: (current: Server<App>) => Server<App>) {
        expectFunction("update", change, "invalid-argument");
        const next = change(current);
        const before = runtime.snapshot;
        runtime.snapshot = snapshotOf(next, true);
        current = next;
        if (announced) return;
        announced = before;
        queueMicrotask(announce);
      },
      publish<T extends keyof Topics>(topic: T, payload: Topics[T], audience?: Audience) {
        publishOn(runtime, topic, payload, audience);
      },
    },
    runtime,
  );
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
