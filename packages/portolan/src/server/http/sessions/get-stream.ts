import { rpcCodes, serialize } from "../../../jsonrpc/message.ts";
import { headerKeys } from "../../../transport/headers.ts";
import { type Principal, ServedExchange } from "../../call/exchange.ts";
import { Session } from "../../channel/session.ts";
import type { Runtime } from "../../subscribe/hub.ts";
import { watchOf } from "../../subscribe/listen.ts";
import type { HttpReply } from "../adapter.ts";
import type { EndpointState, HttpContext } from "../endpoint.ts";
import { anonymous } from "../options.ts";
import { eventOf, opening, sendError } from "../reply.ts";
import type { OpenStream } from "../streams.ts";
import { type EventLog, type EventPosition, placeOf, standaloneName, standaloneWith } from "./event-log.ts";
import type { LiveSessions } from "./live-session.ts";
import { findSession, type KnownSession, type Sessions, type StreamClaims } from "./sessions.ts";

/** Streams that a client opens by GET: what belongs to no request, and the rest of what was cut. */
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

  /** Says that the streams of these sessions are in use, as far as their clients read them. */
  renew(): void {
    for (const { id, standalone } of this.#liveSessions.values()) {
      if (!standalone) continue;
      this.#state.watch(this.#sessions.touch(id));
      if (standalone.isRead && isAnonymous(standalone.session.principal)) {
        this.#state.watch(this.#claims.hold(id, standalone.proof));
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

  /** @param taken tells other processes that the session's stream is here now */
  async open(context: HttpContext, taken: (id: string) => Promise<void>): Promise<void> {
    const { request, reply, principal, headers, accepts } = context;
    if (!accepts.events) {
      sendError(
        reply,
        406,
        { code: rpcCodes.invalidRequest, message: "Accept: expected text/event-stream" },
        undefined,
        headers,
      );
      return;
    }
    const known = await findSession(this.#sessions, context);
    if (!known) return;
    const lastEventId = request.header(headerKeys.lastEventId);
    const place = lastEventId === undefined ? undefined : placeOf(lastEventId);
    if (lastEventId !== undefined && !(place && (await this.#isKept(known.id, place)))) {
      sendError(
        reply,
        400,
        { code: rpcCodes.invalidRequest, message: "Last-Event-ID: no event of this session" },
        undefined,
        headers,
      );
      return;
    }
    const isStandalone = place === undefined || place.stream === standaloneName;
    if (isStandalone && isAnonymous(principal.key) && (await this.#claims.isHeldFrom(known.id, place?.proof))) {
      const error = {
        code: rpcCodes.invalidRequest,
        message: "This session has an event stream, and its client reads it",
      };
      sendError(reply, 409, error, undefined, { ...headers, "retry-after": "5" });
      return;
    }
    const stream = this.#state.streams.open(reply, headers, principal.key);
    if (!stream) {
      const full = { ...headers, "retry-after": "5" };
      sendError(reply, 503, { code: rpcCodes.internalError, message: "Too many event streams" }, undefined, full);
    } else if (isStandalone) {
      const { proof } = this.#attach(known, context, stream, place);
      if (isAnonymous(principal.key)) await this.#claims.hold(known.id, proof);
      await taken(known.id);
    } else await this.#resume(known.id, place, stream, reply);
  }

  /** Whether nothing behind a place is missing. */
  async #isKept(session: string, place: EventPosition): Promise<boolean> {
    if (place.stream !== standaloneName) return this.#log.isKept(session, place);
    return (await this.#log.read(session, place)) !== undefined;
  }

  /** The rest of an answer whose connection was lost. */
  async #resume(session: string, place: EventPosition, stream: OpenStream, reply: HttpReply): Promise<void> {
    const events = this.#log.follow(session, place);
    reply.onGone(() => events.return(undefined));
    for await (const { id, text } of events) if (text !== "") await stream.replay(eventOf(text, id));
    stream.end();
  }

  /** The newest stream of a session counts: the older one is most often a connection that died unnoticed. */
  #attach(
    known: KnownSession,
    { reply, principal }: HttpContext,
    stream: OpenStream,
    place: EventPosition | undefined,
  ): StandaloneStream {
    const live = this.#liveSessions.open(known.id);
    const ended = () => {
      live.standalone = undefined;
      this.#liveSessions.forgetIdle(live);
    };
    live.standalone ??= new StandaloneStream(this.#state.runtime, known, principal, this.#log, place?.proof, ended);
    const { standalone } = live;
    standalone.attach(stream, place);
    if (principal.expiresAt !== undefined) stream.expiry = { at: principal.expiresAt, end: () => standalone.end() };
    reply.onGone(() => {
      standalone.detach(stream);
      if (isAnonymous(principal.key)) this.#state.watch(this.#claims.release(known.id));
    });
    return standalone;
  }
}

function isAnonymous(key: string): boolean {
  return key === anonymous.key;
}

/** How long a client that lost its connection may stay away without missing anything. */
const patienceMs = 60_000;

/** What a session hears that belongs to no request: changes, and logs outside requests. It outlives a lost connection. */
export class StandaloneStream {
  readonly session: Session;
  /** What its events say to the one who reads them, and to nobody else. */
  readonly proof: string;
  readonly #runtime: Runtime;
  readonly #principal: Principal;
  readonly #id: string;
  readonly #log: EventLog;
  readonly #ended: () => void;
  readonly #stopListening: () => void;
  #stream: OpenStream | undefined;
  #recorded: Promise<void> = Promise.resolve();
  #patience: ReturnType<typeof setTimeout> | undefined;

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
      this.#say(serialize({ jsonrpc: "2.0", method, params }));
    });
    this.#stopListening = runtime.hub.listen(this.session);
    this.follow(known);
  }

  /** Whether there is a client, and it reads. */
  get isRead(): boolean {
    return this.#stream?.isRead === true;
  }

  /** Goes on over this connection, from a place if there is one; the connection before it is ended. */
  attach(stream: OpenStream, place: EventPosition | undefined): void {
    clearTimeout(this.#patience);
    this.#stream?.end();
    this.#stream = undefined;
    this.#inOrder(async () => {
      // Who comes back has a place already, and would begin anew with that of an opening.
      if (!place && this.session.peer.revision.http.primes) stream.write(opening(standaloneWith(this.proof)));
      const missed = place && (await this.#log.read(this.#id, place));
      for (const { id, text } of missed ?? []) await stream.replay(this.#toEvent(id, text));
      this.#stream = stream;
    });
  }

  /** The connection is lost; what is said now is kept for a while. */
  detach(stream: OpenStream): void {
    this.#inOrder(async () => {
      if (this.#stream !== stream) return;
      this.#stream = undefined;
      this.#patience = setTimeout(() => this.end(), patienceMs);
      if (typeof this.#patience === "object") this.#patience.unref?.();
    });
  }

  /** Follows what the record of its session says, and nothing else. */
  follow({ peer, uris }: KnownSession): void {
    if (peer.logLevel !== undefined) this.session.setLogLevel(peer.logLevel);
    this.session.keepOnly(uris);
    for (const uri of uris) void this.#subscribe(uri);
  }

  /** Ends the stream and lets go of what was begun for it. */
  end(): void {
    clearTimeout(this.#patience);
    this.#stopListening();
    this.session.end();
    this.#stream?.end();
    this.#stream = undefined;
    this.#ended();
  }

  #say(text: string): void {
    this.#inOrder(async () => {
      const id = await this.#log.append(this.#id, text);
      this.#stream?.write(this.#toEvent(id, text));
    });
  }

  #toEvent(id: string, text: string): string {
    return eventOf(text, `${standaloneWith(this.proof)}_${id}`);
  }

  #inOrder(step: () => Promise<void>): void {
    this.#recorded = this.#recorded.then(step).catch((cause) => {
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
