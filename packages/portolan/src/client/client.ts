import { nameOf, PortolanError } from "../errors.ts";
import type { JsonObject } from "../jsonrpc/message.ts";
import type { Revision } from "../protocol/revision.ts";
import type {
  ClientCapabilities,
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
import type { compileJsonSchema, JsonSchemaCheck } from "../schema/json-schema.ts";
import type { ChangeFilter, ChangeStream, Client, ListAllOptions, ServerProfile } from "./api.ts";
import type { Call } from "./call.ts";
import type { ClientConnection } from "./connection.ts";
import { toError } from "./failures.ts";
import type { Caching } from "./lists.ts";
import type { Answers, CallOptions, InteractiveCallOptions } from "./options.ts";
import type { StatefulWatches } from "./watch.ts";

const noOptions: InteractiveCallOptions = {};

/** A client whose connection is settled. The public face is typed by `Client`; here names and arguments are any. */
export class ConnectedClient implements AsyncDisposable {
  readonly server: ServerProfile;
  readonly closed: Promise<Error | undefined>;
  readonly #wire: ClientConnection;
  readonly #outputs: Outputs;
  #caching: Promise<Caching> | undefined;
  #watches: StatefulWatches | undefined;

  constructor(wire: ClientConnection, server: ServerProfile) {
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

  callTool(name: string, args: JsonObject = {}, options: InteractiveCallOptions = noOptions): Promise<JsonObject> {
    if (typeof name !== "string") return refuse("callTool", "the name of a tool", name);
    if (typeof args !== "object" || args === null) return refuse(`callTool "${name}"`, "an object of arguments", args);
    const params = { name, arguments: args, _meta: undefined };
    if (!this.#outputs.has(name)) return this.#call("tools/call", params, options);
    const check = this.#outputs.made(name);
    return check ? this.#callChecked(check, params, options) : this.#callFirst(name, params, options);
  }

  readResource(uri: string, options: InteractiveCallOptions = noOptions): Promise<JsonObject> {
    if (typeof uri !== "string") return refuse("readResource", "an address", uri);
    return this.#call("resources/read", { uri, _meta: undefined }, options);
  }

  getPrompt(
    name: string,
    args: { [name: string]: string } = {},
    options: InteractiveCallOptions = noOptions,
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
    const { promised } = await import("./watch.ts");
    const wanted = promised(filter, this.server.capabilities);
    const { revision } = this.#wire;
    if (revision.changes === "listen") {
      const { openStatelessWatch } = await import("./watch.ts");
      return openStatelessWatch(this.#wire, wanted, options.signal, () =>
        this.#caching?.then((caching) => caching.forget()),
      );
    }
    const { StatefulWatches } = await import("./watch.ts");
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

  request(method: string, params: JsonObject = {}, options: InteractiveCallOptions = noOptions): Promise<JsonObject> {
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
  #call(method: string, params: JsonObject, options: InteractiveCallOptions): Promise<JsonObject> {
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

  async #callFirst(name: string, params: JsonObject, options: InteractiveCallOptions): Promise<JsonObject> {
    const check = await this.#outputs.make(name);
    return check ? this.#callChecked(check, params, options) : this.#call("tools/call", params, options);
  }

  #callChecked(check: OutputCheck, params: JsonObject, options: InteractiveCallOptions): Promise<JsonObject> {
    if (check.unusable) return Promise.reject(check.unusable);
    return this.#wire.call("tools/call", params, options, check.attach);
  }

  async #callCached(method: string, params: JsonObject, options: InteractiveCallOptions): Promise<JsonObject> {
    this.#caching ??= import("./lists.ts").then(({ Caching }) => new Caching(this.#wire));
    return (await this.#caching).call(method, params, options);
  }

  /** A server without a feature has none of it. */
  async *#walk<T>(method: string, member: string, options: ListAllOptions = {}): AsyncGenerator<T> {
    if (!this.#offers(method)) return;
    const { walk } = await import("./lists.ts");
    yield* walk<T>((params) => this.#call(method, params, options), method, member, options);
  }

  async #collect<T>(method: string, member: string, options: ListAllOptions = {}): Promise<T[]> {
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

/** As many tools as a list may have are remembered. */
const maxKnown = 100_000;

interface Known {
  readonly schema: JsonSchema;
  check?: OutputCheck;
}

/** What the listed tools said they give, checked when they give it. */
export class Outputs {
  readonly #known = new Map<string, Known>();
  readonly #warn: (error: Error) => void;

  constructor(warn: (error: Error) => void) {
    this.#warn = warn;
  }

  /** Takes the definitions of a list page; a schema is looked at when its tool is first called. */
  learn(tools: readonly Tool[]): void {
    for (const { name, outputSchema } of tools) {
      if (outputSchema === undefined) this.#known.delete(name);
      else if (this.#known.size < maxKnown || this.#known.has(name)) this.#known.set(name, { schema: outputSchema });
    }
  }

  /** Whether the results of a tool are checked. */
  has(name: string): boolean {
    return this.#known.has(name);
  }

  /** The check of a tool that has been called before; undefined when it is yet to be made. */
  made(name: string): OutputCheck | undefined {
    return this.#known.get(name)?.check;
  }

  /** The check of a tool. A schema that cannot be used takes its tool with it, and no other. */
  async make(name: string): Promise<OutputCheck | undefined> {
    const known = this.#known.get(name);
    if (!known) return undefined;
    const { compileJsonSchema } = await import("../schema/json-schema.ts");
    known.check ??= createOutputCheck(name, known.schema, compileJsonSchema, this.#warn);
    return known.check;
  }
}

/** Stands around the calls of one tool that promised structured content. */
export interface OutputCheck {
  /** Why the schema cannot be used; nothing is done with such a tool. */
  readonly unusable?: PortolanError;
  /** Has the result of a call looked at, which fails when it is not what was promised. */
  readonly attach: (call: Call) => void;
}

/** Compiles a server's output schema; nothing it refers to is ever fetched. */
function createOutputCheck(
  name: string,
  schema: JsonSchema,
  compile: typeof compileJsonSchema,
  warn: (error: Error) => void,
): OutputCheck {
  let check: JsonSchemaCheck;
  try {
    check = compile(schema);
  } catch (cause) {
    const why = `Tool "${name}" cannot be called: its output schema is unusable: ${toError(cause).message}`;
    return { unusable: new PortolanError("invalid-definition", why, { cause }), attach: () => {} };
  }
  for (const warning of check.warnings) {
    warn(new PortolanError("invalid-definition", `Tool "${name}": output schema: ${warning}`));
  }
  const inspect = (result: JsonObject) => refuseUnfit(name, check, result);
  return {
    attach(call) {
      call.inspect = inspect;
    },
  };
}

function refuseUnfit(name: string, check: JsonSchemaCheck, result: JsonObject): void {
  if (result["isError"] === true) return;
  if (!("structuredContent" in result)) {
    throw new PortolanError("answer-invalid", `Tool "${name}" promised structured content and gave none`);
  }
  const [issue] = check(result["structuredContent"]);
  if (!issue) return;
  const where = issue.path === "" ? "structuredContent" : `structuredContent.${issue.path}`;
  const why = `${where}: ${issue.message}`;
  throw new PortolanError("answer-invalid", `Tool "${name}" gave what its output schema forbids: ${why}`);
}

/** What a client with these answers declares, and whatever else it says. */
export function declaredBy(answers: Answers, extra: ClientCapabilities = {}): ClientCapabilities {
  const declared: ClientCapabilities = {};
  if (answers.elicit || answers.openUrl) {
    declared.elicitation = { ...(answers.elicit && { form: {} }), ...(answers.openUrl && { url: {} }) };
  }
  if (answers.sample) declared.sampling = {};
  if (answers.roots) declared.roots = { listChanged: true };
  return {
    ...declared,
    ...extra,
    ...(extra.elicitation && { elicitation: { ...declared.elicitation, ...extra.elicitation } }),
    ...(extra.sampling && { sampling: { ...declared.sampling, ...extra.sampling } }),
    ...(extra.roots && { roots: { ...declared.roots, ...extra.roots } }),
  };
}

/** The capability behind each request; what is not listed needs none. */
const needs: { readonly [method: string]: keyof ServerCapabilities } = {
  "tools/list": "tools",
  "tools/call": "tools",
  "resources/list": "resources",
  "resources/templates/list": "resources",
  "resources/read": "resources",
  "resources/subscribe": "resources",
  "resources/unsubscribe": "resources",
  "prompts/list": "prompts",
  "prompts/get": "prompts",
  "completion/complete": "completions",
  "logging/setLevel": "logging",
};

/** Whether a server offers what a request is about. */
export function offers(capabilities: ServerCapabilities, method: string, revision: Revision): boolean {
  const need = Object.hasOwn(needs, method) ? needs[method] : undefined;
  if (need === undefined || capabilities[need] !== undefined) return true;
  // The oldest servers complete arguments and have no way of saying so.
  return revision.encoderParts.hidden.get("serverCapabilities")?.includes(need) === true;
}

export function notOffered(method: string): PortolanError {
  return new PortolanError(
    "capability-missing",
    `${method}: the server declares no ${needs[method] ?? "such"} capability`,
  );
}
