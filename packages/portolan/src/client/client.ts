import { nameOf, PortolanError } from "../errors.ts";
import type { JsonObject } from "../jsonrpc/message.ts";
import type {
  Completion,
  CompletionReference,
  JsonSchema,
  LogLevel,
  Prompt,
  Resource,
  ResourceTemplate,
  ServerCapabilities,
  Tool,
} from "../protocol/types/index.ts";
import type { ChangeFilter, ChangeStream, Client, ListAllOptions, ServerProfile } from "./api.ts";
import type { CachedCalls } from "./cached-calls.ts";
import type { ClientConnection } from "./connection.ts";
import { maxOutputSchemas } from "./limits.ts";
import type { CallOptions, InteractiveCallOptions } from "./options.ts";
import type { OutputCheck } from "./output-check.ts";
import type { StatefulWatches } from "./watch.ts";

const noOptions: InteractiveCallOptions = {};

/** The implementation of `Client`, which types the names and arguments of tools; here they are any. */
export class ConnectedClient implements AsyncDisposable {
  readonly server: ServerProfile;
  readonly closed: Promise<Error | undefined>;
  readonly #connection: ClientConnection;
  readonly #outputChecks: OutputChecks;
  #cachedCalls: Promise<CachedCalls> | undefined;
  #watches: StatefulWatches | undefined;

  constructor(connection: ClientConnection, server: ServerProfile) {
    this.#connection = connection;
    this.server = server;
    this.#outputChecks = new OutputChecks((warning) => connection.report(warning));
    this.closed = new Promise((resolve) => {
      const end = (reason: Error) => {
        connection.deadlines.stop();
        resolve(connection.isClosing ? undefined : reason);
      };
      if (connection.lostReason) end(connection.lostReason);
      else connection.onLost(end);
    });
  }

  callTool(name: string, args: JsonObject = {}, options: InteractiveCallOptions = noOptions): Promise<JsonObject> {
    if (typeof name !== "string") return rejectArgument("callTool", "the name of a tool", name);
    if (typeof args !== "object" || args === null)
      return rejectArgument(`callTool "${name}"`, "an object of arguments", args);
    const params = { name, arguments: args, _meta: undefined };
    if (!this.#outputChecks.has(name)) return this.#call("tools/call", params, options);
    const check = this.#outputChecks.compiled(name);
    return check ? this.#callChecked(check, params, options) : this.#compileAndCall(name, params, options);
  }

  readResource(uri: string, options: InteractiveCallOptions = noOptions): Promise<JsonObject> {
    if (typeof uri !== "string") return rejectArgument("readResource", "a URI", uri);
    return this.#call("resources/read", { uri, _meta: undefined }, options);
  }

  getPrompt(
    name: string,
    args: { [name: string]: string } = {},
    options: InteractiveCallOptions = noOptions,
  ): Promise<JsonObject> {
    if (typeof name !== "string") return rejectArgument("getPrompt", "the name of a prompt", name);
    return this.#call("prompts/get", { name, arguments: args, _meta: undefined }, options);
  }

  async complete(
    ref: CompletionReference,
    argument: { name: string; value: string },
    options: CallOptions & { known?: { [name: string]: string } } = {},
  ): Promise<Completion> {
    const { known } = options;
    const params = { ref, argument, ...(known && { context: { arguments: known } }) };
    const { completion } = await this.#call("completion/complete", params, options);
    return completion as Completion;
  }

  tools(options?: ListAllOptions): AsyncIterable<Tool> {
    return this.#walk("tools/list", "tools", options);
  }

  resources(options?: ListAllOptions): AsyncIterable<Resource> {
    return this.#walk("resources/list", "resources", options);
  }

  templates(options?: ListAllOptions): AsyncIterable<ResourceTemplate> {
    return this.#walk("resources/templates/list", "resourceTemplates", options);
  }

  prompts(options?: ListAllOptions): AsyncIterable<Prompt> {
    return this.#walk("prompts/list", "prompts", options);
  }

  listTools(options?: ListAllOptions): Promise<Tool[]> {
    return this.#collect("tools/list", "tools", options);
  }

  listResources(options?: ListAllOptions): Promise<Resource[]> {
    return this.#collect("resources/list", "resources", options);
  }

  listTemplates(options?: ListAllOptions): Promise<ResourceTemplate[]> {
    return this.#collect("resources/templates/list", "resourceTemplates", options);
  }

  listPrompts(options?: ListAllOptions): Promise<Prompt[]> {
    return this.#collect("prompts/list", "prompts", options);
  }

  async watch(filter: ChangeFilter, options: { signal?: AbortSignal } = {}): Promise<ChangeStream> {
    const { openStatelessWatch, StatefulWatches, supportedFilter } = await import("./watch.ts");
    const wanted = supportedFilter(filter, this.server.capabilities);
    if (this.#connection.revision.changes === "listen") {
      return openStatelessWatch(this.#connection, wanted, options.signal, () =>
        this.#cachedCalls?.then((cachedCalls) => cachedCalls.invalidate()),
      );
    }
    this.#watches ??= new StatefulWatches(this.#connection);
    return this.#watches.open(wanted, options);
  }

  async setLogLevel(level: LogLevel, options: CallOptions = {}): Promise<void> {
    const isRequest = this.#connection.revision.requests.has("logging/setLevel");
    if (isRequest) await this.#call("logging/setLevel", { level }, options);
    this.#connection.setLogLevel(level);
  }

  rootsChanged(): void {
    const method = "notifications/roots/list_changed";
    if (this.#connection.revision.clientNotifications.has(method)) this.notify(method);
  }

  async ping(options: CallOptions = {}): Promise<void> {
    const isRequest = this.#connection.revision.requests.has("ping");
    await this.#connection.call(isRequest ? "ping" : "server/discover", {}, options);
  }

  request(method: string, params: JsonObject = {}, options: InteractiveCallOptions = noOptions): Promise<JsonObject> {
    if (typeof method !== "string") return rejectArgument("request", "the name of a method", method);
    return this.#call(method, { ...params }, options);
  }

  notify(method: string, params?: JsonObject): void {
    this.#connection.link.notify({ jsonrpc: "2.0", method, ...(params && { params }) });
  }

  async close(): Promise<void> {
    this.#connection.isClosing = true;
    await this.#connection.link.close();
    await this.closed;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  // Hot path: a tool call needs neither the cache nor the output schemas of a list.
  #call(method: string, params: JsonObject, options: InteractiveCallOptions): Promise<JsonObject> {
    if (method === "tools/call") {
      return this.server.capabilities.tools
        ? this.#connection.call(method, params, options)
        : Promise.reject(notOffered(method, "tools"));
    }
    const missing = this.#missingFor(method);
    if (missing !== undefined) return Promise.reject(notOffered(method, missing));
    const isCacheable =
      this.#connection.revision.requests.get(method)?.cacheable && this.#connection.options.cache !== false;
    const result = isCacheable
      ? this.#callCached(method, params, options)
      : this.#connection.call(method, params, options);
    if (method !== "tools/list") return result;
    return result.then((page) => {
      this.#outputChecks.learn(page["tools"] as Tool[]);
      return page;
    });
  }

  /** Returns the capability that a request needs and the server does not declare. Extensions need none. */
  #missingFor(method: string): keyof ServerCapabilities | undefined {
    const { requests, encoderParts } = this.#connection.revision;
    const needed = requests.has(method) ? capabilityNames[method.slice(0, method.indexOf("/"))] : undefined;
    if (needed === undefined || this.server.capabilities[needed] !== undefined) return undefined;
    // The oldest revision has completion but no capability that declares it.
    return encoderParts.hidden.get("serverCapabilities")?.includes(needed) ? undefined : needed;
  }

  async #compileAndCall(name: string, params: JsonObject, options: InteractiveCallOptions): Promise<JsonObject> {
    const check = await this.#outputChecks.compile(name);
    return check ? this.#callChecked(check, params, options) : this.#call("tools/call", params, options);
  }

  #callChecked(check: OutputCheck, params: JsonObject, options: InteractiveCallOptions): Promise<JsonObject> {
    if (check.invalid) return Promise.reject(check.invalid);
    return this.#connection.call("tools/call", params, options, check.attach);
  }

  async #callCached(method: string, params: JsonObject, options: InteractiveCallOptions): Promise<JsonObject> {
    this.#cachedCalls ??= import("./cached-calls.ts").then(({ CachedCalls }) => new CachedCalls(this.#connection));
    return (await this.#cachedCalls).call(method, params, options);
  }

  /** Yields nothing if the server lacks the capability. */
  async *#walk<T>(method: string, member: string, options: ListAllOptions = {}): AsyncGenerator<T> {
    if (this.#missingFor(method) !== undefined) return;
    const { walk } = await import("./lists.ts");
    yield* walk<T>((params) => this.#call(method, params, options), method, member, options);
  }

  async #collect<T>(method: string, member: string, options: ListAllOptions = {}): Promise<T[]> {
    if (this.#missingFor(method) !== undefined) return [];
    const { collect } = await import("./lists.ts");
    const requestPage = (params: JsonObject, isFresh = false) =>
      this.#call(method, params, isFresh ? { ...options, fresh: true } : options);
    return collect<T>(requestPage, method, member, options);
  }
}

/** Returns the same object with its public type. */
export function asClient<S>(client: ConnectedClient): Client<S> {
  return client as unknown as Client<S>;
}

function rejectArgument(what: string, expected: string, got: unknown): Promise<never> {
  return Promise.reject(new PortolanError("invalid-argument", `${what}: expected ${expected}, got ${nameOf(got)}`));
}

interface KnownOutput {
  readonly schema: JsonSchema;
  check?: OutputCheck;
}

/** The output schemas of listed tools, compiled when a tool is first called. */
class OutputChecks {
  readonly #known = new Map<string, KnownOutput>();
  readonly #warn: (error: Error) => void;

  constructor(warn: (error: Error) => void) {
    this.#warn = warn;
  }

  /** Takes the definitions of a list page, which may contain invalid ones. */
  learn(tools: readonly (Tool | null)[]): void {
    for (const tool of tools) {
      const { name, outputSchema } = tool ?? ({} as Tool);
      if (outputSchema === undefined) this.#known.delete(name);
      else if (this.#known.size < maxOutputSchemas || this.#known.has(name)) {
        this.#known.set(name, { schema: outputSchema });
      }
    }
  }

  has(name: string): boolean {
    return this.#known.has(name);
  }

  /** Returns the check of a tool that has been called before, otherwise undefined. */
  compiled(name: string): OutputCheck | undefined {
    return this.#known.get(name)?.check;
  }

  /** An invalid schema fails the calls of its own tool only. */
  async compile(name: string): Promise<OutputCheck | undefined> {
    const known = this.#known.get(name);
    if (!known) return undefined;
    const { createOutputCheck } = await import("./output-check.ts");
    known.check ??= createOutputCheck(name, known.schema, this.#warn);
    return known.check;
  }
}

/** The capability that requests need, by the first part of their method. */
const capabilityNames: { readonly [area: string]: keyof ServerCapabilities } = {
  tools: "tools",
  resources: "resources",
  prompts: "prompts",
  completion: "completions",
  logging: "logging",
};

function notOffered(method: string, capability: string): PortolanError {
  const why = `${method}: the server does not support this (missing capability: ${capability})`;
  return new PortolanError("capability-missing", why);
}
