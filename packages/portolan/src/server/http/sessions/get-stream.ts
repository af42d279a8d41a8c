import { rpcCodes, serialize } from "../../../jsonrpc/message.ts";
import { headerKeys } from "../../../transport/headers.ts";
import { type Principal, ServedExchange } from "../../call/exchange.ts";
import { Session } from "../../channel/session.ts";
import type { Runtime } from "../../subscribe/hub.ts";
import { watchOf } from "../../subscribe/listen.ts";
import type { HttpReply } from "../adapter.ts";
import type { EndpointState, HttpContext } from "../endpoint.ts";
import { retryAfterSeconds, standaloneGraceMs } from "../limits.ts";
import { anonymous } from "../options.ts";
import { eventOf, openingEvent, refuse, sendError, tooManyStreams } from "../reply.ts";
import type { OpenStream } from "../streams.ts";
import { type EventLog, type EventPosition, parseEventId, standaloneName, standaloneNameWith } from "./event-log.ts";
import type { LiveSessions } from "./live-session.ts";
import { findSession, type KnownSession, type Sessions, type StreamClaims } from "./sessions.ts";

/** The streams that clients open with GET: the standalone stream of a session, and the rest of an interrupted answer. */
export class GetStreams {
  readonly #state: EndpointState;
  readonly #sessions: Sessions;
  readonly #log: EventLog;
  readonly #liveSessions: LiveSessions;
  readonly #claims: StreamClaims;

  constructor(
    state: EndpointState,
    sessions: Sessions,
    log: EventLog,
    liveSessions: LiveSessions,
    claims: StreamClaims,
  ) {
    this.#claims = claims;
    this.#state = state;
    this.#sessions = sessions;
    this.#log = log;
    this.#liveSessions = liveSessions;
  }

  /** Renews the expiry of sessions with a standalone stream, and the claims on streams whose clients read. */
  renew(): void {
    for (const { id, standalone } of this.#liveSessions.values()) {
      if (!standalone) continue;
      this.#state.background(this.#sessions.touch(id));
      if (standalone.isRead && isAnonymous(standalone.session.principal)) {
        this.#state.background(this.#claims.hold(id, standalone.proof));
      }
    }
  }

  async close(): Promise<void> {
    for (const { id, standalone } of this.#liveSessions.values()) {
      if (!standalone) continue;
      standalone.end();
      await this.#claims.release(id);
    }
  }

  /** @param announce tells other processes that this one has the standalone stream of the session now */
  async open(context: HttpContext, announce: (id: string) => Promise<void>): Promise<void> {
    const { request, reply, principal, headers, accepts } = context;
    if (!accepts.events) {
      refuse(reply, 406, "Accept: expected text/event-stream", headers);
      return;
    }
    const known = await findSession(this.#sessions, context);
    if (!known) return;
    const lastEventId = request.header(headerKeys.lastEventId);
    const position = lastEventId === undefined ? undefined : parseEventId(lastEventId);
    if (lastEventId !== undefined && !(position && (await this.#isKept(known.id, position)))) {
      refuse(reply, 400, "Last-Event-ID: expected an event of this session that is still stored", headers);
      return;
    }
    const retryAfter = { ...headers, "retry-after": String(retryAfterSeconds) };
    const isStandalone = position === undefined || position.stream === standaloneName;
    if (isStandalone && isAnonymous(principal.key) && (await this.#claims.isHeldByOther(known.id, position?.proof))) {
      refuse(reply, 409, "This session has an event stream already, and its client is reading it", retryAfter);
      return;
    }
    const stream = this.#state.streams.open(reply, headers, principal.key);
    if (!stream) {
      sendError(reply, 503, { code: rpcCodes.internalError, message: tooManyStreams }, undefined, retryAfter);
    } else if (isStandalone) {
      const { proof } = this.#attach(known, context, stream, position);
      if (isAnonymous(principal.key)) await this.#claims.hold(known.id, proof);
      await announce(known.id);
    } else await this.#resume(known.id, position, stream, reply);
  }

  /** Returns whether every message after a position is still stored. */
  async #isKept(session: string, position: EventPosition): Promise<boolean> {
    if (position.stream !== standaloneName) return this.#log.isKept(session, position);
    return (await this.#log.read(session, position)) !== undefined;
  }

  /** Sends the rest of an answer whose connection was lost. */
  async #resume(session: string, position: EventPosition, stream: OpenStream, reply: HttpReply): Promise<void> {
    const events = this.#log.follow(session, position);
    reply.onGone(() => events.return(undefined));
    for await (const { id, text } of events) if (text !== "") await stream.replay(eventOf(text, id));
    stream.end();
  }

  /** Attaches a connection to the standalone stream. The newest one wins: an older one is mostly a dead connection. */
  #attach(
    known: KnownSession,
    { reply, principal }: HttpContext,
    stream: OpenStream,
    position: EventPosition | undefined,
  ): StandaloneStream {
    const live = this.#liveSessions.open(known.id);
    const ended = () => {
      live.standalone = undefined;
      this.#liveSessions.forgetIdle(live);
    };
    live.standalone ??= new StandaloneStream(this.#state.runtime, known, principal, this.#log, position?.proof, ended);
    const { standalone } = live;
    standalone.attach(stream, position);
    if (principal.expiresAt !== undefined) stream.expiry = { at: principal.expiresAt, end: () => standalone.end() };
    reply.onGone(() => {
      standalone.detach(stream);
      if (isAnonymous(principal.key)) this.#state.background(this.#claims.release(known.id));
    });
    return standalone;
  }
}

function isAnonymous(key: string): boolean {
  return key === anonymous.key;
}

/** The notifications of a session outside requests: changes and log messages. It outlives a lost connection. */
export class StandaloneStream {
  readonly session: Session;
  /** A secret in the ids of its events: a client that knows it has read the stream. */
  readonly proof: string;
  readonly #runtime: Runtime;
  readonly #principal: Principal;
  readonly #id: string;
  readonly #log: EventLog;
  readonly #ended: () => void;
  readonly #stopListening: () => void;
  #stream: OpenStream | undefined;
  /** Resolves when all queued steps are done. */
  #queue: Promise<void> = Promise.resolve();
  #graceTimer: ReturnType<typeof setTimeout> | undefined;

  constructor(
    runtime: Runtime,
    known: KnownSession,
    principal: Principal,
    log: EventLog,
    proof: string | undefined,
    ended: () => void,
  ) {
    this.proof = proof ?? crypto.randomUUID();
    this.#runtime = runtime;
    this.#principal = principal;
    this.#id = known.id;
    this.#log = log;
    this.#ended = ended;
    this.session = new Session(known.peer, principal.key, (method, params) => {
      this.#send(serialize({ jsonrpc: "2.0", method, params }));
    });
    this.#stopListening = runtime.hub.listen(this.session);
    this.applySettings(known);
  }

  /** True if a client is connected and reads. */
  get isRead(): boolean {
    return this.#stream?.isRead === true;
  }

  /** Continues on this connection, after a position if there is one. Ends the previous connection. */
  attach(stream: OpenStream, position: EventPosition | undefined): void {
    clearTimeout(this.#graceTimer);
    this.#stream?.end();
    this.#stream = undefined;
    this.#enqueue(async () => {
      // A client that resumes has a position already; the id of an opening event would reset it.
      if (!position && this.session.peer.revision.http.primes) {
        stream.write(openingEvent(standaloneNameWith(this.proof)));
      }
      const missed = position && (await this.#log.read(this.#id, position));
      for (const { id, text } of missed ?? []) await stream.replay(this.#toEvent(id, text));
      this.#stream = stream;
    });
  }

  /** Keeps the stream for a while after its connection was lost; messages are stored meanwhile. */
  detach(stream: OpenStream): void {
    this.#enqueue(async () => {
      if (this.#stream !== stream) return;
      this.#stream = undefined;
      this.#graceTimer = setTimeout(() => this.end(), standaloneGraceMs);
      if (typeof this.#graceTimer === "object") this.#graceTimer.unref?.();
    });
  }

  /** Takes log level and subscriptions from the record of the session. */
  applySettings({ peer, uris }: KnownSession): void {
    if (peer.logLevel !== undefined) this.session.setLogLevel(peer.logLevel);
    this.session.keepOnly(uris);
    for (const uri of uris) void this.#subscribe(uri);
  }

  /** Ends the stream and releases its subscriptions. */
  end(): void {
    clearTimeout(this.#graceTimer);
    this.#stopListening();
    this.session.end();
    this.#stream?.end();
    this.#stream = undefined;
    this.#ended();
  }

  #send(text: string): void {
    this.#enqueue(async () => {
      const id = await this.#log.appendStandalone(this.#id, text);
      this.#stream?.write(this.#toEvent(id, text));
    });
  }

  #toEvent(id: string, text: string): string {
    return eventOf(text, `${standaloneNameWith(this.proof)}_${id}`);
  }

  /** Runs a step after all earlier ones. */
  #enqueue(step: () => Promise<void>): void {
    this.#queue = this.#queue.then(step).catch((cause) => {
      this.#runtime.report(cause);
    });
  }

  async #subscribe(uri: string): Promise<void> {
    const request = { jsonrpc: "2.0", id: 0, method: "resources/subscribe", params: { uri } } as const;
    const exchange = new ServedExchange(request, this.session.peer, this.#principal, { notify() {} });
    try {
      const begin = watchOf(this.#runtime, exchange, uri);
      await this.session.subscribe(uri, () => begin && this.#runtime.hub.hold(uri, begin));
    } catch (cause) {
      this.#runtime.report(cause, request.method);
    }
  }
}
