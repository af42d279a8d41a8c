import { isPromise, type MaybePromise } from "../../../async.ts";
import { PortolanError } from "../../../errors.ts";
import {
  isRequest,
  type JsonObject,
  type Message,
  type RequestId,
  type RpcError,
  type RpcNotification,
  type RpcRequest,
  rpcCodes,
  serialize,
} from "../../../jsonrpc/message.ts";
import { invalidParams, invalidRequest } from "../../../protocol/errors.ts";
import type { InputRequest } from "../../../protocol/types/index.ts";
import { createMemoryStorage } from "../../../storage/memory.ts";
import type { Storage } from "../../../storage/storage.ts";
import { headerKeys } from "../../../transport/headers.ts";
import { collectResponses, problemOfBatch } from "../../call/batch.ts";
import { handleNotification, type SendReply, serveExchange } from "../../call/dispatch.ts";
import { type ReturnPath, ServedExchange } from "../../call/exchange.ts";
import { checkSubscriptionLimit, peerFromHandshake, type SessionSettings } from "../../channel/session.ts";
import type { EndpointState, HttpContext } from "../endpoint.ts";
import { sessionRetryAfterSeconds } from "../limits.ts";
import type { ServeHttpOptions, SessionOptions } from "../options.ts";
import { idOf, PostReply, sendError, statusOf } from "../reply.ts";
import { EventLog, StreamRecorder } from "./event-log.ts";
import { GetStreams } from "./get-stream.ts";
import { LiveSession, LiveSessions } from "./live-session.ts";
import { findSession, type KnownSession, Sessions, StreamClaims } from "./sessions.ts";

export { startRelay } from "./relay.ts";

const cancelTopic = "mcp/cancel";
const endTopic = "mcp/session-end";
const changeTopic = "mcp/session-change";
const takeTopic = "mcp/session-stream";

/** Makes the part that serves sessions. Called with the first request of a stateful client. */
export function createStatefulServer(state: EndpointState, options: ServeHttpOptions): StatefulServer {
  const { sessions = {}, storage = createMemoryStorage() } = options;
  return new StatefulServer(state, storage, sessions || {});
}

/** Serves clients that begin with a handshake. Their session keeps what their later requests do not repeat. */
export class StatefulServer {
  readonly #state: EndpointState;
  readonly #storage: Storage;
  readonly #sessions: Sessions;
  /** Distinguishes this process from the others. */
  readonly #processId: string = crypto.randomUUID();
  readonly #log: EventLog;
  readonly #live: LiveSessions;
  readonly #recorder: StreamRecorder;
  readonly #claims: StreamClaims;
  readonly #gets: GetStreams;
  readonly #parts: SessionParts;
  readonly #stops: Promise<() => Promise<void> | void>[];

  constructor(state: EndpointState, storage: Storage, options: SessionOptions) {
    this.#state = state;
    this.#storage = storage;
    this.#sessions = new Sessions(storage, options);
    this.#log = new EventLog(storage);
    this.#live = new LiveSessions(storage);
    this.#recorder = new StreamRecorder(this.#log, (call) => state.streams.afterTurn(call));
    this.#parts = {
      live: this.#live,
      settingsOf: (id) => storedSettings(this.#sessions, id, this.#live, () => storage.bus.publish(changeTopic, id)),
    };
    this.#claims = new StreamClaims(storage, state.keepAliveMs);
    this.#gets = new GetStreams(state, this.#sessions, this.#log, this.#live, this.#claims);
    state.streams.onTick = () => this.#gets.renew();
    const subscribe = (topic: string, receive: (value: string) => void) =>
      storage.bus.subscribe(topic, receive, () => {});
    this.#stops = [
      subscribe(cancelTopic, (value) => this.#cancelHere(value)),
      subscribe(endTopic, (id) => this.#endHere(id)),
      subscribe(takeTopic, (value) => this.#takenElsewhere(value)),
      subscribe(changeTopic, (id) => this.#changedElsewhere(id)),
    ];
  }

  post(messages: Message[] | Message, context: HttpContext): MaybePromise<void> {
    if (!Array.isArray(messages) && isRequest(messages) && messages.method === "initialize") {
      return this.#initialize(messages, context);
    }
    const found = findSession(this.#sessions, context, idOf(messages));
    // Hot path: no whenDone, because most requests find their session in the cache.
    return isPromise(found)
      ? found.then((known) => this.#postTo(known, messages, context))
      : this.#postTo(found, messages, context);
  }

  #postTo(known: KnownSession | undefined, messages: Message[] | Message, context: HttpContext): MaybePromise<void> {
    if (!known) return;
    if (Array.isArray(messages)) return this.#batch(messages, known, context);
    if (isRequest(messages)) return this.#answer(messages, known, context);
    return this.#receive(messages, known).then(() => context.reply.send(202, context.headers));
  }

  async get(context: HttpContext): Promise<void> {
    await this.#gets.open(context, (id) => this.#storage.bus.publish(takeTopic, JSON.stringify([id, this.#processId])));
  }

  async delete(context: HttpContext): Promise<void> {
    const known = await findSession(this.#sessions, context);
    if (!known) return;
    await Promise.all([this.#sessions.end(known.id), this.#claims.release(known.id)]);
    this.#endHere(known.id);
    await this.#storage.bus.publish(endTopic, known.id);
    context.reply.send(204, context.headers);
  }

  async close(): Promise<void> {
    await this.#gets.close();
    this.#log.close();
    for (const stop of await Promise.all(this.#stops)) await stop();
  }

  async #initialize(message: RpcRequest, context: HttpContext): Promise<void> {
    const { request, reply, principal, headers } = context;
    const { id, params = {} } = message;
    if (request.header(headerKeys.session) !== undefined) {
      const error = invalidRequest("initialize: expected no Mcp-Session-Id; this session has begun already");
      sendError(reply, 400, error.toErrorObject(), id, headers);
      return;
    }
    const peer = peerFromHandshake(params);
    const problem = peer.revision.requests.get("initialize")?.params(params, "params");
    if (problem !== undefined) {
      sendError(reply, 400, invalidParams(problem).toErrorObject(), id, headers);
      return;
    }
    const begun = await this.#sessions.begin(peer, principal.key);
    if ("status" in begun) {
      const error = { code: rpcCodes.internalError, message: `Cannot start a session: ${begun.why}` };
      sendError(reply, begun.status, error, id, { ...headers, "retry-after": String(sessionRetryAfterSeconds) });
      return;
    }
    this.#answer(message, begun, { ...context, headers: { ...headers, [headerKeys.session]: begun.id } });
  }

  #answer(message: RpcRequest, known: KnownSession, context: HttpContext): void {
    const answer = this.#replyFor(known, context);
    this.#serve(message, known, context, answer, (response, error) =>
      answer.finish(serialize(response), error ? requestStatus(error) : 200),
    );
  }

  #batch(messages: Message[], known: KnownSession, context: HttpContext): void {
    const { reply, headers } = context;
    const problem = problemOfBatch(messages, known.peer.revision);
    if (problem !== undefined) {
      sendError(reply, 400, invalidRequest(problem).toErrorObject(), undefined, headers);
      return;
    }
    const answer = this.#replyFor(known, context);
    const collect = collectResponses(messages, (responses) =>
      responses.length === 0 ? answer.drop() : answer.finish(serialize(responses), 200),
    );
    for (const message of messages) {
      if (isRequest(message)) this.#serve(message, known, context, answer, collect, () => collect());
      else void this.#receive(message, known);
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
      new SessionReturnPath(known.id, answer, this.#parts),
    );
    const running = serveExchange(this.#state.runtime, exchange, reply);
    if (!running) return;
    // In a microtask, so that messages which the handler sends on cancellation go first.
    exchange.onCancel(() => queueMicrotask(() => (cancelled ? cancelled() : answer.drop())));
    const live = this.#live.open(known.id);
    live.add(exchange);
    answer.keepOpen(this.#state.quietMs);
    this.#state.track(exchange, running);
    running.then(() => {
      live.remove(exchange);
      this.#live.forgetIdle(live);
    });
  }

  #replyFor({ id, peer }: KnownSession, context: HttpContext): PostReply {
    return new PostReply(context, this.#state.streams, (stream) =>
      this.#recorder.record(stream, id, peer.revision.http.primes),
    );
  }

  /** Handles a notification, or the answer to a question. */
  async #receive(message: Message, known: KnownSession): Promise<void> {
    if (!("method" in message)) {
      const live = this.#live.get(known.id) ?? new LiveSession(known.id, this.#storage);
      await live.settle(message);
      return;
    }
    const { method, params = {} } = message as RpcNotification;
    if (method !== "notifications/cancelled") {
      handleNotification(this.#state.runtime, known.peer, method, params);
      return;
    }
    const cancel = JSON.stringify([known.id, params["requestId"], params["reason"]]);
    this.#cancelHere(cancel);
    await this.#storage.bus.publish(cancelTopic, cancel);
  }

  #cancelHere(value: string): void {
    const [session, requestId, reason] = JSON.parse(value) as [string, RequestId, unknown];
    const why = typeof reason === "string" ? reason : "The client cancelled the request";
    this.#live.get(session)?.cancel(requestId, new PortolanError("cancelled", why));
  }

  /** Applies the changed settings of a session to its standalone stream, if this process has the stream. */
  async #changedElsewhere(id: string): Promise<void> {
    const standalone = this.#live.get(id)?.standalone;
    this.#sessions.forget(id);
    const known = standalone && (await this.#sessions.find(id, standalone.session.principal));
    if (known) standalone.applySettings(known);
  }

  /** Ends the standalone stream here if another process has a newer connection. */
  #takenElsewhere(value: string): void {
    const [id, by] = JSON.parse(value) as [string, string];
    if (by !== this.#processId) this.#live.get(id)?.standalone?.end();
  }

  #endHere(id: string): void {
    this.#sessions.forget(id);
    this.#live.get(id)?.end(new PortolanError("cancelled", "The session has ended"));
  }
}

function requestStatus(error: RpcError): number {
  return error.stage === "envelope" ? statusOf(error) : 200;
}

/** The parts that the requests of all sessions share. */
interface SessionParts {
  readonly live: LiveSessions;
  settingsOf(id: string): SessionSettings;
}

// Hot path: a class, because an object with closures would cost more on every request.
class SessionReturnPath implements ReturnPath {
  readonly writesText = true;
  readonly #id: string;
  readonly #answer: PostReply;
  readonly #parts: SessionParts;

  constructor(id: string, answer: PostReply, parts: SessionParts) {
    this.#id = id;
    this.#answer = answer;
    this.#parts = parts;
  }

  get session(): SessionSettings {
    return this.#parts.settingsOf(this.#id);
  }

  notify(method: string, params: JsonObject): void {
    this.#answer.send({ jsonrpc: "2.0", method, params });
  }

  hangUp(): void {
    this.#answer.hangUp();
  }

  async ask(exchange: ServedExchange, question: InputRequest): Promise<JsonObject> {
    const live = this.#parts.live.open(this.#id);
    try {
      return await live.ask(exchange, this.#answer, question);
    } finally {
      this.#parts.live.forgetIdle(live);
    }
  }
}

/** Settings that are written to the record of a session, applied to its standalone stream, and announced to other processes. */
function storedSettings(
  sessions: Sessions,
  id: string,
  live: LiveSessions,
  announce: () => Promise<void>,
): SessionSettings {
  return {
    async setLogLevel(logLevel) {
      live.get(id)?.standalone?.session.setLogLevel(logLevel);
      await sessions.change(id, () => ({ logLevel }));
      await announce();
    },
    async subscribe(uri, hold) {
      await live.get(id)?.standalone?.session.subscribe(uri, hold);
      await sessions.change(id, ({ uris }) => {
        if (uris.includes(uri)) return {};
        checkSubscriptionLimit(uris.length);
        return { uris: [...uris, uri] };
      });
      await announce();
    },
    async unsubscribe(uri) {
      live.get(id)?.standalone?.session.unsubscribe(uri);
      await sessions.change(id, ({ uris }) => ({ uris: uris.filter((other) => other !== uri) }));
      await announce();
    },
  };
}
