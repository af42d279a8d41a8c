import { PortolanError } from "../errors.ts";
import type { JsonObject } from "../jsonrpc/message.ts";
import type {
  ClientCapabilities,
  Completion,
  CompletionReference,
  LogLevel,
  Prompt,
  Resource,
  ResourceTemplate,
  ServerCapabilities,
  Tool,
} from "../protocol/types/index.ts";
import type { ChangeFilter, ChangeStream, Client, ListAllOptions, ServerProfile } from "./api.ts";
import type { CachedCalls } from "./cached-calls.ts";
import {
  callOptionKinds,
  interactiveOptionKinds,
  rejectArgument,
  rejectInvalid,
  requestOptionKinds,
  toolOptionKinds,
} from "./call.ts";
import type { ClientConnection } from "./connection.ts";
import type { RequestPage } from "./lists.ts";
import type { CallOptions, InteractiveCallOptions, RawRequestOptions, ToolCallOptions } from "./options.ts";
import type { OutputChecks } from "./output-check.ts";
import type { StatefulWatches } from "./watch.ts";

const noOptions: InteractiveCallOptions = {};

/** The implementation of `Client`, which types the names and arguments of tools; here they are any. */
export class ConnectedClient implements AsyncDisposable {
  readonly server: ServerProfile;
  readonly closed: Promise<Error | undefined>;
  readonly #connection: ClientConnection;
  /** Defined once a tool with an output schema was listed. */
  #outputChecks: OutputChecks | undefined;
  #cachedCalls: Promise<CachedCalls> | undefined;
  #watches: StatefulWatches | undefined;

  constructor(connection: ClientConnection, server: ServerProfile) {
    this.#connection = connection;
    this.server = server;
    this.closed = new Promise((resolve) => {
      const end = (reason: Error) => {
        connection.deadlines.stop();
        resolve(connection.isClosing ? undefined : reason);
      };
      if (connection.lostReason) end(connection.lostReason);
      else connection.onLost(end);
    });
  }

  get offered(): ClientCapabilities {
    const { codec, self } = this.#connection;
    return codec.offered(self);
  }

  callTool(name: string, args: JsonObject = {}, options: ToolCallOptions = noOptions): Promise<JsonObject> {
    if (typeof name !== "string") return rejectArgument("callTool", "the name of a tool", name);
    if (typeof args !== "object" || args === null)
      return rejectArgument(`callTool "${name}"`, "an object of arguments", args);
    const invalid = rejectInvalid(options, toolOptionKinds, "callTool");
    if (invalid) return invalid;
    if (options.argumentsText !== undefined) {
      return import("./verbatim.ts").then(({ verbatim }) => this.callTool(name, ...verbatim(name, args, options)));
    }
    const params = { name, arguments: args, _meta: undefined };
    const check = this.#outputChecks?.find(name);
    if (!check) return this.#call("tools/call", params, options);
    return check.invalid && options.output !== "report"
      ? Promise.reject(check.invalid)
      : this.#connection.call("tools/call", params, options, check.attach);
  }

  readResource(uri: string, options: InteractiveCallOptions = noOptions): Promise<JsonObject> {
    if (typeof uri !== "string") return rejectArgument("readResource", "a URI", uri);
    return (
      rejectInvalid(options, interactiveOptionKinds, "readResource") ??
      this.#call("resources/read", { uri, _meta: undefined }, options)
    );
  }

  getPrompt(
    name: string,
    args: { [name: string]: string } = {},
    options: InteractiveCallOptions = noOptions,
  ): Promise<JsonObject> {
    if (typeof name !== "string") return rejectArgument("getPrompt", "the name of a prompt", name);
    return (
      rejectInvalid(options, interactiveOptionKinds, "getPrompt") ??
      this.#call("prompts/get", { name, arguments: args, _meta: undefined }, options)
    );
  }

  async complete(
    ref: CompletionReference,
    argument: { name: string; value: string },
    options: CallOptions & { known?: { [name: string]: string } } = noOptions,
  ): Promise<Completion> {
    await rejectInvalid(options, { ...callOptionKinds, known: "object" }, "complete");
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

  async watch(filter: ChangeFilter, options: { signal?: AbortSignal } = noOptions): Promise<ChangeStream> {
    await rejectInvalid(options, { signal: "object" }, "watch");
    const { openStatelessWatch, StatefulWatches, supportedFilter } = await import("./watch.ts");
    const wanted = supportedFilter(filter, this.server.capabilities, this.#connection.extensions);
    if (this.#connection.revision.changes === "listen") {
      return openStatelessWatch(this.#connection, wanted, options.signal, () =>
        this.#cachedCalls?.then((cachedCalls) => cachedCalls.invalidate()),
      );
    }
    this.#watches ??= new StatefulWatches(this.#connection);
    return this.#watches.open(wanted, options);
  }

  async setLogLevel(level: LogLevel, options: CallOptions = noOptions): Promise<void> {
    await rejectInvalid(options, callOptionKinds, "setLogLevel");
    const isRequest = this.#connection.revision.requests.has("logging/setLevel");
    if (isRequest) await this.#call("logging/setLevel", { level }, options);
    this.#connection.setLogLevel(level);
  }

  rootsChanged(): void {
    const method = "notifications/roots/list_changed";
    if (this.#connection.revision.clientNotifications.has(method)) this.notify(method);
  }

  async ping(options: CallOptions = noOptions): Promise<void> {
    const isRequest = this.#connection.revision.requests.has("ping");
    await rejectInvalid(options, callOptionKinds, "ping");
    await this.#connection.call(isRequest ? "ping" : "server/discover", {}, options);
  }

  request(method: string, params: JsonObject = {}, options: RawRequestOptions = noOptions): Promise<JsonObject> {
    if (typeof method !== "string") return rejectArgument("request", "the name of a method", method);
    const invalid = rejectInvalid(options, requestOptionKinds, "request");
    if (invalid) return invalid;
    return options.paramsText === undefined
      ? this.#call(method, { ...params }, options)
      : import("./verbatim.ts").then((part) => this.request(method, ...part.verbatimParams(method, params, options)));
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
    return result.then(async (page) => {
      const tools = page["tools"] as (Tool | null)[];
      if (this.#outputChecks || tools.some((tool) => tool?.outputSchema)) {
        const { OutputChecks } = await import("./output-check.ts");
        this.#outputChecks ??= new OutputChecks((warning) => this.#connection.report(warning));
        this.#outputChecks.learn(tools);
      }
      return page;
    });
  }

  /** Returns the capability that a request needs and the server does not declare. Extensions need none. */
  #missingFor(method: string): keyof ServerCapabilities | undefined {
    const { requests, encoderParts } = this.#connection.revision;
    const needed = requests.get(method)?.capability?.split(".")[0] as keyof ServerCapabilities | undefined;
    if (needed === undefined || this.server.capabilities[needed] !== undefined) return undefined;
    // The oldest revision has completion but no capability that declares it.
    return encoderParts.hidden.get("serverCapabilities")?.includes(needed) ? undefined : needed;
  }

  async #callCached(method: string, params: JsonObject, options: InteractiveCallOptions): Promise<JsonObject> {
    this.#cachedCalls ??= import("./cached-calls.ts").then(({ CachedCalls }) => new CachedCalls(this.#connection));
    return (await this.#cachedCalls).call(method, params, options);
  }

  async *#walk<T>(method: string, member: string, options: ListAllOptions = noOptions): AsyncGenerator<T> {
    const { walk } = await import("./lists.ts");
    yield* walk<T>(this.#pagesOf(method, options), method, member, options);
  }

  async #collect<T>(method: string, member: string, options: ListAllOptions = noOptions): Promise<T[]> {
    const { collect } = await import("./lists.ts");
    return collect<T>(this.#pagesOf(method, options), method, member, options);
  }

  /** Returns undefined if the server lacks the capability: its list is empty. */
  #pagesOf(method: string, options: ListAllOptions): RequestPage | undefined {
    if (this.#missingFor(method) !== undefined) return undefined;
    return (params, isFresh) => this.#call(method, params, isFresh ? { ...options, fresh: true } : options);
  }
}

/** Returns the same object with its public type. */
export function asClient<S>(client: ConnectedClient): Client<S> {
  return client as unknown as Client<S>;
}

function notOffered(method: string, capability: string): PortolanError {
  const why = `${method}: the server does not support this (missing capability: ${capability})`;
  return new PortolanError("capability-missing", why);
}
