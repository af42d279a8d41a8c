import { isPromise, type MaybePromise } from "../../../async.ts";
import { PortolanError } from "../../../errors.ts";
import { headerKeys } from "../../../http/headers.ts";
import type { PreparedResponse } from "../../../jsonrpc/channel.ts";
import {
  isRequest,
  isRequestId,
  type JsonObject,
  type Message,
  RpcError,
  type RpcNotification,
  type RpcRequest,
  type RpcResponse,
  rpcCodes,
  serialize,
} from "../../../jsonrpc/message.ts";
import { invalidParams, invalidRequest, protocolCodes } from "../../../protocol/errors.ts";
import type { InputRequest } from "../../../protocol/types/index.ts";
import { createMemoryStorage } from "../../../storage/memory.ts";
import type { Storage } from "../../../storage/storage.ts";
import { collectResponses, failure, problemOfBatch } from "../../call/batch.ts";
import { handleNotification, type SendReply, serveExchange } from "../../call/dispatch.ts";
import { nameIn, type Principal, type ReturnPath, ServedExchange } from "../../call/exchange.ts";
import type { Caller } from "../../callers.ts";
import { peerFromHandshake, problemOfHandshake, type SessionSettings } from "../../channel/session.ts";
import { isStorageFailure, reportedStorage } from "../../reported-storage.ts";
import type { EndpointState, HttpContext } from "../endpoint.ts";
import {
  defaultAbandonMs,
  defaultLeaseMs,
  defaultSessionIdleMs,
  eventTtlMs,
  maxStoringStreams,
  maxStoringStreamsPerCaller,
  retryAfterSeconds,
  sessionSweepMs,
  uncountedBytes,
} from "../limits.ts";
import type { ServeHttpOptions, SessionOptions } from "../options.ts";
import { answerError, idOf, PostReply, sendError, statusOf } from "../reply.ts";
import { EventLog } from "./event-log.ts";
import { findSession, whenStored } from "./find-session.ts";
import { GetStreams, type TakeStream } from "./get-stream.ts";
import { type LiveSession, LiveSessions, type QuestionStream } from "./live-session.ts";
import { OtherProcesses, sessionEnded } from "./other-processes.ts";
import { type KnownSession, Sessions } from "./sessions.ts";
import type { StreamOwner } from "./standalone-stream.ts";
import { StreamClaims } from "./stream-claims.ts";
import { StreamRecorder } from "./stream-recorder.ts";

/** Makes the part that serves sessions. Called with the first request of a stateful client. */
export function createStatefulServer(state: EndpointState, options: ServeHttpOptions): StatefulServer {
  const { sessions = {}, storage } = options;
  state.callers.limits.atOnce.storingStreams = { perCaller: maxStoringStreamsPerCaller, total: maxStoringStreams };
  return new StatefulServer(state, storage, sessions || {});
}

/** Creates the storage of an endpoint that has no other. The limits of callers bound it, so that they share it fairly. */
function createOwnStorage(): Storage {
  const none = Number.POSITIVE_INFINITY;
  return createMemoryStorage({ maxEntries: none, maxChars: none, maxLogEntries: none, maxLogChars: none });
}

/** Serves clients that begin with a handshake. Their session keeps what their later requests do not repeat. */
export class StatefulServer {
  readonly #state: EndpointState;
  readonly #storage: Storage;
  readonly #sessions: Sessions;
  readonly #log: EventLog;
  readonly #live: LiveSessions;
  readonly #recorder: StreamRecorder;
  readonly #claims: StreamClaims;
  readonly #gets: GetStreams;
  readonly #parts: SessionParts;
  readonly #others: OtherProcesses;
  readonly #isShared: boolean;
  readonly #abandonMs: number;
  readonly #sweepMs: number;
  #timer: ReturnType<typeof setInterval> | undefined;

  constructor(state: EndpointState, shared: Storage | undefined, options: SessionOptions) {
    const storage = shared ? reportedStorage(state.runtime, shared) : createOwnStorage();
    const { idleMs = defaultSessionIdleMs, abandonMs = defaultAbandonMs } = options;
    this.#isShared = shared !== undefined;
    this.#abandonMs = abandonMs;
    this.#sweepMs = Math.min(sessionSweepMs, state.keepAliveMs, idleMs / 4, abandonMs / 4);
    this.#state = state;
    this.#storage = storage;
    const isShared = shared !== undefined;
    this.#sessions = new Sessions(storage, isShared, state.callers, options, (id) =>
      this.#endHere(id, "The session has expired"),
    );
    const report = (error: unknown) => void state.runtime.report(error);
    const { leaseMs = defaultLeaseMs } = options;
    this.#log = new EventLog(storage, { ttlMs: Math.min(eventTtlMs, abandonMs), leaseMs, isShared, report });
    this.#live = new LiveSessions(storage, report);
    this.#recorder = new StreamRecorder(this.#log, (call) => state.afterTurn(call));
    this.#parts = {
      sessions: this.#sessions,
      live: this.#live,
      settingsOf: (owner) => this.#settingsOf(owner),
    };
    this.#claims = new StreamClaims(storage, state.keepAliveMs, idleMs);
    const takeStream: TakeStream = (id, before) => this.#others.takeStream(id, before);
    this.#gets = new GetStreams(state, this.#sessions, this.#log, this.#live, this.#claims, takeStream);
    state.streams.onTick = () => {
      this.#gets.renew();
      this.#sweep();
    };
    this.#others = new OtherProcesses(state, storage, {
      sessions: this.#sessions,
      live: this.#live,
      end: (id, why) => this.#endHere(id, why),
      claims: this.#claims,
    });
  }

  post(messages: Message[] | Message, context: HttpContext): MaybePromise<void> {
    const posted = this.#post(messages, context);
    return isPromise(posted) ? this.#orAnswerError(posted, context, messages) : posted;
  }

  /**
   * Answers with the error for the client if the work rejects with one, such as a limit, and with 503 if the storage fails,
   * which is reported once a minute. Other failures are left to the endpoint.
   */
  async #orAnswerError(work: Promise<void>, context: HttpContext, messages?: Message | Message[]): Promise<void> {
    try {
      await work;
    } catch (cause) {
      const { request, reply, principal, caller, headers } = context;
      if (cause instanceof RpcError) {
        answerError(reply, cause, headers, messages && idOf(messages));
        return;
      }
      if (!isStorageFailure(cause)) throw cause;
      const [message] = [messages ?? []].flat();
      const { method = `${request.method} ${request.path}`, params } = (message ?? {}) as Partial<RpcRequest>;
      const about = { method: method.slice(0, 200), name: nameIn(params) };
      this.#state.runtime.report(cause, { ...about, principal: principal.key, caller: caller.key });
      const retry = { ...headers, "retry-after": String(retryAfterSeconds) };
      const why = `The server cannot use its storage now; retry in ${retryAfterSeconds} s`;
      sendError(reply, 503, { code: rpcCodes.internalError, message: why }, messages && idOf(messages), retry);
    }
  }

  #post(messages: Message[] | Message, context: HttpContext): MaybePromise<void> {
    if (!Array.isArray(messages) && isRequest(messages) && messages.method === "initialize") {
      return this.#initialize(messages, context);
    }
    const found = findSession(this.#state, this.#sessions, context, messages);
    // Hot path: no whenDone, because most requests find their session in the cache.
    return isPromise(found)
      ? found.then((known) => this.#postLater(known, messages, context))
      : this.#postTo(found, messages, context);
  }

  /** Serves messages whose session was read from the storage. */
  #postLater(known: KnownSession | undefined, messages: Message[] | Message, context: HttpContext): MaybePromise<void> {
    if (context.size > uncountedBytes) {
      const begun = performance.now();
      // Told after the synchronous part of the request.
      this.#state.observe((observer) => observer.largeRequest(messages, context, begun));
    }
    return this.#postTo(known, messages, context);
  }

  #postTo(known: KnownSession | undefined, messages: Message[] | Message, context: HttpContext): MaybePromise<void> {
    if (!known) return;
    if (Array.isArray(messages)) return this.#batch(messages, known, context);
    if (isRequest(messages)) return this.#answer(messages, known, context);
    const { caller, reply, headers } = context;
    return whenStored(this.#state, this.#sessions, context, messages, async () => {
      await this.#receive(messages, known, caller);
      reply.send(202, headers);
    });
  }

  get(context: HttpContext): Promise<void> {
    this.#startSweeping();
    return this.#orAnswerError(this.#gets.open(context), context);
  }

  delete(context: HttpContext): Promise<void> {
    return this.#orAnswerError(this.#delete(context), context);
  }

  async #delete(context: HttpContext): Promise<void> {
    const known = await findSession(this.#state, this.#sessions, context, [], false);
    if (!known) return;
    this.#endHere(known.id, sessionEnded);
    await whenStored(this.#state, this.#sessions, context, [], async () => {
      const removeRest = await this.#sessions.end(known.id);
      this.#state.background(removeRest());
      this.#state.background(this.#claims.remove(known.id));
      this.#state.background(this.#live.create(known.id).removeQuestions());
      this.#state.background(this.#log.removeMark(known.id));
      // Processes that are not told notice it when they renew the session.
      await this.#others.tellEnded(known.id).catch((cause) => void this.#state.runtime.report(cause));
      context.reply.send(204, context.headers);
    });
  }

  close(): void {
    clearInterval(this.#timer);
    this.#gets.close();
    this.#log.close();
  }

  /** Stops hearing other processes, which cancel and answer for running calls until they have ended. */
  stop(): void {
    this.#others.stop();
  }

  async #initialize(message: RpcRequest, context: HttpContext): Promise<void> {
    const { request, reply, principal, caller, headers } = context;
    const { id, params = {} } = message;
    if (request.header(headerKeys.session) !== undefined) {
      const error = invalidRequest("initialize: expected no Mcp-Session-Id; this session has begun already");
      sendError(reply, 400, error.toErrorObject(), id, headers);
      return;
    }
    const peer = peerFromHandshake(params);
    const problem = problemOfHandshake(peer, params);
    if (problem !== undefined) {
      sendError(reply, 400, invalidParams(problem).toErrorObject(), id, headers);
      return;
    }
    const begun = await whenStored(this.#state, this.#sessions, context, message, () =>
      this.#sessions.begin(peer, principal.key, caller),
    );
    if (!begun) return;
    this.#startSweeping();
    this.#answer(message, begun, { ...context, headers: { ...headers, [headerKeys.session]: begun.id } });
  }

  #answer(message: RpcRequest, known: KnownSession, context: HttpContext): void {
    const refusal = this.#state.refusal(message, context);
    if (refusal) {
      answerError(context.reply, refusal, context.headers, message.id);
      return;
    }
    const answer = this.#replyFor(known, context, message);
    this.#serve(message, known, context, answer, (response, error) =>
      answer.finish(serialize(response), error, requestStatus),
    );
  }

  #batch(messages: Message[], known: KnownSession, context: HttpContext): void {
    const { reply, caller, headers } = context;
    const problem = problemOfBatch(messages, known.peer.revision);
    if (problem !== undefined) {
      sendError(reply, 400, invalidRequest(problem).toErrorObject(), undefined, headers);
      return;
    }
    const answer = this.#replyFor(known, context, messages);
    const collect = collectResponses(this.#state.runtime, { caller }, messages, (responses) => {
      if (responses.length === 0) answer.drop();
      else answer.finish(textOf(responses, caller));
    });
    let { size } = context;
    for (const message of messages) {
      if (isRequest(message)) {
        // The body is counted once, with the first request.
        const part = { ...context, size };
        size = 0;
        const refusal = this.#state.refusal(message, part);
        if (refusal) collect({ jsonrpc: "2.0", id: message.id, error: refusal.toErrorObject() });
        else this.#serve(message, known, part, answer, collect, () => collect());
      } else this.#state.background(this.#receive(message, known, context.caller));
    }
    if (!messages.some(isRequest)) reply.send(202, headers);
  }

  #serve(
    message: RpcRequest,
    known: KnownSession,
    context: HttpContext,
    answer: PostReply,
    reply: SendReply,
    cancelled?: () => void,
  ): void {
    const exchange = new ServedExchange(
      message,
      known.peer,
      context.principal,
      new SessionReturnPath(known, context, answer, this.#parts),
    );
    if (!serveExchange(this.#state.runtime, exchange, reply)) return;
    this.#state.whenPending(exchange, () => {
      // In a microtask, so that messages which the handler sends on cancellation go first.
      exchange.onCancel(() => queueMicrotask(() => (cancelled ? cancelled() : answer.drop())));
      const live = this.#live.open(known.id);
      live.add(exchange, answer);
      this.#sessions.hold(known.id, context.caller);
      this.#startSweeping();
      answer.keepOpen(this.#state.quietMs);
      // The next call of the session uses the same object; the sweep forgets it when it stays idle.
      this.#state.track(exchange, context, reply, () => live.remove(exchange));
    });
  }

  #replyFor({ id, peer }: KnownSession, context: HttpContext, messages: Message | Message[]): PostReply {
    return new PostReply(context, this.#state, (stream) => {
      const requests = [messages].flat().filter(isRequest);
      const ids = requests.map((request) => request.id);
      return this.#recorder.record(stream, id, peer.revision.http.primes, context.caller, ids);
    });
  }

  /** Handles a notification, or the answer to a question. */
  async #receive(message: Message, known: KnownSession, caller: Caller): Promise<void> {
    if (!("method" in message)) {
      const live = this.#live.get(known.id) ?? this.#live.create(known.id);
      await live.settle(message, caller);
      return;
    }
    const { method, params = {} } = message as RpcNotification;
    if (method !== "notifications/cancelled") {
      await handleNotification(this.#state.runtime, known.peer, method, params);
      return;
    }
    const { requestId, reason } = params;
    if (!isRequestId(requestId)) return;
    await this.#others.cancel(known.id, requestId, typeof reason === "string" ? reason : undefined);
  }

  /** Settings that are stored, applied to the standalone stream of the session, and announced to other processes. */
  #settingsOf(owner: StreamOwner): SessionSettings {
    const { known, caller } = owner;
    const { id } = known;
    return {
      setLogLevel: async (logLevel) => {
        this.#live.get(id)?.standalone?.session.setLogLevel(logLevel);
        await this.#sessions.change(id, () => ({ logLevel }));
        await this.#others.tellChanged(id, {});
      },
      subscribe: async (uri, hold) => {
        // First the stream, then the subscription: one that is stored while no process has the stream has missed something.
        if (!this.#live.get(id)?.standalone) await this.#gets.begin(owner);
        await this.#sessions.subscriptions.subscribe(id, uri, caller);
        try {
          // Looked for again: the client may have opened its stream here meanwhile.
          await this.#live.get(id)?.standalone?.session.subscribe(uri, hold);
        } catch (cause) {
          await this.#sessions.subscriptions.unsubscribe(id, uri);
          throw cause;
        }
        await this.#others.tellChanged(id, { uri, isSubscribed: true });
      },
      unsubscribe: async (uri) => {
        this.#live.get(id)?.standalone?.session.unsubscribe(uri);
        await this.#sessions.subscriptions.unsubscribe(id, uri);
        await this.#others.tellChanged(id, { uri, isSubscribed: false });
      },
    };
  }

  /** Ends everything that runs for a session in this process, and releases what it keeps. */
  #endHere(id: string, why: string): void {
    this.#state.endTurn();
    this.#sessions.forget(id);
    this.#live.get(id)?.end(new PortolanError("cancelled", why));
    this.#state.background(this.#log.forget(id));
  }

  #startSweeping(): void {
    if (this.#timer !== undefined) return;
    this.#timer = setInterval(() => this.#sweep(), this.#sweepMs);
    if (typeof this.#timer === "object") this.#timer.unref?.();
  }

  /** Renews connected sessions, ends expired ones, and cancels calls whose client is gone. */
  #sweep(): void {
    const now = performance.now();
    for (const live of this.#live.values()) {
      if (live.isConnected) {
        live.connectedAt = now;
        this.#state.background(this.#renew(live, now));
      } else if (live.hasCalls && now - live.connectedAt >= this.#abandonMs) {
        this.#state.background(this.#abandon(live));
      } else this.#live.forgetIdle(live);
    }
    this.#log.sweep();
    this.#state.background(this.#sessions.expire());
    if (!this.#sessions.isEmpty || !this.#live.isEmpty || !this.#log.isEmpty) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /** Renews the expiry of a connected session, and tells other processes that it is connected. */
  async #renew(live: LiveSession, now: number): Promise<void> {
    if (await this.#sessions.touch(live.id)) await this.#others.readAgain(live);
    if (!this.#isShared || now - live.markedAt < this.#abandonMs / 3) return;
    live.markedAt = now;
    // A mark outlives the connection by at least `abandonMs`.
    await this.#storage.kv.set(connectedKey(live.id), "", { ttlMs: (this.#abandonMs * 4) / 3 });
  }

  /** Cancels the calls of a session if nothing of it is connected, in any process. */
  async #abandon(live: LiveSession): Promise<void> {
    if (this.#isShared && (await this.#storage.kv.get(connectedKey(live.id))) !== undefined) return;
    if (live.isConnected) return;
    live.cancelAll(new PortolanError("cancelled", `The client was not connected for ${this.#abandonMs} ms`));
  }
}

/** Returns the responses to a batch as text; if they are too large together, an error for each of them. */
function textOf(responses: (RpcResponse | PreparedResponse)[], caller: Caller): string {
  const text = serialize(responses);
  const full = text.length > uncountedBytes ? caller.exhausts("keptBytes", text.length) : undefined;
  if (!full) return text;
  const error = caller.beyond("keptBytes", full, `the responses to the batch, ${text.length} characters, are not sent`);
  return serialize(responses.map((response) => failure(response, error)));
}

function connectedKey(id: string): string {
  return `mcp/connected/${id}`;
}

function requestStatus(error: RpcError): number {
  return error.stage === "envelope" || error.code === protocolCodes.limitExceeded ? statusOf(error) : 200;
}

/** The parts that the requests of all sessions share. */
interface SessionParts {
  readonly sessions: Sessions;
  readonly live: LiveSessions;
  settingsOf(owner: StreamOwner): SessionSettings;
}

// Hot path: a class, because an object with closures would cost more on every request.
class SessionReturnPath implements ReturnPath {
  readonly writesText = true;
  readonly caller: Caller;
  readonly #known: KnownSession;
  readonly #principal: Principal;
  readonly #answer: PostReply;
  readonly #parts: SessionParts;

  constructor(known: KnownSession, { principal, caller }: HttpContext, answer: PostReply, parts: SessionParts) {
    this.caller = caller;
    this.#known = known;
    this.#principal = principal;
    this.#answer = answer;
    this.#parts = parts;
  }

  get sessionId(): string {
    return this.#known.id;
  }

  get session(): SessionSettings {
    return this.#parts.settingsOf({ known: this.#known, principal: this.#principal, caller: this.caller });
  }

  onSessionEnd(listener: () => void): void {
    this.#parts.sessions.onEnd(this.#known.id, listener);
  }

  get isConnected(): boolean {
    return this.#answer.isConnected || this.#parts.live.get(this.#known.id)?.isConnected === true;
  }

  notify(method: string, params: JsonObject): void {
    this.#answer.send({ jsonrpc: "2.0", method, params });
  }

  hangUp(): void {
    this.#answer.hangUp();
  }

  get outsideRequests(): ReturnPath | undefined {
    const standalone = this.#parts.live.get(this.#known.id)?.standalone;
    if (!standalone?.mayStream) return undefined;
    const ask = (exchange: ServedExchange, question: InputRequest) => this.#ask(exchange, standalone, question);
    return { caller: this.caller, sessionId: this.sessionId, notify() {}, ask };
  }

  ask(exchange: ServedExchange, question: InputRequest): Promise<JsonObject> {
    return this.#ask(exchange, this.#answer, question);
  }

  async #ask(exchange: ServedExchange, on: QuestionStream, question: InputRequest): Promise<JsonObject> {
    const live = this.#parts.live.open(this.#known.id);
    try {
      return await live.ask(exchange, on, question);
    } finally {
      this.#parts.live.forgetIdle(live);
    }
  }
}
