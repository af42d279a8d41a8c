import { headerKeys } from "../../../transport/headers.ts";
import type { HttpReply } from "../adapter.ts";
import { eventOf } from "../event-stream.ts";
import { anonymous } from "../options.ts";
import type { Serving } from "../serving.ts";
import { sendError } from "../status.ts";
import type { OpenStream } from "../streams.ts";
import type { Visit } from "../visit.ts";
import { type EventLog, type Place, placeOf, standaloneName } from "./event-log.ts";
import { findSession } from "./find-session.ts";
import type { LiveSessions } from "./live-sessions.ts";
import type { KnownSession, Sessions } from "./sessions.ts";
import { StandaloneStream } from "./standalone-stream.ts";
import type { StreamClaims } from "./stream-claims.ts";

/** Streams that a client opens by GET: what belongs to no request, and the rest of what was cut. */
export class GetStreams {
  readonly #serving: Serving;
  readonly #sessions: Sessions;
  readonly #log: EventLog;
  readonly #liveSessions: LiveSessions;
  readonly #claims: StreamClaims;

  constructor(serving: Serving, sessions: Sessions, log: EventLog, liveSessions: LiveSessions, claims: StreamClaims) {
    this.#claims = claims;
    this.#serving = serving;
    this.#sessions = sessions;
    this.#log = log;
    this.#liveSessions = liveSessions;
  }

  /** Says that the streams of these sessions are in use, as far as their clients read them. */
  renew(): void {
    for (const { id, standalone } of this.#liveSessions.values()) {
      if (!standalone) continue;
      this.#serving.watch(this.#sessions.touch(id));
      if (standalone.isRead && isAnonymous(standalone.session.principal)) {
        this.#serving.watch(this.#claims.hold(id, standalone.proof));
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
  async open(visit: Visit, taken: (id: string) => Promise<void>): Promise<void> {
    const { request, reply, principal, headers, accepts } = visit;
    if (!accepts.events) {
      sendError(reply, 406, { code: -32600, message: "Accept: expected text/event-stream" }, undefined, headers);
      return;
    }
    const known = await findSession(this.#sessions, visit);
    if (!known) return;
    const lastEventId = request.header(headerKeys.lastEventId);
    const place = lastEventId === undefined ? undefined : placeOf(lastEventId);
    if (lastEventId !== undefined && !(place && (await this.#isKept(known.id, place)))) {
      sendError(reply, 400, { code: -32600, message: "Last-Event-ID: no event of this session" }, undefined, headers);
      return;
    }
    const isStandalone = place === undefined || place.stream === standaloneName;
    if (isStandalone && isAnonymous(principal.key) && (await this.#claims.isHeldFrom(known.id, place?.proof))) {
      const error = { code: -32600, message: "This session has an event stream, and its client reads it" };
      sendError(reply, 409, error, undefined, { ...headers, "retry-after": "5" });
      return;
    }
    const stream = this.#serving.streams.open(reply, headers, principal.key);
    if (!stream) {
      const full = { ...headers, "retry-after": "5" };
      sendError(reply, 503, { code: -32603, message: "Too many event streams" }, undefined, full);
    } else if (isStandalone) {
      const { proof } = this.#attach(known, visit, stream, place);
      if (isAnonymous(principal.key)) await this.#claims.hold(known.id, proof);
      await taken(known.id);
    } else await this.#resume(known.id, place, stream, reply);
  }

  /** Whether nothing behind a place is missing. */
  async #isKept(session: string, place: Place): Promise<boolean> {
    if (place.stream !== standaloneName) return this.#log.isKept(session, place);
    return (await this.#log.read(session, place)) !== undefined;
  }

  /** The rest of an answer whose connection was lost. */
  async #resume(session: string, place: Place, stream: OpenStream, reply: HttpReply): Promise<void> {
    const events = this.#log.follow(session, place);
    reply.onGone(() => events.return(undefined));
    for await (const { id, text } of events) if (text !== "") await stream.replay(eventOf(text, id));
    stream.end();
  }

  /** The newest stream of a session counts: the older one is most often a connection that died unnoticed. */
  #attach(
    known: KnownSession,
    { reply, principal }: Visit,
    stream: OpenStream,
    place: Place | undefined,
  ): StandaloneStream {
    const live = this.#liveSessions.open(known.id);
    const ended = () => {
      live.standalone = undefined;
      this.#liveSessions.forgetIdle(live);
    };
    live.standalone ??= new StandaloneStream(this.#serving.runtime, known, principal, this.#log, place?.proof, ended);
    const { standalone } = live;
    standalone.attach(stream, place);
    if (principal.expiresAt !== undefined) stream.expiry = { at: principal.expiresAt, end: () => standalone.end() };
    reply.onGone(() => {
      standalone.detach(stream);
      if (isAnonymous(principal.key)) this.#serving.watch(this.#claims.release(known.id));
    });
    return standalone;
  }
}

function isAnonymous(key: string): boolean {
  return key === anonymous.key;
}
