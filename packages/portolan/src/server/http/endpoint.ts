import { isPromise, Lazy, type MaybePromise, whenDone } from "../../async.ts";
import { PortolanError } from "../../errors.ts";
import { isRequest, type Message, rpcCodes, type Unreadable } from "../../jsonrpc/message.ts";
import { metaKeys, metaOf } from "../../protocol/revision.ts";
import { handshakes, perRequestVersions } from "../../protocol/revisions/index.ts";
import { headerKeys } from "../../transport/headers.ts";
import type { Principal, ServedExchange } from "../call/exchange.ts";
import { runtimeOf, type Servable } from "../define/server.ts";
import type { Runtime } from "../subscribe/hub.ts";
import type { BodyProblem, HttpHandler, HttpHeaders, HttpReply, HttpRequest } from "./adapter.ts";
import type { Authorizer } from "./authorize.ts";
import {
  type Accepted,
  createGuard,
  isSafeBinding,
  isUnreadable,
  preflightHeaders,
  readAccept,
  readBody,
} from "./guard.ts";
import type { HttpSse } from "./http-sse.ts";
import { type NodeListener, nodeListener } from "./node.ts";
import { anonymous, protectionOf, type ServeHttpOptions } from "./options.ts";
import { idOf, sendError } from "./reply.ts";
import type { Stateful } from "./sessions/post.ts";
import { serveStateless } from "./stateless.ts";
import { Streams } from "./streams.ts";

/** Where the endpoint is unless said otherwise. */
const defaultPath = "/mcp";

/** A server that is being served over HTTP. */
export interface HttpEndpoint extends AsyncDisposable {
  /** For node:http, and for frameworks that hand on its two objects. */
  readonly node: NodeListener;
  /** For runtimes and frameworks of web-standard requests. */
  readonly fetch: (request: Request) => Promise<Response>;
  /** Listens by itself, on loopback unless told otherwise; resolves to the address of the endpoint. */
  listen(port?: number, host?: string): Promise<{ readonly url: string; readonly port: number }>;
  /** Takes no more requests, lets what runs end, and releases everything. */
  close(graceMs?: number): Promise<void>;
}

/** Serves clients of every revision at one address. */
export function serveHttp(server: Servable, options: ServeHttpOptions = {}): HttpEndpoint {
  const endpoint = new Endpoint(server, options);
  const { limits = {}, path = defaultPath } = options;
  const fetches = new Lazy(async () => (await import("./fetch.ts")).fetchHandler(endpoint.handle, limits));
  const closers: ((graceMs?: number) => Promise<void>)[] = [];
  const close = async (graceMs?: number): Promise<void> => {
    await Promise.all([endpoint.close(graceMs), ...closers.splice(0).map((end) => end(graceMs))]);
  };
  return {
    node: nodeListener(endpoint.handle, limits),
    fetch: async (request) => (await fetches.get())(request),
    async listen(port = 0, host = "127.0.0.1") {
      const { listenOn, unsafeBinding } = await import("#server-listen");
      if (!isSafeBinding(host, options)) throw unsafeBinding(host);
      const listening = await listenOn(nodeListener(ownPathsOnly(endpoint), limits), { port, host, limits });
      closers.push((graceMs) => listening.close(graceMs));
      return { url: `${listening.url}${path}`, port: listening.port };
    },
    close,
    [Symbol.asyncDispose]: () => close(),
  };
}

/** A server that listens by itself has nothing anywhere else. */
function ownPathsOnly(endpoint: Endpoint): HttpHandler {
  return (request, reply) => {
    if (endpoint.owns(request.path)) endpoint.handle(request, reply);
    else sendError(reply, 404, { code: rpcCodes.invalidRequest, message: "Nothing is served at this path" });
  };
}

/** One address for clients of all revisions; which era a request belongs to is decided here and nowhere else. */
export class Endpoint {
  readonly #state: EndpointState;
  readonly #guard: ReturnType<typeof createGuard>;
  readonly #options: ServeHttpOptions;
  readonly #documents: ReadonlyMap<string, string> | undefined;
  readonly #authorizer: Lazy<Authorizer> | undefined;
  readonly #stateful: Lazy<Stateful> | undefined;
  readonly #httpSse: Lazy<HttpSse> | undefined;
  readonly #paths: { readonly path: string; readonly messagesPath: string } | undefined;
  readonly #relay: Promise<() => Promise<void>> | undefined;
  #isClosing = false;

  constructor(server: Servable, options: ServeHttpOptions) {
    this.#options = options;
    const protection = protectionOf(options);
    this.#documents = protection?.documents;
    if (protection) {
      this.#authorizer = new Lazy(async () => new (await import("./authorize.ts")).Authorizer(protection));
    }
    this.#state = new EndpointState(runtimeOf(server), options);
    this.#guard = createGuard(options);
    const { sessions = {}, httpSse = false, storage } = options;
    if (storage) {
      const { runtime } = this.#state;
      this.#relay = import("./sessions/relay.ts").then(({ startRelay }) => startRelay(runtime, storage));
    }
    if (sessions) {
      this.#stateful = new Lazy(async () => (await import("./sessions/post.ts")).createStateful(this.#state, options));
    }
    if (httpSse) {
      const paths = { path: "/sse", messagesPath: "/messages", ...(httpSse !== true && httpSse) };
      this.#paths = paths;
      this.#httpSse = new Lazy(async () => new (await import("./http-sse.ts")).HttpSse(server, this.#state, paths));
    }
  }

  /** Whether something is served at a path. */
  owns(path: string): boolean {
    if (path === (this.#options.path ?? defaultPath) || this.#isHttpSse(path)) return true;
    return this.#documents?.has(path) === true;
  }

  readonly handle = (request: HttpRequest, reply: HttpReply): void => {
    this.#try(request, reply, () => this.#enter(request, reply));
  };

  /** Stops accepting, lets what runs end within the grace, and then gives it up. */
  async close(graceMs = 10_000): Promise<void> {
    this.#isClosing = true;
    const drained = this.#state.drain().then(() => true);
    await Promise.all([this.#stateful?.loaded?.close(), this.#httpSse?.loaded?.close()]);
    let timer: ReturnType<typeof setTimeout> | undefined;
    const late = new Promise<false>((resolve) => {
      timer = setTimeout(() => resolve(false), graceMs);
    });
    if (!(await Promise.race([drained, late]))) {
      this.#state.cancelAll(new PortolanError("connection-closed", "The server is shutting down"));
    }
    clearTimeout(timer);
    await (await this.#relay)?.();
  }

  /** Takes a step in serving a request, of which its client hears when it fails. Nothing waits where nothing has to. */
  #try(request: HttpRequest, reply: HttpReply, step: () => MaybePromise<void>): void {
    try {
      const running = step();
      if (isPromise(running)) running.catch((cause) => this.#fail(request, reply, cause));
    } catch (cause) {
      this.#fail(request, reply, cause);
    }
  }

  #fail(request: HttpRequest, reply: HttpReply, cause: unknown): void {
    const reference = this.#state.runtime.report(cause, `${request.method} ${request.path}`);
    sendError(reply, 500, { code: rpcCodes.internalError, message: `Internal error (reference ${reference})` });
  }

  #enter(request: HttpRequest, reply: HttpReply): MaybePromise<void> {
    const denial = this.#guard.check(request);
    if (denial) {
      sendError(
        reply,
        denial.status,
        { code: rpcCodes.invalidRequest, message: denial.why },
        undefined,
        denial.headers,
      );
      return;
    }
    if (this.#guard.isPreflight(request)) {
      reply.send(204, preflightHeaders(request));
      return;
    }
    const headers = this.#guard.corsHeaders(request);
    if (this.#isClosing) {
      const closing = { ...headers, "retry-after": "5", connection: "close" };
      sendError(
        reply,
        503,
        { code: rpcCodes.internalError, message: "The server is shutting down" },
        undefined,
        closing,
      );
      return;
    }
    const accepts = readAccept(request.header("accept"));
    if (!this.#authorizer) return this.#serve({ request, reply, principal: anonymous, headers, accepts });
    return whenDone(this.#authorizer.get(), (authorizer) =>
      whenDone(
        authorizer.admit(request, reply, headers),
        (principal) => principal && this.#serve({ request, reply, principal, headers, accepts }),
      ),
    );
  }

  #serve(context: HttpContext): MaybePromise<void> {
    const { request, reply, headers } = context;
    if (request.method !== "POST" && !this.#permits([], context)) return;
    if (this.#httpSse && this.#isHttpSse(request.path)) {
      return whenDone(this.#httpSse.get(), (httpSse) => httpSse.serve(context, (read) => this.#permits(read, context)));
    }
    if (request.method === "POST") {
      request.body((body) => this.#try(request, reply, () => this.#post(context, body)));
      return;
    }
    if (this.#stateful && request.method === "GET") {
      return whenDone(this.#stateful.get(), (stateful) => stateful.get(context));
    }
    if (this.#stateful && request.method === "DELETE") {
      return whenDone(this.#stateful.get(), (stateful) => stateful.delete(context));
    }
    const allow = this.#stateful ? "POST, GET, DELETE" : "POST";
    const error = { code: rpcCodes.invalidRequest, message: `${request.method}: expected ${allow}` };
    sendError(reply, 405, error, undefined, { ...headers, allow });
  }

  #post(context: HttpContext, body: string | BodyProblem): MaybePromise<void> {
    const { reply, headers } = context;
    if (typeof body !== "string") {
      const code = body.status === 400 ? rpcCodes.parseError : rpcCodes.invalidRequest;
      sendError(reply, body.status, { code, message: body.why }, undefined, headers);
      return;
    }
    return this.#take(readBody(body), context);
  }

  #take(read: Message | Message[] | Unreadable, context: HttpContext): MaybePromise<void> {
    const { request, reply, headers, accepts } = context;
    if (isUnreadable(read)) {
      const { code, why, id } = read;
      const name = code === rpcCodes.parseError ? "Parse error" : "Invalid request";
      sendError(reply, 400, { code, message: `${name}: ${why}` }, id, headers);
    } else if (!accepts.json && !accepts.events) {
      const message = "Accept: expected application/json or text/event-stream among the types";
      sendError(reply, 406, { code: rpcCodes.invalidRequest, message }, idOf(read), headers);
    } else if (!this.#permits(read, context)) return;
    else if (Array.isArray(read) || !this.#isStateless(read, request)) return this.#postStateful(read, context);
    else if (isRequest(read)) serveStateless(this.#state, read, context);
    else reply.send(202, headers);
  }

  /** Whether the caller may do all this; answers if not. */
  #permits(messages: Message | Message[], context: HttpContext): boolean {
    return this.#authorizer?.loaded?.permits(messages, context) ?? true;
  }

  #postStateful(messages: Message | Message[], context: HttpContext): MaybePromise<void> {
    if (this.#stateful?.loaded) return this.#stateful.loaded.post(messages, context);
    if (this.#stateful) return whenDone(this.#stateful.get(), (stateful) => stateful.post(messages, context));
    const message = `This server takes no sessions; it speaks ${perRequestVersions.join(", ")}`;
    const error = { code: rpcCodes.invalidParams, message, data: { supported: perRequestVersions } };
    sendError(context.reply, 400, error, idOf(messages), context.headers);
  }

  #isHttpSse(path: string): boolean {
    if (!this.#paths) return false;
    return path === this.#paths.path || path.startsWith(`${this.#paths.messagesPath}/`);
  }

  /** What names its version itself is stateless, and so is what names a version that no handshake leads to. */
  #isStateless(message: Message, request: HttpRequest): boolean {
    if (!("method" in message)) return false;
    if (metaOf(message.params)?.[metaKeys.protocolVersion] !== undefined) return true;
    const version = request.header(headerKeys.version)?.trim();
    if (version === undefined || request.header(headerKeys.session) !== undefined) return false;
    return !handshakes.some((revision) => revision.version === version);
  }
}

const defaultKeepAliveMs = 15_000;
const defaultQuietMs = 5_000;

/** What all requests of an endpoint share. */
export class EndpointState {
  readonly runtime: Runtime;
  readonly streams: Streams;
  readonly keepAliveMs: number;
  readonly quietMs: number;
  readonly #running = new Set<ServedExchange>();
  #whenIdle: (() => void)[] = [];

  constructor(runtime: Runtime, options: ServeHttpOptions) {
    this.runtime = runtime;
    this.quietMs = options.quietMs ?? defaultQuietMs;
    this.keepAliveMs = options.keepAliveMs ?? defaultKeepAliveMs;
    this.streams = new Streams({ limits: options.limits ?? {}, keepAliveMs: this.keepAliveMs });
  }

  /** Keeps an exchange that takes time until it is over. */
  track(exchange: ServedExchange, running: Promise<void>): void {
    this.#running.add(exchange);
    running.then(() => {
      this.#running.delete(exchange);
      if (this.#running.size === 0) for (const resolve of this.#whenIdle.splice(0)) resolve();
    });
  }

  /** Tells the operator if something fails that nobody waits for. */
  watch(work: Promise<void>): void {
    work.catch((cause) => this.runtime.report(cause));
  }

  /** Ends what waits for changes with its result, and resolves when nothing runs any more. */
  drain(): Promise<void> {
    for (const exchange of this.#running) exchange.endGracefully();
    if (this.#running.size === 0) return Promise.resolve();
    return new Promise((resolve) => this.#whenIdle.push(resolve));
  }

  /** Gives up what still runs. */
  cancelAll(reason: Error): void {
    for (const exchange of this.#running) exchange.cancel(reason);
    this.streams.closeAll();
  }
}

/** One HTTP request that was let in, with what its answer carries in any case. */
export interface HttpContext {
  readonly request: HttpRequest;
  readonly reply: HttpReply;
  readonly principal: Principal;
  readonly headers: HttpHeaders;
  readonly accepts: Accepted;
}
