import { headerKeys } from "../../transport/request-headers.ts";
import type { HttpReply } from "./door.ts";
import { type EventLog, type Place, placeOf, standaloneName } from "./event-log.ts";
import { eventOf, opening } from "./event-stream.ts";
import { findSession } from "./find-session.ts";
import type { LiveSessions } from "./live-sessions.ts";
import type { Serving } from "./serving.ts";
import type { KnownSession, Sessions } from "./sessions.ts";
import { StandaloneStream } from "./standalone-stream.ts";
import { sendError } from "./status.ts";
import type { OpenStream } from "./streams.ts";
import type { Visit } from "./visit.ts";

/** Streams that a client opens by GET: what belongs to no request, and the rest of what was cut. */
export class GetStreams {
  readonly #serving: Serving;
  readonly #sessions: Sessions;
  readonly #log: EventLog;
  readonly #liveSessions: LiveSessions;

  constructor(serving: Serving, sessions: Sessions, log: EventLog, liveSessions: LiveSessions) {
    this.#serving = serving;
    this.#sessions = sessions;
    this.#log = log;
    this.#liveSessions = liveSessions;
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
    const stream = this.#serving.streams.open(reply, headers, principal.key);
    if (!stream) {
      const full = { ...headers, "retry-after": "5" };
      sendError(reply, 503, { code: -32603, message: "Too many event streams" }, undefined, full);
    } else if (place && place.stream !== standaloneName) await this.#resume(known.id, place, stream, reply);
    else {
      this.#attach(known, visit, stream, place);
      await taken(known.id);
    }
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
    for await (const { id, text } of events) if (text !== "") stream.write(eventOf(text, id));
    stream.end();
  }

  /** The newest stream of a session counts: the older one is most often a connection that died unnoticed. */
  #attach(known: KnownSession, { reply, principal }: Visit, stream: OpenStream, place: Place | undefined): void {
    const live = this.#liveSessions.open(known.id);
    const ended = () => {
      live.standalone = undefined;
      this.#liveSessions.forgetIdle(live);
    };
    live.standalone ??= new StandaloneStream(this.#serving.runtime, known, principal, this.#log, ended);
    const { standalone } = live;
    standalone.attach(stream, known.peer.revision.http.primes ? opening(standaloneName) : undefined, place);
    if (principal.expiresAt !== undefined) stream.expiry = { at: principal.expiresAt, end: () => standalone.end() };
    reply.onGone(() => standalone.detach(stream));
  }
}
