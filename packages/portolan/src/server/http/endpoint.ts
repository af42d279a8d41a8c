import { isPromise, Lazy, type MaybePromise, whenDone } from "../../async.ts";
import { headerKeys } from "../../http/headers.ts";
import { maxWeightOfText } from "../../jsonrpc/limits.ts";
import { isRequest, type Message, type RpcError, type RpcRequest, type Unreadable } from "../../jsonrpc/message.ts";
import { internalError } from "../../protocol/errors.ts";
import { metaKeys, metaOf } from "../../protocol/revision.ts";
import { statefulRevisions } from "../../protocol/revisions/index.ts";
import type { SendReply } from "../call/dispatch.ts";
import { anonymous, type Principal, type ServedExchange } from "../call/exchange.ts";
import { type Caller, Callers, type RatedEvent } from "../callers.ts";
import { runtimeOf, type Servable } from "../define/server.ts";
import type { ServerRuntime } from "../runtime.ts";
import type { BodyProblem, HttpHandler, HttpHeaders, HttpReply, HttpRequest } from "./adapter.ts";
import type { Authorizer } from "./authorize.ts";
import { countWithinMinute, isUnreadable, parseBody, readMessage } from "./body.ts";
import type { Accepted } from "./guard.ts";
import { loopbackHost } from "./hosts.ts";
import type { HttpSse } from "./http-sse.ts";
import { defaultCloseGraceMs, defaultKeepAliveMs, defaultQuietMs, uncountedBytes } from "./limits.ts";
import type { Observer, WaitingRequest } from "./observe.ts";
import { accessControlOf, callerLimitsOf, defaultPath, type ServeHttpOptions } from "./options.ts";
import { sendError } from "./reply.ts";
import type { StatefulServer } from "./sessions/post.ts";
import { paramHeaders, serveStateless } from "./stateless.ts";
import { Streams } from "./streams.ts";

/** One URL for clients of all revisions. Only this class decides which era a request belongs to. */
export class Endpoint {
  readonly state: EndpointState;
  readonly #options: ServeHttpOptions;
  readonly #authorizer: Lazy<Authorizer>;
  /** True if an ordinary request of the same machine needs nothing of the authorizer. */
  readonly #trustsLoopback: boolean;
  readonly #stateful: Lazy<StatefulServer> | undefined;
  readonly #httpSse: Lazy<HttpSse> | undefined;
  readonly #paths: { readonly path: string; readonly messagesPath: string } | undefined;
  /**
   * Resolves when this process has joined those that share its storage, to the function that leaves them. A rejection has
   * been reported, or `listen` learns of it.
   */
  readonly joined: Promise<() => Promise<void>> | undefined;
  /** False once the endpoint closes, or is about to close. */
  isReady = true;
  readyPath: string | undefined;
  isClosing = false;
  #isPreloading = false;

  constructor(server: Servable, options: ServeHttpOptions) {
    this.#options = options;
    this.state = new EndpointState(runtimeOf(server), options);
    this.#trustsLoopback = !accessControlOf(options) && !options.caller && !options.trustProxy && !options.allowedHosts;
    this.#authorizer = new Lazy(async () => new (await import("./authorize.ts")).Authorizer(options, this.state));
    const { sessions = {}, httpSse = false, storage } = options;
    if (storage) {
      this.state.runtime.storage ??= storage;
      this.joined = import("./processes/relay.ts").then((part) => part.joinProcesses(this.state, storage, options));
      this.joined.catch(() => {});
    }
    if (sessions) {
      this.#stateful = new Lazy(async () => (await loadSessions()).createStatefulServer(this.state, options));
    }
    if (httpSse) {
      const paths = { path: "/sse", messagesPath: "/messages", ...(httpSse !== true && httpSse) };
      this.#paths = paths;
      this.#httpSse = new Lazy(async () => new (await import("./http-sse.ts")).HttpSse(this.state, paths));
    }
  }

  readonly handle: HttpHandler = (request, reply) => {
    this.#run(request, reply, () => this.#admit(request, reply));
  };

  /** Answers 404 at all other paths. A framework does that itself, where the endpoint is mounted. */
  readonly handleOwnPaths: HttpHandler = (request, reply) => {
    if (this.#owns(request.path)) this.handle(request, reply);
    else
      this.#run(request, reply, () =>
        whenDone(this.#authorizer.get(), (authorizer) => authorizer.answerPath(request, reply, this)),
      );
  };

  /** Loads the parts that later requests may need. An endpoint that does not listen does so with its first request. */
  preload(): void {
    this.#isPreloading = true;
    const { observer } = this.state;
    const parts = [this.#authorizer, bodies, paramHeaders, this.#httpSse, observer].map((part) => () => part?.get());
    this.state.runtime.preload(this.#stateful ? [...parts, loadSessions] : parts);
  }

  /** Returns whether messages are served at a path. */
  #owns(path: string): boolean {
    return path === (this.#options.path ?? defaultPath) || this.#isHttpSse(path);
  }

  /** Refuses new requests except those that running calls wait for, waits at most `graceMs`, then cancels the rest. */
  async close(graceMs: number = defaultCloseGraceMs): Promise<void> {
    this.isClosing = true;
    const drained = this.state.drain();
    this.#stateful?.loaded?.close();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const graceOver = new Promise<void>((resolve) => {
      timer = setTimeout(async () => {
        await this.state.observe((observer) => observer.cutOff(graceMs));
        this.state.closeAll();
        resolve();
      }, graceMs);
    });
    await Promise.all([drained, this.#httpSse?.loaded?.close(graceMs)]);
    this.#stateful?.loaded?.stop();
    // A storage that hangs must not keep the process from ending.
    const left = this.joined?.then((leave) => leave());
    await Promise.race([graceOver, left]).catch(() => {});
    clearTimeout(timer);
  }

  /** Runs one step of serving a request, and answers 500 if it fails. Synchronous if the step is. */
  #run(request: HttpRequest, reply: HttpReply, step: () => MaybePromise<void>): void {
    if (!this.#isPreloading) this.preload();
    try {
      const running = step();
      if (isPromise(running)) running.catch((cause) => this.#fail(request, reply, cause));
    } catch (cause) {
      this.#fail(request, reply, cause);
    }
  }

  #fail(request: HttpRequest, reply: HttpReply, cause: unknown): void {
    const reference = this.state.runtime.report(cause, { method: `${request.method} ${request.path}` });
    sendError(reply, 500, internalError(reference).toErrorObject());
  }

  /** Checks headers and access before the body is read. */
  #admit(request: HttpRequest, reply: HttpReply): MaybePromise<void> {
    if (this.#trustsLoopback && !this.isClosing && isOrdinary(request)) {
      const { total: caller } = this.state.callers;
      const context = {
        request,
        reply,
        principal: anonymous,
        caller,
        headers: noHeaders,
        accepts: everything,
        size: 0,
      };
      return this.#serve(context);
    }
    return whenDone(this.#authorizer.get(), (authorizer) =>
      whenDone(authorizer.admit(request, reply, this.isClosing), (context) => context && this.#serve(context)),
    );
  }

  #serve(context: HttpContext): MaybePromise<void> {
    const { request, reply } = context;
    if (request.method !== "POST" && !this.#permits([], context)) return;
    if (this.#httpSse && this.#isHttpSse(request.path)) {
      return whenDone(this.#httpSse.get(), (httpSse) => httpSse.serve(context, (read) => this.#permits(read, context)));
    }
    if (request.method === "POST") {
      request.body((body) => this.#run(request, reply, () => this.#post(context, body)), context.caller);
      return;
    }
    return whenDone(this.#authorizer.get(), (authorizer) => authorizer.serveOther(context, this.#stateful));
  }

  #post(context: HttpContext, body: string | BodyProblem): MaybePromise<void> {
    if (typeof body !== "string") return this.#refuseBody(body, context);
    const { caller } = context;
    // Hot path: callers of this machine have no limit by the minute.
    const problem = caller === this.state.callers.total ? undefined : countWithinMinute(caller, body);
    if (problem) return this.#refuseBody(problem, context);
    context.size = body.length;
    const value = parseBody(body);
    if (body.length > uncountedBytes) {
      const begun = performance.now();
      // Told after the synchronous part of the request.
      this.state.observe((observer) => observer.largeRequest(value, context, begun, body));
    }
    const message = readMessage(value);
    return message
      ? this.#route(message, context)
      : whenDone(bodies.get(), (part) => this.#route(part.readOther(body, value), context));
  }

  #route(read: Message | Message[] | Unreadable, context: HttpContext): MaybePromise<void> {
    const { request, reply, headers, accepts } = context;
    if (isUnreadable(read) || !(accepts.json || accepts.events)) return this.#refuseBody(read, context);
    if (!this.#permits(read, context)) return;
    if (Array.isArray(read) || !this.#isStateless(read, request)) return this.#postStateful(read, context);
    if (isRequest(read)) serveStateless(this.state, read, context);
    else reply.send(202, headers);
  }

  /** Returns whether the caller may do all of this; answers with a refusal if not. */
  #permits(messages: Message | Message[], context: HttpContext): boolean {
    // Hot path: where nobody is asked about a caller, a small message is always permitted.
    if (this.#trustsLoopback && !context.isClosing && context.size * maxWeightOfText <= uncountedBytes) return true;
    return this.#authorizer.loaded?.permits(messages, context) ?? true;
  }

  #refuseBody(body: BodyProblem | Unreadable | Message | Message[], context: HttpContext): MaybePromise<void> {
    return whenDone(this.#authorizer.get(), (authorizer) => authorizer.refuseBody(body, context));
  }

  #postStateful(messages: Message | Message[], context: HttpContext): MaybePromise<void> {
    if (this.#stateful?.loaded) return this.#stateful.loaded.post(messages, context);
    if (this.#stateful) return whenDone(this.#stateful.get(), (stateful) => stateful.post(messages, context));
    return whenDone(this.#authorizer.get(), (authorizer) => authorizer.refuseSession(messages, context));
  }

  #isHttpSse(path: string): boolean {
    if (!this.#paths) return false;
    return path === this.#paths.path || path.startsWith(`${this.#paths.messagesPath}/`);
  }

  /** A message is stateless if it names its version, or if its header names a version without a handshake. */
  #isStateless(message: Message, request: HttpRequest): boolean {
    if (!("method" in message)) return false;
    if (metaOf(message.params)?.[metaKeys.protocolVersion] !== undefined) return true;
    const version = request.header(headerKeys.version)?.trim();
    if (version === undefined || request.header(headerKeys.session) !== undefined) return false;
    return !statefulRevisions.some((revision) => revision.version === version);
  }
}

const bodies = new Lazy(() => import("./read-body.ts"));

function loadSessions(): Promise<typeof import("./sessions/post.ts")> {
  return import("./sessions/post.ts");
}

/** The usual addresses of clients on the same machine. */
const loopbackAddresses: readonly (string | undefined)[] = ["127.0.0.1", "::1", "::ffff:127.0.0.1"];
const everything: Accepted = { json: true, events: true };
const noHeaders: HttpHeaders = {};

/**
 * Returns whether this is a POST request as nearly every client on the same machine sends it. The guard would let it pass
 * too; all other requests are left to the guard.
 */
export function isOrdinary(request: HttpRequest): boolean {
  return (
    request.method === "POST" &&
    request.header("content-type") === "application/json" &&
    request.header("accept") === "application/json, text/event-stream" &&
    loopbackHost.test(request.header("host") ?? "") &&
    request.header("origin") === undefined &&
    request.header("sec-fetch-site") === undefined &&
    request.header("content-encoding") === undefined &&
    request.header("x-forwarded-for") === undefined &&
    request.header("forwarded") === undefined &&
    loopbackAddresses.includes(request.remoteAddress)
  );
}

/** The state that all requests of an endpoint share. */
export class EndpointState {
  readonly runtime: ServerRuntime;
  readonly callers: Callers;
  readonly streams: Streams;
  readonly keepAliveMs: number;
  readonly quietMs: number;
  /** True if `listen` was called: it rejects if this process cannot serve beside the others, and nothing else reports that. */
  declare isListening?: boolean;
  readonly #maxCalls: number;
  /** The requests in progress, in no order. */
  // An array: a Map that is filled and emptied for every call keeps ended ones alive for the garbage collector.
  readonly running: RunningCall[] = [];
  /** The requests that wait for the storage. Absent until there is one. */
  declare waiting?: Set<WaitingRequest>;
  /** Reports to the operator and answers its questions. Loaded when it is needed. */
  readonly observer: Lazy<Observer>;
  /** Returns the event that a request counts as, by the minute. Undefined while all callers are of this machine. */
  ratedEvent: ((method: string) => RatedEvent | undefined) | undefined;
  #whenIdle: (() => void)[] = [];
  /** True after draining has ended. */
  #isOver = false;
  #due: (() => void)[] = [];

  constructor(runtime: ServerRuntime, options: ServeHttpOptions) {
    this.runtime = runtime;
    runtime.inFlight.add(() => this.running.map(({ exchange }) => exchange));
    this.quietMs = options.quietMs ?? defaultQuietMs;
    this.keepAliveMs = options.keepAliveMs ?? defaultKeepAliveMs;
    const limits = callerLimitsOf(options);
    this.callers = new Callers(limits);
    this.observer = new Lazy(async () => new (await import("./observe.ts")).Observer(this, options));
    this.callers.onRefused = options.onRefused && ((refused) => this.observe((observer) => observer.refused(refused)));
    this.#maxCalls = limits.atOnce.calls?.total ?? 0;
    this.streams = new Streams({
      backlog: options.limits?.backlog,
      keepAliveMs: this.keepAliveMs,
      onRefused: (caller, exhausted) => this.observe((observer) => observer.progressLost(caller, exhausted)),
    });
  }

  /** Tells the operator something. Never rejects. */
  async observe(tell: (observer: Observer) => void): Promise<void> {
    try {
      tell(await this.observer.get());
    } catch (cause) {
      this.runtime.report(cause);
    }
  }

  /** Returns the error for a request that is beyond a limit of its caller. Takes nothing: most requests end at once. */
  refusal(request: RpcRequest, { caller, size }: CallSize): RpcError | undefined {
    // Hot path: callers of this machine have the totals only.
    if (caller === this.callers.total && size <= uncountedBytes && caller.used.calls < this.#maxCalls) return undefined;
    const event = this.ratedEvent?.(request.method);
    const tooOften = event && caller.count(event);
    if (tooOften) return caller.tooOften(event, tooOften, request);
    // The calls of this turn count too.
    this.endTurn();
    const calls = caller.exhausts("calls");
    if (calls) return caller.beyond("calls", calls, undefined, request);
    const bytes = size > uncountedBytes && caller.exhausts("keptBytes", size);
    return bytes ? caller.beyond("keptBytes", bytes, undefined, request) : undefined;
  }

  /** Counts a call of a caller, with the bytes of its body, or ends the count. */
  count({ caller, size }: CallSize, change: 1 | -1): void {
    if (caller === this.callers.total) caller.used.calls += change;
    else caller.release("calls", -change);
    if (size > uncountedBytes) caller.release("keptBytes", -change * size);
  }

  /**
   * Calls `keep` after this turn if the request is not answered by then. Most handlers end within their turn, and need
   * nothing of what keeps a longer one.
   */
  whenPending(exchange: ServedExchange, keep: () => void): void {
    this.afterTurn(() => {
      if (!exchange.isSettled) keep();
    });
  }

  /** Calls the function after this turn, when every promise that settled in it has been handled. */
  afterTurn(call: () => void): void {
    if (this.#due.push(call) === 1) afterMicrotasks(this.endTurn);
    else if (this.#due.length >= maxDue) this.endTurn();
  }

  /** Calls the functions that wait for the end of this turn. */
  readonly endTurn = (): void => {
    const due = this.#due;
    this.#due = [];
    for (const call of due) call();
  };

  /** Counts an exchange as running until its handler has ended. */
  track(exchange: ServedExchange, size: CallSize, reply: SendReply, ended?: () => void): void {
    const call: RunningCall = { exchange, reply, begunAt: performance.now(), index: this.running.length };
    this.running.push(call);
    this.count(size, 1);
    // Its body arrived, or the storage answered, after everything else had ended: nothing would end it.
    if (this.#isOver) void this.observe((observer) => observer.cutOff(0));
    exchange.onSettled = () => {
      this.count(size, -1);
      this.#remove(call);
      ended?.();
      this.endIfIdle();
    };
  }

  /** Ends draining if no request is running or waits. */
  readonly endIfIdle = (): void => {
    if (this.running.length === 0 && !this.waiting?.size) this.#endDraining();
  };

  #remove({ index }: RunningCall): void {
    const last = this.running.pop();
    if (!last || index === this.running.length) return;
    this.running[index] = last;
    last.index = index;
  }

  /** Lets work run in the background, and reports its failure. */
  background(work: Promise<void>): void {
    work.catch((cause) => this.runtime.report(cause));
  }

  /** Ends listen streams with their result, and resolves when no request is running or waits, or all are cut off. */
  drain(): Promise<void> {
    this.endTurn();
    for (const { exchange } of [...this.running]) exchange.endGracefully();
    return new Promise((resolve) => {
      this.#whenIdle.push(resolve);
      this.endIfIdle();
    });
  }

  /** Closes all streams, and waits for nothing any more. */
  closeAll(): void {
    this.streams.closeAll();
    this.#endDraining();
  }

  #endDraining(): void {
    if (this.#whenIdle.length > 0) this.#isOver = true;
    for (const resolve of this.#whenIdle.splice(0)) resolve();
  }
}

/** Functions that wait for the end of a turn. More are called before it, so that a turn with many requests stays bounded. */
const maxDue = 64;

const { process } = globalThis as { process?: { nextTick?(call: () => void): void } };

/** Calls the function after the microtasks of this turn. A macrotask would keep the event loop of node busy. */
function afterMicrotasks(call: () => void): void {
  if (process?.nextTick) queueMicrotask(() => process.nextTick?.(call));
  else setTimeout(call, 0);
}

/** A request that was not answered in its turn, and the function that answers it. */
interface RunningCall {
  readonly exchange: ServedExchange;
  readonly reply: SendReply;
  /** By the monotonic clock. */
  readonly begunAt: number;
  /** Its index among the running ones. */
  index: number;
}

/** The part of its caller's limits that a request uses. */
interface CallSize {
  readonly caller: Caller;
  /** Characters of its body, or the memory of its messages where strangers may call. */
  readonly size: number;
}

/** One admitted HTTP request. */
export interface HttpContext extends CallSize {
  readonly request: HttpRequest;
  readonly reply: HttpReply;
  readonly principal: Principal;
  // Known after the body was read.
  size: number;
  /** Headers that every response to it carries. */
  readonly headers: HttpHeaders;
  readonly accepts: Accepted;
  /** True if the server was closing when the request came: only messages that a running call may wait for are served. */
  readonly isClosing?: boolean;
}
