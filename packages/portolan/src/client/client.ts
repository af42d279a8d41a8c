import { nameOf, PortolanError } from "../errors.ts";
import type { JsonObject } from "../jsonrpc/message.ts";
import type {
  Completion,
  CompletionReference,
  LogLevel,
  Prompt,
  Resource,
  ResourceTemplate,
  Tool,
} from "../protocol/types/index.ts";
import type { Client, ListOptions, Watch, WatchFilter } from "./api.ts";
import type { Caching } from "./caching.ts";
import { notOffered, offers } from "./capabilities.ts";
import type { Wire } from "./connection.ts";
import type { AskingCallOptions, CallOptions } from "./options.ts";
import type { OutputCheck } from "./output-check.ts";
import { Outputs } from "./outputs.ts";
import type { ServerProfile } from "./profile.ts";
import type { StatefulWatches } from "./watch-stateful.ts";

const noOptions: AskingCallOptions = {};

/** A client whose connection is settled. The public face is typed by `Client`; here names and arguments are any. */
export class ConnectedClient implements AsyncDisposable {
  readonly server: ServerProfile;
  readonly closed: Promise<Error | undefined>;
  readonly #wire: Wire;
  readonly #outputs: Outputs;
  #caching: Promise<Caching> | undefined;
  #watches: StatefulWatches | undefined;

  constructor(wire: Wire, server: ServerProfile) {
    this.#wire = wire;
    this.server = server;
    this.#outputs = new Outputs((warning) => wire.report(warning));
    this.closed = new Promise((resolve) => {
      const end = (reason: Error) => {
        wire.deadlines.stop();
        resolve(wire.isClosing ? undefined : reason);
      };
      if (wire.lostBy) end(wire.lostBy);
      else wire.onLost(end);
    });
  }

  callTool(name: string, args: JsonObject = {}, options: AskingCallOptions = noOptions): Promise<JsonObject> {
    if (typeof name !== "string") return refuse("callTool", "the name of a tool", name);
    if (typeof args !== "object" || args === null) return refuse(`callTool "${name}"`, "an object of arguments", args);
    const params = { name, arguments: args, _meta: undefined };
    if (!this.#outputs.has(name)) return this.#call("tools/call", params, options);
    const check = this.#outputs.made(name);
    return check ? this.#callChecked(check, params, options) : this.#callFirst(name, params, options);
  }

  readResource(uri: string, options: AskingCallOptions = noOptions): Promise<JsonObject> {
    if (typeof uri !== "string") return refuse("readResource", "an address", uri);
    return this.#call("resources/read", { uri, _meta: undefined }, options);
  }

  getPrompt(
    name: string,
    args: { [name: string]: string } = {},
    options: AskingCallOptions = noOptions,
  ): Promise<JsonObject> {
    if (typeof name !== "string") return refuse("getPrompt", "the name of a prompt", name);
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

  tools(options?: ListOptions): AsyncIterable<Tool> {
    return this.#walk("tools/list", "tools", options);
  }

  resources(options?: ListOptions): AsyncIterable<Resource> {
    return this.#walk("resources/list", "resources", options);
  }

  templates(options?: ListOptions): AsyncIterable<ResourceTemplate> {
    return this.#walk("resources/templates/list", "resourceTemplates", options);
  }

  prompts(options?: ListOptions): AsyncIterable<Prompt> {
    return this.#walk("prompts/list", "prompts", options);
  }

  listTools(options?: ListOptions): Promise<Tool[]> {
    return this.#collect("tools/list", "tools", options);
  }

  listResources(options?: ListOptions): Promise<Resource[]> {
    return this.#collect("resources/list", "resources", options);
  }

  listTemplates(options?: ListOptions): Promise<ResourceTemplate[]> {
    return this.#collect("resources/templates/list", "resourceTemplates", options);
  }

  listPrompts(options?: ListOptions): Promise<Prompt[]> {
    return this.#collect("prompts/list", "prompts", options);
  }

  async watch(filter: WatchFilter, options: { signal?: AbortSignal } = {}): Promise<Watch> {
    const { promised } = await import("./watch.ts");
    const wanted = promised(filter, this.server.capabilities);
    const { revision } = this.#wire;
    if (revision.changes === "listen") {
      const { openStatelessWatch } = await import("./watch-stateless.ts");
      return openStatelessWatch(this.#wire, wanted, options.signal, () =>
        this.#caching?.then((caching) => caching.forget()),
      );
    }
    const { StatefulWatches } = await import("./watch-stateful.ts");
    this.#watches ??= new StatefulWatches(this.#wire);
    return this.#watches.open(wanted, options);
  }

  async setLogLevel(level: LogLevel, options: CallOptions = {}): Promise<void> {
    const isRequest = this.#wire.revision.requests.has("logging/setLevel");
    if (isRequest) await this.#call("logging/setLevel", { level }, options);
    this.#wire.setLogLevel(level);
  }

  rootsChanged(): void {
    const method = "notifications/roots/list_changed";
    if (this.#wire.revision.notifications.has(method)) this.notify(method);
  }

  async ping(options: CallOptions = {}): Promise<void> {
    const isRequest = this.#wire.revision.requests.has("ping");
    await this.#wire.call(isRequest ? "ping" : "server/discover", {}, options);
  }

  request(method: string, params: JsonObject = {}, options: AskingCallOptions = noOptions): Promise<JsonObject> {
    if (typeof method !== "string") return refuse("request", "the name of a method", method);
    return this.#call(method, { ...params }, options);
  }

  notify(method: string, params?: JsonObject): void {
    this.#wire.link.notify({ jsonrpc: "2.0", method, ...(params && { params }) });
  }

  async close(): Promise<void> {
    this.#wire.isClosing = true;
    await this.#wire.link.close();
    await this.closed;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  // Hot path: what is neither kept nor learnt from goes straight out.
  #call(method: string, params: JsonObject, options: AskingCallOptions): Promise<JsonObject> {
    if (method === "tools/call") {
      return this.server.capabilities.tools
        ? this.#wire.call(method, params, options)
        : Promise.reject(notOffered(method));
    }
    if (!this.#offers(method)) return Promise.reject(notOffered(method));
    const isKept = this.#wire.revision.requests.get(method)?.cacheable && this.#wire.options.cache !== false;
    const result = isKept ? this.#callCached(method, params, options) : this.#wire.call(method, params, options);
    if (method !== "tools/list") return result;
    return result.then((page) => {
      this.#outputs.learn(page["tools"] as Tool[]);
      return page;
    });
  }

  #offers(method: string): boolean {
    return offers(this.server.capabilities, method, this.#wire.revision);
  }

  async #callFirst(name: string, params: JsonObject, options: AskingCallOptions): Promise<JsonObject> {
    const check = await this.#outputs.make(name);
    return check ? this.#callChecked(check, params, options) : this.#call("tools/call", params, options);
  }

  #callChecked(check: OutputCheck, params: JsonObject, options: AskingCallOptions): Promise<JsonObject> {
    if (check.unusable) return Promise.reject(check.unusable);
    return this.#wire.call("tools/call", params, options, check.attach);
  }

  async #callCached(method: string, params: JsonObject, options: AskingCallOptions): Promise<JsonObject> {
    this.#caching ??= import("./caching.ts").then(({ Caching }) => new Caching(this.#wire));
    return (await this.#caching).call(method, params, options);
  }

  /** A server without a feature has none of it. */
  async *#walk<T>(method: string, member: string, options: ListOptions = {}): AsyncGenerator<T> {
    if (!this.#offers(method)) return;
    const { walk } = await import("./lists.ts");
    yield* walk<T>((params) => this.#call(method, params, options), method, member, options);
  }

  async #collect<T>(method: string, member: string, options: ListOptions = {}): Promise<T[]> {
    if (!this.#offers(method)) return [];
    const { collect } = await import("./lists.ts");
    const ask = (params: JsonObject, isFresh = false) =>
      this.#call(method, params, isFresh ? { ...options, fresh: true } : options);
    return collect<T>(ask, method, member, options);
  }
}

/** The same object, as its users see it. */
export function faceOf<S>(client: ConnectedClient): Client<S> {
  return client as unknown as Client<S>;
}

function refuse(what: string, expected: string, got: unknown): Promise<never> {
  return Promise.reject(new PortolanError("invalid-argument", `${what}: expected ${expected}, got ${nameOf(got)}`));
}
