import {
  type JsonObject,
  PortolanError,
  type Prompt,
  protocolCodes,
  type Resource,
  type ResourceTemplate,
  RpcError,
  rpcCodes,
  type ServerCapabilities,
  type Tool,
} from "portolan";
import type { Answers, Client, Progress } from "portolan/client";
import {
  type Context as CallContext,
  createServer,
  type LiveServer,
  live,
  type Server,
  type ServerExtension,
  ToolError,
  withJsonSchema,
} from "portolan/server";
import { Failure, toFailure, upstreamLost } from "../failure.ts";
import { type Catalog, type Listed, listAll } from "../output/catalog.ts";
import { withoutServerInfo } from "../output/content.ts";
import { CallQueue, type Lease } from "./call-queue.ts";
import { forwardedExtensions } from "./forwarded-extensions.ts";
import { answersOf, anything, askableBy, type Caller, type CallerAnswers, isAskable, Visits } from "./questions.ts";
import type { Upstream } from "./upstream.ts";

/** A call that takes longer goes on as a task. */
const quickCallMs = 1_000;

/** Problems of a server that are reported once each. */
const maxReported = 1_000;

/** The codes of a connection that ended, or could not be made. */
const lostCodes: readonly string[] = ["connection-closed", "server-unavailable"];

/** A server that offers what its upstream server offers, and forwards every call to it. */
export class ProxyServer {
  #upstream: Upstream | undefined;
  #queue: CallQueue | undefined;
  #live: LiveServer | undefined;
  /** The lists as they were read last, for a list that fails later. */
  #catalog: Catalog | undefined;
  /** Calls in progress. */
  readonly #running = new Set<CallContext>();
  readonly #onError: (error: unknown) => void;
  readonly #reported = new Set<string>();
  /** The watched resources. Each function watches one on another connection. */
  readonly #watched = new Set<(client: Client) => Promise<void>>();

  readonly #tasks: ServerExtension | undefined;

  /**
   * `onError` gets features of the upstream server that cannot be served, and internal errors. With `tasks` each call that
   * takes longer goes on as a task in this process.
   */
  constructor(onError: (error: unknown) => void, tasks?: ServerExtension) {
    this.#onError = onError;
    this.#tasks = tasks;
  }

  /** True while calls run, also those that go on without their client. */
  get isBusy(): boolean {
    return this.#running.size > 0;
  }

  get server(): LiveServer {
    if (!this.#live) throw new Error("The proxy server is not connected yet");
    return this.#live;
  }

  /** Offers what the upstream server offers now, and follows its changes while it is connected. */
  async follow(client: Client, upstream: Upstream): Promise<void> {
    await this.#refresh(client);
    for (const watch of this.#watched) watch(client).catch((reason) => this.#report(reason));
    if (this.#upstream !== upstream) {
      const before = this.#queue;
      this.#upstream = upstream;
      this.#queue = new CallQueue(upstream);
      await before?.close();
    }
    const { capabilities } = client.server;
    const filter = {
      tools: capabilities.tools?.listChanged === true,
      prompts: capabilities.prompts?.listChanged === true,
      resources: capabilities.resources?.listChanged === true,
    };
    if (Object.values(filter).includes(true)) await this.#watch(client, filter);
  }

  /** Follows the changes of lists. A server that announces them but refuses to report them is served all the same. */
  async #watch(client: Client, filter: Parameters<Client["watch"]>[0]): Promise<void> {
    try {
      const watch = await client.watch(filter);
      const look = async () => {
        for await (const _ of watch) await this.#refresh(client).catch((reason) => this.#report(reason));
      };
      // The watch ends with the connection, and `Upstream` handles that.
      look().catch(() => {});
    } catch (cause) {
      const why = cause instanceof Error ? cause.message : String(cause);
      this.#report(new Error(`Changes are not followed: the server does not report them: ${why}`, { cause }));
    }
  }

  /** Closes the connections that the proxy server opened itself. */
  async close(): Promise<void> {
    await this.#queue?.close();
  }

  /** Sends a log message to the only call in progress; otherwise to all listeners, because its call is unknown. */
  log({ level, data, logger }: { level: string; data: unknown; logger?: string }): void {
    const [only, ...others] = this.#running;
    if (only && others.length === 0) only.log(level as Parameters<CallContext["log"]>[0], data, logger);
    else this.#live?.publish("message", { level, data, ...(logger !== undefined && { logger }) });
  }

  #client(): Promise<Client> {
    if (!this.#upstream) throw new Error("The proxy server is not connected yet");
    return this.#upstream.client();
  }

  /**
   * Lists the features again. A list that fails keeps its features of before, and the other lists are served. Rejects if
   * every list fails and nothing is known of before.
   */
  async #refresh(client: Client): Promise<void> {
    const failed = new Map<Listed, unknown>();
    const name = client.server.info?.name ?? "The server";
    let catalog = await listAll(client, {
      onFailure: (list, reason) => failed.set(list, reason),
      onInvalid: (list, problem) => this.#report(new Error(`${name}: not served: ${list}: ${problem}`)),
    });
    const { tools, prompts, resources } = client.server.capabilities;
    const count = (tools ? 1 : 0) + (prompts ? 1 : 0) + (resources ? 2 : 0);
    if (!this.#catalog && count > 0 && failed.size === count) throw nothingToServe(name, failed);
    for (const [list, reason] of failed) {
      const before = this.#catalog?.[list] ?? [];
      const what = before.length > 0 ? `the ${list} of before are served` : `no ${list} are served`;
      this.#report(new Error(`${name}: ${what}, because it did not list them: ${toFailure(reason).message}`));
      catalog = { ...catalog, [list]: before };
    }
    this.#catalog = catalog;
    const server = this.#define(client, catalog);
    if (this.#live) this.#live.update(() => server);
    else this.#live = live(server);
  }

  /** Reports a problem once, although lists are read again after each change. */
  #report(error: unknown): void {
    const text = error instanceof Error ? error.message : String(error);
    if (this.#reported.has(text)) return;
    if (this.#reported.size < maxReported) this.#reported.add(text);
    this.#onError(error);
  }

  #define(client: Client, { tools, resources, templates, prompts }: Catalog): Server {
    const { info, instructions, capabilities } = client.server;
    const sizes = [tools, resources, templates, prompts].map(({ length }) => length);
    let server: Server = createServer(
      { ...info, name: info?.name ?? "server", version: info?.version ?? "0" },
      {
        leaveOutInvalid: true,
        logging: capabilities.logging !== undefined,
        // One page, because only whole pages can be put into the order of the upstream server.
        pageSize: Math.min(maxPageSize, Math.max(minPageSize, ...sizes)),
        onError: (error) => this.#report(error),
        ...(instructions !== undefined && { instructions }),
      },
    );
    const forwarded = forwardedExtensions(capabilities, (method, params, signal) =>
      this.#withLease(false, signal, async (upstream) => (await upstream.client()).request(method, params, { signal })),
    );
    for (const extension of forwarded) server = server.extend(extension);
    if (this.#tasks) server = server.extend(this.#tasks) as unknown as Server;
    /** Adds each feature that the library accepts, and reports the others. */
    const addEach = <T>(features: readonly T[], add: (feature: T) => Server) => {
      for (const feature of features) {
        try {
          server = add(feature);
        } catch (cause) {
          const why = cause instanceof Error ? cause.message : String(cause);
          this.#report(new Error(`Not served: ${why}`, { cause }));
        }
      }
    };
    const known = new Set(resources.map(({ uri }) => uri));
    addEach(tools, (tool) => this.#tool(server, tool));
    addEach(resources, (resource) => this.#resource(server, resource, client));
    addEach(templates, (template) => this.#template(server, template, client));
    addEach(prompts, (prompt) => this.#prompt(server, prompt, client));
    server = inOrder(server, "tools/list", "tools", "name", tools);
    server = inOrder(server, "resources/list", "resources", "uri", resources);
    server = inOrder(server, "resources/templates/list", "resourceTemplates", "uriTemplate", templates);
    server = inOrder(server, "prompts/list", "prompts", "name", prompts);
    for (const method of ["initialize", "server/discover"]) server = announcing(server, method, capabilities);
    if (!capabilities.resources) return server;
    // Some servers can read resources that they do not list.
    return server.use(
      async (exchange, next) => {
        try {
          return await next(exchange);
        } catch (reason) {
          const uri = exchange.params["uri"];
          if (!(reason instanceof RpcError) || typeof uri !== "string" || known.has(uri)) throw reason;
          const { signal } = exchange;
          const read = await this.#withLease(false, signal, async (upstream) =>
            (await upstream.client()).readResource(uri, { signal }),
          );
          return { kind: "complete", result: { ...withoutServerInfo(read) } };
        }
      },
      { method: "resources/read" },
    );
  }

  #tool(server: Server, { name, inputSchema, outputSchema, _meta, ...described }: Tool): Server {
    const { title, description, icons, annotations } = described;
    return server.tool(name, {
      ...defined({ title, description, icons, annotations, meta: _meta }),
      input: withJsonSchema(anything, inputSchema),
      ...(outputSchema && { output: withJsonSchema(anything, outputSchema) }),
      // A call reaches the upstream server only once, even if it asks questions.
      asks: "park",
      // A client looks at a task again after a second: what takes less is a plain call.
      ...(this.#tasks && { task: { quickMs: quickCallMs } }),
      run: (args, context) =>
        this.#forward(context, (client, options) => client.callTool(name, args as JsonObject, options)),
    });
  }

  #resource(server: Server, { uri, name, _meta, ...rest }: Resource, client: Client): Server {
    const { title, description, icons, mimeType, annotations, size } = rest;
    return server.resource(uri, {
      ...defined({ name, title, description, icons, mimeType, annotations, size, meta: _meta }),
      ...this.#subscribable(client),
      read: (context) => this.#forward(context, (upstream, options) => upstream.readResource(uri, options)),
    });
  }

  #template(server: Server, { uriTemplate, name, _meta, ...rest }: ResourceTemplate, client: Client): Server {
    const { title, description, icons, mimeType, annotations } = rest;
    const variables = [...uriTemplate.matchAll(/\{[+#./;?&]?([^}]+)\}/g)].flatMap(([, names = ""]) =>
      names.split(",").map((each) => each.replace(/(\*|:\d+)$/, "")),
    );
    const ref = { type: "ref/resource" as const, uri: uriTemplate };
    return server.template(uriTemplate, {
      ...defined({ name, title, description, icons, mimeType, annotations, meta: _meta }),
      ...this.#subscribable(client),
      ...(client.server.capabilities.completions && {
        complete: Object.fromEntries(variables.map((variable) => [variable, this.#completer(ref, variable)])),
      }),
      read: (_, context, uri) => this.#forward(context, (upstream, options) => upstream.readResource(uri, options)),
    });
  }

  #prompt(server: Server, { name, arguments: parameters = [], _meta, ...rest }: Prompt, client: Client): Server {
    const { title, description, icons } = rest;
    const ref = { type: "ref/prompt" as const, name };
    const completes = client.server.capabilities.completions !== undefined;
    return server.prompt(name, {
      ...defined({ title, description, icons, meta: _meta }),
      arguments: Object.fromEntries(
        parameters.map(({ name: argument, ...about }) => [
          argument,
          { ...about, ...(completes && { complete: this.#completer(ref, argument) }) },
        ]),
      ),
      get: (args, context) =>
        this.#forward(context, (upstream, options) =>
          upstream.getPrompt(name, defined(args) as { [name: string]: string }, options),
        ),
    });
  }

  #completer(ref: Parameters<Client["complete"]>[0], name: string) {
    return async (value: string, known: { [name: string]: string }) =>
      (await this.#client()).complete(ref, { name, value }, { known });
  }

  #subscribable(client: Client) {
    if (client.server.capabilities.resources?.subscribe !== true) return {};
    return {
      subscribe: true,
      watch: async (uri: string, changed: (uri?: string) => void) => {
        let current: Awaited<ReturnType<Client["watch"]>> | undefined;
        const begin = async (from: Client) => {
          const watch = await from.watch({ uris: [uri] });
          current = watch;
          const look = async () => {
            for await (const change of watch) if (change.kind === "resource") changed(change.uri);
          };
          // The watch ends with the connection; the next connection begins another.
          look().catch(() => {});
        };
        const beginAgain = async (from: Client) => {
          await begin(from);
          // The resource may have changed while there was no connection.
          changed(uri);
        };
        await begin(await this.#client());
        this.#watched.add(beginAgain);
        return () => {
          this.#watched.delete(beginAgain);
          void current?.close();
        };
      },
    };
  }

  /** Forwards a call, with its progress and its questions. */
  async #forward<T extends object>(
    context: CallContext,
    call: (client: Client, options: ForwardOptions) => Promise<T>,
  ): Promise<T> {
    const { signal } = context;
    this.#running.add(context);
    try {
      return await this.#withLease(isAskable(context), signal, (upstream, lease) =>
        this.#send(context, upstream, lease, call),
      );
    } catch (reason) {
      // A lost connection is no result of the tool. Other failures of it are, so that the caller sees them.
      const isLost = reason instanceof PortolanError && lostCodes.includes(reason.code);
      if (isLost && !signal.aborted) throw new RpcError(upstreamLost, reason.message);
      if (reason instanceof PortolanError && !signal.aborted) throw new ToolError(reason.message);
      throw reason;
    } finally {
      this.#running.delete(context);
    }
  }

  async #send<T extends object>(
    context: CallContext,
    upstream: Upstream,
    lease: Lease,
    call: (client: Client, options: ForwardOptions) => Promise<T>,
  ): Promise<T> {
    const client = await upstream.client();
    const visits = new Visits();
    const caller: Caller = { context, answers: tracked(answersOf(context, visits), lease), visits };
    const end = upstream.questions.begin(caller);
    // This connection, not the caller, has to understand what the upstream server answers.
    const { extensions } = upstream;
    try {
      await upstream.questions.giveRoots(caller, () => client.rootsChanged());
      const result = await call(client, {
        signal: context.signal,
        onProgress: ({ progress, total, message }) => context.progress(progress, total, message),
        answers: caller.answers,
        capabilities: { ...askableBy(context), extensions },
        logLevel: "debug",
      });
      await visits.finish();
      return withoutServerInfo(result);
    } finally {
      end();
      await visits.abandon();
    }
  }

  async #withLease<T>(
    isAsked: boolean,
    signal: AbortSignal,
    use: (upstream: Upstream, lease: Lease) => Promise<T>,
  ): Promise<T> {
    if (!this.#queue) throw new Error("The proxy server is not connected yet");
    const lease = await this.#queue.acquire(isAsked, signal);
    try {
      return await use(lease.upstream, lease);
    } catch (reason) {
      throw reason instanceof RpcError ? toCallerError(reason) : reason;
    } finally {
      lease.release();
    }
  }
}

/** The failure of a server of which nothing can be served. */
function nothingToServe(name: string, failed: ReadonlyMap<Listed, unknown>): Failure {
  const reasons = (["tools", "resources", "templates", "prompts"] as const)
    .filter((list) => failed.has(list))
    .map((list) => `${name} did not list its ${list}: ${toFailure(failed.get(list)).message}`);
  const [first] = failed.values();
  // A server may answer with the code for invalid params, but the command line was not wrong.
  const kind = first instanceof RpcError ? "protocol" : toFailure(first).kind;
  return new Failure(kind, `${reasons.join("; ")}. Nothing is left to serve`, { cause: first });
}

const minPageSize = 1_000;
const maxPageSize = 10_000;

/** Lists features in the order of the upstream server. The library sorts them by name. */
function inOrder<T extends object>(
  server: Server,
  method: string,
  member: string,
  key: keyof T & string,
  features: readonly T[],
): Server {
  const places = new Map<unknown, number>(features.map((feature, at) => [feature[key], at]));
  const placeOf = (entry: JsonObject) => places.get(entry[key]) ?? places.size;
  return server.use(
    async (exchange, next) => {
      const outcome = await next(exchange);
      if (outcome.kind !== "complete") return outcome;
      const entries = outcome.result[member] as readonly JsonObject[];
      const sorted = [...entries].sort((a, b) => placeOf(a) - placeOf(b));
      return { ...outcome, result: { ...outcome.result, [member]: sorted } };
    },
    { method },
  );
}

/** Announces only what the upstream server has. A live server would announce everything that it may have later. */
function announcing(server: Server, method: string, upstream: Client["server"]["capabilities"]): Server {
  return server.use(
    async (exchange, next) => {
      const outcome = await next(exchange);
      if (outcome.kind !== "complete") return outcome;
      const { tools, prompts, resources, ...others } = outcome.result["capabilities"] as ServerCapabilities;
      const { subscribe, ...resourcesPart } = resources ?? {};
      const capabilities: ServerCapabilities = {
        ...others,
        ...(upstream.tools && { tools: { ...tools } }),
        ...(upstream.prompts && { prompts: { ...prompts } }),
        ...(upstream.resources && {
          resources: { ...resourcesPart, ...(upstream.resources.subscribe && subscribe && { subscribe }) },
        }),
      };
      return { ...outcome, result: { ...outcome.result, capabilities } };
    },
    { method },
  );
}

interface ForwardOptions {
  readonly signal: AbortSignal;
  readonly onProgress: (progress: Progress) => void;
  readonly answers: Answers;
  readonly capabilities: CallContext["capabilities"];
  readonly logLevel: "debug";
}

/** Tells the queue while a user is being asked. */
function tracked({ elicit, openUrl, sample, roots }: CallerAnswers, lease: Lease): CallerAnswers {
  const ask = async <T>(answer: () => T): Promise<Awaited<T>> => {
    lease.setAsking(true);
    try {
      return await answer();
    } finally {
      lease.setAsking(false);
    }
  };
  return {
    elicit: (...question) => ask(() => elicit(...question)),
    openUrl: (...question) => ask(() => openUrl(...question)),
    sample: (...question) => ask(() => sample(...question)),
    roots: () => ask(roots),
  };
}

/** Codes that depend on the revision of the peer, with the kind that gives each client its own code. */
const kindsOfCodes: { readonly [code: number]: string } = {
  [protocolCodes.resourceNotFound]: "resource-not-found",
  [protocolCodes.missingCapability]: "missing-capability",
};

/** Codes that concern the proxy's own request: the caller's request was well-formed. */
const ownFaults: readonly number[] = [
  ...[rpcCodes.parseError, rpcCodes.invalidRequest],
  ...[protocolCodes.headerMismatch, protocolCodes.unsupportedVersion],
];

/** Converts an error of the upstream server to one that a caller of any revision understands. */
function toCallerError(cause: RpcError): RpcError {
  const { code, message, data } = cause;
  const { uri } = (data ?? {}) as { readonly uri?: unknown };
  const isMissing = code === rpcCodes.invalidParams && typeof uri === "string";
  const kind = isMissing ? "resource-not-found" : kindsOfCodes[code];
  // The stage makes HTTP answer with the status of this error instead of 200.
  if (kind !== undefined) return new RpcError(code, message, { kind, stage: "dispatch", data, cause });
  return ownFaults.includes(code) ? new RpcError(rpcCodes.internalError, message, { data, cause }) : cause;
}

/** Returns the members that are not undefined. */
function defined<T extends object>(members: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]?: Exclude<T[K], undefined>;
  };
}
