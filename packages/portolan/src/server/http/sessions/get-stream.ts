import { headerKeys } from "../../../http/headers.ts";
import { RpcError } from "../../../jsonrpc/message.ts";
import { anonymous } from "../../call/exchange.ts";
import type { Caller } from "../../callers.ts";
import type { EndpointState, HttpContext } from "../endpoint.ts";
import { maxTakeTries, retryAfterSeconds, takeRetryMs } from "../limits.ts";
import { answerError, eventOf, refuse } from "../reply.ts";
import type { OpenStream } from "../streams.ts";
import { type EventLog, type EventPosition, parseEventId, standaloneName } from "./event-log.ts";
import { findSession, whenStored } from "./find-session.ts";
import type { LiveSessions } from "./live-session.ts";
import type { KnownSession, Sessions } from "./sessions.ts";
import { StandaloneStream, type StreamOwner, type StreamState } from "./standalone-stream.ts";
import type { StreamClaims } from "./stream-claims.ts";

/** Asks the process that had the standalone stream of a session to hand it over. */
export type TakeStream = (id: string, before: string | undefined) => Promise<StreamState | undefined>;

/** The facts of a stream that may begin. */
interface BegunGet {
  readonly position: EventPosition | undefined;
  /** The subscriptions of the session; undefined for the rest of an interrupted answer. */
  readonly uris: ReadonlySet<string> | undefined;
  /** Ends the count of the stream in other processes. Undefined if there are none. */
  readonly release: (() => void) | undefined;
}

/** The streams that clients open with GET: the standalone stream of a session, and the rest of an interrupted answer. */
export class GetStreams {
  readonly #state: EndpointState;
  readonly #sessions: Sessions;
  readonly #log: EventLog;
  readonly #liveSessions: LiveSessions;
  readonly #claims: StreamClaims;
  readonly #takeStream: TakeStream;

  constructor(
    state: EndpointState,
    sessions: Sessions,
    log: EventLog,
    liveSessions: LiveSessions,
    claims: StreamClaims,
    takeStream: TakeStream,
  ) {
    this.#claims = claims;
    this.#takeStream = takeStream;
    this.#state = state;
    this.#sessions = sessions;
    this.#log = log;
    this.#liveSessions = liveSessions;
  }

  /** Renews the claims on the streams of anonymous clients that read. */
  renew(): void {
    for (const { standalone } of this.#liveSessions.values()) {
      if (standalone?.isRead && isAnonymous(standalone.session.principal)) {
        this.#state.background(this.#renew(standalone));
      }
    }
  }

  async #renew(standalone: StandaloneStream): Promise<void> {
    if (!(await this.#claims.renew(standalone.known, standalone.proof))) standalone.end();
  }

  close(): void {
    for (const { standalone } of this.#liveSessions.values()) standalone?.end();
  }

  async open(context: HttpContext): Promise<void> {
    const { reply, caller, headers, accepts } = context;
    if (!accepts.events) {
      refuse(reply, 406, "Accept: expected text/event-stream", headers);
      return;
    }
    const known = await findSession(this.#state, this.#sessions, context);
    if (!known) return;
    const begun = await whenStored(this.#state, this.#sessions, context, [], () => this.#prepare(known, context));
    if (!begun) return;
    const { position, uris, release } = begun;
    const full = caller.take("streams");
    if (full) {
      release?.();
      answerError(reply, caller.beyond("streams", full), headers);
      return;
    }
    const stream = this.#openReserved(context, release);
    this.#sessions.hold(known.id, caller);
    if (uris) await this.#attach(known, uris, context, stream, position);
    else if (position) await this.#resume(known.id, position, stream, context);
  }

  #openReserved({ reply, headers, caller }: HttpContext, release: (() => void) | undefined): OpenStream {
    try {
      const stream = this.#state.streams.openReserved(reply, headers, caller);
      stream.onOver = release;
      return stream;
    } catch (cause) {
      release?.();
      throw cause;
    }
  }

  /** Reads what a stream needs from the storage; answers with an error and returns undefined if it must not begin. */
  async #prepare(
    known: KnownSession,
    { request, reply, principal, caller, headers }: HttpContext,
  ): Promise<BegunGet | undefined> {
    const lastEventId = request.header(headerKeys.lastEventId);
    const position = lastEventId === undefined ? undefined : parseEventId(lastEventId);
    if (lastEventId !== undefined) checkRate(caller);
    if (lastEventId !== undefined && !(position && (await this.#isKept(known.id, position, caller)))) {
      refuse(reply, 400, "Last-Event-ID: expected an event of this session that is still stored", headers);
      return undefined;
    }
    const retryAfter = { ...headers, "retry-after": String(retryAfterSeconds) };
    // A stream that goes on in a session that is lost would repeat what was stored before. Without an answer, it may open.
    if (this.#sessions.isShared && !(await this.#sessions.isStored(known.id).catch(() => true))) {
      this.#sessions.forgetCached(known.id);
      refuse(reply, 404, "Session not found: initialize again", headers);
      return undefined;
    }
    const isStandalone = position === undefined || position.stream === standaloneName;
    if (isStandalone && isAnonymous(principal.key) && (await this.#claims.isHeldByOther(known.id, position?.proof))) {
      refuse(reply, 409, "This session has an event stream already, and its client is reading it", retryAfter);
      return undefined;
    }
    const uris = isStandalone ? await this.#sessions.subscriptions.of(known.id) : undefined;
    return { position, uris, release: await caller.callers.across?.openStream(caller) };
  }

  /**
   * Begins the standalone stream of a session without a connection if no process has it: a client may subscribe before its
   * GET arrives, and must not miss what changes in between.
   */
  async begin(owner: StreamOwner): Promise<void> {
    const { id } = owner.known;
    const uris = await this.#sessions.subscriptions.of(id);
    const isContinued = this.#liveSessions.get(id)?.standalone !== undefined;
    const standalone = this.#standaloneOf(owner, uris);
    // If no process has had the stream since the one before ended.
    const hasGap = !isContinued && uris.size > 0;
    standalone.endUnlessConnected();
    if (!this.#sessions.isShared) {
      standalone.isBegun = true;
      standalone.hasGap ||= hasGap;
      return;
    }
    // The stream is there before the claim: another process that sees the claim asks for the stream at once.
    const claimed = this.#claims.begin(id);
    standalone.holdUntil(claimed, hasGap);
    await claimed;
  }

  /** Returns whether every message after a position is still stored. */
  async #isKept(session: string, position: EventPosition, caller: Caller): Promise<boolean> {
    const isStandalone = position.stream === standaloneName;
    if (isStandalone && this.#liveSessions.get(session)?.standalone?.hasLost(position)) return false;
    return this.#log.isKept(session, position, caller);
  }

  /** Sends the rest of an answer whose connection was lost. */
  async #resume(
    session: string,
    position: EventPosition,
    stream: OpenStream,
    { reply, caller }: HttpContext,
  ): Promise<void> {
    const events = this.#log.follow(session, position, caller);
    reply.onGone(() => events.return(undefined).catch((cause) => this.#state.runtime.report(cause)));
    const live = this.#liveSessions.open(session);
    live.resumed.push(stream);
    live.connectedAt = performance.now();
    try {
      for await (const { id, text } of events) if (text !== "") await stream.replay(eventOf(text, id));
    } catch (cause) {
      // The client can resume from its last event when its caller has room again.
      if (!(cause instanceof RpcError)) throw cause;
    } finally {
      stream.end();
      live.resumed.splice(live.resumed.indexOf(stream), 1);
      this.#liveSessions.forgetIdle(live);
    }
  }

  /** Attaches a connection to the standalone stream. The newest one wins: an older one is mostly a dead connection. */
  async #attach(
    known: KnownSession,
    uris: ReadonlySet<string>,
    { principal, caller }: HttpContext,
    stream: OpenStream,
    position: EventPosition | undefined,
  ): Promise<void> {
    const existing = this.#liveSessions.get(known.id)?.standalone;
    const isContinued = existing?.isBegun === true;
    // A subscription of this process begins it at the moment: it listens already, and may get the claim.
    const isBeginning = existing !== undefined && !isContinued;
    const standalone = this.#standaloneOf({ known, principal, caller }, uris, position?.proof);
    const hasPast = position !== undefined || uris.size > 0;
    const taken = this.#takeOver(standalone, isContinued, isBeginning, hasPast);
    standalone.attach(stream, position, taken);
    if (principal.expiresAt !== undefined) stream.expiry = { at: principal.expiresAt, end: () => standalone.end() };
    const { onOver } = stream;
    stream.onOver = () => {
      onOver?.();
      standalone.detach(stream);
      if (standalone.isLatest(stream)) this.#state.background(this.#claims.loosen(known.id));
    };
    await taken;
    if (stream.isClosed && standalone.isLatest(stream)) await this.#claims.loosen(known.id);
  }

  /**
   * Claims a stream that this process listens to already, and lets the process that had it hand it over. From then on every
   * publication was sent by that process or is sent by this one. Without its reply, changes may be missing.
   */
  async #takeOver(
    standalone: StandaloneStream,
    isContinued: boolean,
    isBeginning: boolean,
    hasPast: boolean,
  ): Promise<StreamState> {
    const { known, proof } = standalone;
    for (let tries = 1; ; tries += 1) {
      try {
        const before = await this.#claims.take(known, proof);
        const state = this.#sessions.isShared ? await this.#takeStream(known.id, before) : undefined;
        if (state?.isOutdated) standalone.end();
        // From now on other processes tell this one of subscriptions. Earlier ones may have been missed.
        standalone.applySettings(known.peer, await this.#sessions.subscriptions.of(known.id));
        if (isContinued || (isBeginning && before === this.#claims.owner)) return { sent: state?.sent ?? [] };
        return state ?? { hasGap: hasPast || before !== undefined };
      } catch (cause) {
        this.#state.runtime.report(cause);
        // Two processes with the same stream would send everything twice. But in the end it is served without the claim.
        if (isContinued || standalone.session.isEnded || tries === maxTakeTries) {
          return { hasGap: !isContinued && hasPast };
        }
        await new Promise((resolve) => setTimeout(resolve, takeRetryMs));
        // A claim from now on would outlive the session.
        if (standalone.session.isEnded) return {};
      }
    }
  }

  /** Returns the standalone stream of a session. Creates it if this process has none. */
  #standaloneOf(owner: StreamOwner, uris: ReadonlySet<string>, proof?: string): StandaloneStream {
    const { id, peer } = owner.known;
    const live = this.#liveSessions.open(id);
    live.connectedAt = performance.now();
    if (!live.standalone) {
      const ended = () => this.#state.background(this.#claims.release(id));
      live.standalone = new StandaloneStream(this.#state.runtime, owner, this.#log, proof, this.#liveSessions, ended);
      live.standalone.applySettings(peer, uris);
    }
    return live.standalone;
  }
}

/** Counts a resumption for its caller. Throws the error for the client if there were too many, or too large ones. */
function checkRate(caller: Caller): void {
  const calls = caller.count("calls");
  if (calls) throw caller.tooOften("calls", calls);
  const bytes = caller.count("bodyBytes", 0);
  if (bytes) throw caller.tooOften("bodyBytes", bytes);
}

function isAnonymous(key: string): boolean {
  return key === anonymous.key;
}
