import { type JsonObject, type RpcNotification, type RpcRequest, serialize } from "../../../jsonrpc/message.ts";
import type { Peer } from "../../../protocol/revision.ts";
import { toBase64url } from "../../../storage/crypto.ts";
import { type Principal, ServedExchange } from "../../call/exchange.ts";
import type { Caller } from "../../callers.ts";
import { Session } from "../../channel/session.ts";
import type { ServerRuntime } from "../../runtime.ts";
import { watchOf } from "../../subscribe/listen.ts";
import { holdWatch } from "../../subscribe/watches.ts";
import { maxKeptEvents, maxKnownPublications, maxUnstoredNames, standaloneGraceMs } from "../limits.ts";
import { changeableLists } from "../processes/keep-subscribed.ts";
import { eventOf, openingEvent } from "../reply.ts";
import type { OpenStream } from "../streams.ts";
import {
  type EventLog,
  type EventPosition,
  type SentEvent,
  type StoredMessages,
  standaloneName,
  standaloneNameWith,
} from "./event-log.ts";
import type { LiveSessions } from "./live-session.ts";
import type { KnownSession } from "./sessions.ts";

/** The state of a standalone stream that a process hands over to another one. */
export interface StreamState {
  /** The ids of the publications that it has sent or stored lately. */
  readonly sent?: readonly string[];
  /** Those of them that it has sent without storing them: a client whose position does not name them may lack them. */
  readonly unstored?: readonly string[];
  /** The id of the first message that was stored while no client was connected. */
  readonly firstUnsent?: string;
  /** The id of the last message that was stored. */
  readonly lastStored?: string;
  /** True if changes may be missing in the stream. */
  readonly hasGap?: boolean;
  /** True if the stream is not handed over, because the process has a newer connection. */
  readonly isOutdated?: boolean;
}

/** Notes the id of a publication, which is forgotten after a minute. Returns the ids, which begin with the first one. */
function noteIn(ids: Map<string, number> | undefined, id: string, most: number): Map<string, number> {
  const noted = ids ?? new Map<string, number>();
  noted.delete(id);
  prune(noted, most - 1);
  return noted.set(id, performance.now());
}

/** Forgets ids that are too old, or too many. */
function prune(ids: Map<string, number>, most: number): void {
  const now = performance.now();
  for (const [id, at] of ids) {
    if (now - at <= standaloneGraceMs && ids.size <= most) return;
    ids.delete(id);
  }
}

/** Returns whether a client at a position may lack publications that were sent without being stored. */
function lacks(position: EventPosition | undefined, unstored: Iterable<string> = []): boolean {
  return position !== undefined && [...unstored].some((id) => !position.unstored?.includes(id));
}

/** Returns a new secret. Not a UUID: node makes it of sixteen pieces, which an idle stream would keep. */
export function makeProof(): string {
  // An underscore ends the name of a stream in the ids of its events.
  return toBase64url(crypto.getRandomValues(new Uint8Array(16))).replaceAll("_", "-");
}

/** The session that a standalone stream belongs to, and the caller that opened it. */
export interface StreamOwner {
  readonly known: KnownSession;
  readonly principal: Principal;
  readonly caller: Caller;
}

/** The notifications of a session outside requests: changes and log messages. It outlives a lost connection. */
export class StandaloneStream {
  readonly session: Session;
  /** A secret in the ids of its events: a client that knows it has read the stream. */
  proof: string;
  readonly #runtime: ServerRuntime;
  readonly #owner: StreamOwner;
  readonly #log: EventLog;
  readonly #liveSessions: LiveSessions;
  /** The latest connection. */
  #connection: OpenStream | undefined;
  /** The connection that messages are written to: the latest one, after it has the messages that it missed. */
  #stream: OpenStream | undefined;
  /** Resolves when all queued steps are done. Undefined if there are none: idle streams keep as little as possible. */
  #queue: Promise<void> | undefined;
  #queued = 0;
  /** The id of the first message that was stored while no client was connected; undefined if there is none. */
  #firstUnsent: string | undefined;
  #graceTimer: ReturnType<typeof setTimeout> | undefined;
  /** True if a message was not stored: a position with an earlier proof cannot be resumed. */
  #hasRestarted = false;
  /** True if an event id with the present proof was sent. */
  #isProofUsed = false;
  /** The publications that this process or the one before has sent or stored in the last minute, by the time. */
  #known: Map<string, number> | undefined;
  /** Those that were sent without being stored. The ids of events name them, for a process that has stored them. */
  #unstored: Map<string, number> | undefined;
  /** The id of the last stored message that was sent. */
  #lastId = "";
  /** The id of the last message that this process or the one before has stored, as far as it is known. */
  #lastStored: string | undefined;
  /** True if another process has the stream. */
  #isUnclaimed = false;
  /** True if changes may be missing: its next connection is told that everything may have changed. */
  hasGap = false;
  /** True once this process has the stream, or a connection takes it. False while a subscription begins it. */
  isBegun = false;
  /** Ends the wait for the process before. */
  #stopWaiting: (() => void) | undefined;
  readonly #ended: () => void;

  /** @param ended is called when the stream has ended in this process */
  constructor(
    runtime: ServerRuntime,
    owner: StreamOwner,
    log: EventLog,
    proof: string | undefined,
    liveSessions: LiveSessions,
    ended: () => void,
  ) {
    this.#ended = ended;
    this.proof = proof ?? makeProof();
    this.#isProofUsed = proof !== undefined;
    this.#runtime = runtime;
    this.#owner = owner;
    this.#log = log;
    this.#liveSessions = liveSessions;
    const notify = (method: string, params: JsonObject) => this.#send(serialize({ jsonrpc: "2.0", method, params }));
    this.session = new Session(owner.known.peer, owner.principal.key, runtime.hub, notify, owner.known.id);
  }

  get known(): KnownSession {
    return this.#owner.known;
  }

  /** Returns whether no newer connection has replaced this one. */
  isLatest(stream: OpenStream): boolean {
    return this.#connection === stream;
  }

  /** True if a client is connected. */
  get isConnected(): boolean {
    return this.#connection?.isClosed === false;
  }

  /** True if a message reaches the client now. */
  get mayStream(): boolean {
    return this.isConnected;
  }

  /** Sends a message that is no change, such as a question. It is stored, and sent again if the connection is lost. */
  send(message: RpcRequest | RpcNotification): void {
    this.#send(serialize(message));
  }

  /** True if a client is connected and reads. */
  get isRead(): boolean {
    return this.#stream?.isRead === true;
  }

  /** Returns whether messages after a position were not stored. */
  hasLost(position: EventPosition): boolean {
    const hasRestarted = this.#hasRestarted && position.proof !== this.proof;
    return hasRestarted || lacks(position, this.#unstored?.keys());
  }

  /** Continues on this connection, after a position if there is one. Ends the previous connection. */
  attach(stream: OpenStream, position: EventPosition | undefined, taken: Promise<StreamState>): void {
    clearTimeout(this.#graceTimer);
    this.#connection?.end();
    this.#connection = stream;
    this.isBegun = true;
    this.#stream = undefined;
    this.#enqueue(async () => {
      // A client that resumes has a position already; the id of an opening event would reset it.
      if (!position && this.session.peer.revision.http.primes) {
        this.#isProofUsed = true;
        stream.write(openingEvent(standaloneNameWith(this.proof)));
      }
      // Publications wait in the queue meanwhile.
      const { sent = [], unstored, firstUnsent, lastStored, hasGap = false } = await this.#untilTaken(taken);
      this.hasGap ||= hasGap || lacks(position, unstored);
      if (this.session.isEnded) return;
      this.#firstUnsent ??= firstUnsent;
      this.#lastStored ??= lastStored;
      const missed = await this.#missedBy(stream, position);
      // They were stored, and are not there any more.
      const isResumed = position !== undefined || this.#firstUnsent !== undefined;
      if (isResumed && !(missed && this.#isWhole(missed, position))) this.hasGap = true;
      this.#lastStored ??= missed?.after.at(-1)?.id ?? (position?.id || undefined);
      const unsent = this.#firstUnsent;
      this.#firstUnsent = undefined;
      this.#lastId = position?.id ?? "";
      for (const id of position?.unstored ?? []) this.#unstored = noteIn(this.#unstored, id, maxUnstoredNames);
      const heard = new Set([...(missed?.heard ?? []), ...(position?.unstored ?? [])]);
      await this.#replay(missed?.after ?? [], stream, heard);
      for (const id of [...sent, ...heard]) this.#known = noteIn(this.#known, id, maxKnownPublications);
      if (stream.isClosed) {
        this.#firstUnsent = unsent;
        this.endUnlessConnected();
      } else this.#stream = stream;
      if (this.hasGap) this.#tellAllChanged();
      this.hasGap = false;
    });
  }

  /** Tells the client once that all it watches may have changed. */
  #tellAllChanged(): void {
    for (const topic of changeableLists(this.#runtime.snapshot)) this.session.deliver(topic, {});
    for (const uri of this.session.subscriptions?.keys() ?? []) this.session.deliver("resources/updated", { uri });
  }

  async #untilTaken(taken: Promise<StreamState>): Promise<StreamState> {
    const stopped = new Promise<StreamState>((resolve) => {
      this.#stopWaiting = () => resolve({});
    });
    const state = await Promise.race([taken, stopped]);
    this.#stopWaiting = undefined;
    return state;
  }

  /** Ends the stream here, because another process has a newer connection. Resolves when all that was heard is stored. */
  async handOver(): Promise<StreamState> {
    const wasWaiting = this.#stopWaiting !== undefined;
    this.session.end();
    this.#stopWaiting?.();
    // A step may add others.
    while (this.#queue) await this.#queue;
    const hasGap = wasWaiting || this.hasGap;
    const [sent, unstored] = [[...(this.#known?.keys() ?? [])], [...(this.#unstored?.keys() ?? [])]];
    const [firstUnsent, lastStored] = [this.#firstUnsent, this.#lastStored];
    this.end();
    return {
      ...{ sent, unstored, hasGap },
      ...(firstUnsent !== undefined && { firstUnsent }),
      ...(lastStored !== undefined && { lastStored }),
    };
  }

  /** Holds messages back until the stream is claimed. Ends it if another process has the stream, unless a client came. */
  holdUntil(claimed: Promise<boolean>, hasGap: boolean): void {
    this.#enqueue(async () => {
      if (await claimed.catch(() => false)) {
        this.isBegun = true;
        this.hasGap ||= hasGap;
        return;
      }
      // Its connection takes the stream over.
      if (this.#connection) return;
      this.#isUnclaimed = true;
      this.end();
    });
  }

  /** Keeps the stream for a while after its connection was lost; messages are stored meanwhile. */
  detach(stream: OpenStream): void {
    this.#enqueue(async () => {
      if (this.#stream !== stream) return;
      this.#stream = undefined;
      this.endUnlessConnected();
    });
  }

  /** Ends the stream after a while if no client is connected then. */
  endUnlessConnected(): void {
    if (this.#connection && !this.#connection.isClosed) return;
    clearTimeout(this.#graceTimer);
    this.#graceTimer = setTimeout(() => this.end(), standaloneGraceMs);
    if (typeof this.#graceTimer === "object") this.#graceTimer.unref?.();
  }

  /**
   * Takes log level and subscriptions from the storage.
   *
   * @param before the subscriptions from before they were read, which have ended if they are not among them
   */
  applySettings({ logLevel }: Peer, uris: ReadonlySet<string>, before: readonly string[] = []): void {
    if (logLevel !== undefined) this.session.setLogLevel(logLevel);
    for (const uri of before) if (!uris.has(uri)) this.session.unsubscribe(uri);
    for (const uri of uris) void this.subscribe(uri);
  }

  /** Ends the stream and releases its subscriptions. */
  end(): void {
    clearTimeout(this.#graceTimer);
    this.session.end();
    this.#connection?.end();
    this.#stream = undefined;
    this.#stopWaiting?.();
    this.#liveSessions.forgetStandalone(this);
    this.#ended();
  }

  /** Sends a message, also if it cannot be stored: then only resumption is lost. */
  #send(text: string): void {
    // A client that does not read what it missed holds up everything after it.
    if (this.#queued >= maxKeptEvents) this.#connection?.destroy();
    this.#queued += 1;
    const { publicationId } = this.session.hub;
    this.#enqueue(async () => {
      this.#queued -= 1;
      if (this.#isUnclaimed || !this.#isNew(publicationId)) return;
      const id = await this.#store(text, publicationId);
      const stream = this.#stream?.isClosed ? undefined : this.#stream;
      if (stream) stream.write(id === undefined ? this.#toUnstored(publicationId, text) : this.#toEvent(id, text));
      else if (id === undefined) this.hasGap = true;
      else this.#firstUnsent ??= id;
    });
  }

  /** Notes a publication. Returns false if this process or the one before has sent it. */
  #isNew(id: string | undefined): boolean {
    if (id === undefined) return true;
    if (this.#known?.has(id)) return false;
    this.#known = noteIn(this.#known, id, maxKnownPublications);
    return true;
  }

  /**
   * Sends stored messages, each publication once: two processes that could not reach the storage may both have stored it.
   * The messages count for the caller until the client has read them.
   *
   * @param heard the publications that the client has heard; those that are sent are added
   */
  async #replay(events: readonly SentEvent[], stream: OpenStream, heard: Set<string>): Promise<void> {
    const { caller } = this.#owner;
    const size = events.reduce((sum, { text }) => sum + text.length, 0);
    caller.release("keptBytes", -size);
    try {
      for (const { id, text, publication } of events) {
        if (publication === undefined || !heard.has(publication)) await stream.replay(this.#toEvent(id, text));
        if (publication !== undefined) heard.add(publication);
      }
    } finally {
      caller.release("keptBytes", size);
    }
  }

  /** Reads the messages that a connection missed. If that fails, ends the connection, so that its client tries again. */
  async #missedBy(stream: OpenStream, position: EventPosition | undefined): Promise<StoredMessages | undefined> {
    try {
      return await (position ? this.#log.read(this.#owner.known.id, position, this.#owner.caller) : this.#unsent());
    } catch (cause) {
      stream.end();
      this.endUnlessConnected();
      throw cause;
    }
  }

  /** Returns whether no message after a position was dropped, because there were too many or they were too old. */
  #isWhole({ after, isAtPosition }: StoredMessages, position: EventPosition | undefined): boolean {
    const last = this.#lastStored;
    if (last !== undefined && last === position?.id) return true;
    if (!isAtPosition) return false;
    // At the beginning no message says whether all were dropped.
    return position?.id !== "" || last === undefined || after.some(({ id }) => id === last);
  }

  /** Reads the messages that were stored while no client was connected. */
  async #unsent(): Promise<StoredMessages | undefined> {
    if (this.#firstUnsent === undefined) return undefined;
    const start = { stream: standaloneName, id: "", proof: this.proof };
    const stored = await this.#log.read(this.#owner.known.id, start, this.#owner.caller);
    if (!stored) return undefined;
    // Without the first one, all older ones are dropped too.
    const first = stored.after.findIndex(({ id }) => id === this.#firstUnsent);
    return { heard: [], after: stored.after.slice(Math.max(0, first)), isAtPosition: first >= 0 };
  }

  /** Stores a message. Resolves to its id; undefined if it cannot be stored. */
  async #store(text: string, publication: string | undefined): Promise<string | undefined> {
    const { known, caller } = this.#owner;
    let id: string | undefined;
    try {
      id = await this.#log.appendStandalone(known.id, text, caller, publication);
      this.#lastStored = id ?? this.#lastStored;
    } catch (cause) {
      this.#runtime.report(cause);
    }
    if (id === undefined && this.#isProofUsed) {
      this.proof = makeProof();
      this.#isProofUsed = false;
      this.#hasRestarted = true;
      await this.#log.restartStandalone(known.id, this.proof).catch((cause) => this.#runtime.report(cause));
    }
    return id;
  }

  #toEvent(id: string, text: string): string {
    this.#isProofUsed = true;
    this.#lastId = id;
    return eventOf(text, this.#eventId());
  }

  /** Returns the event of a message that is not stored. */
  #toUnstored(publicationId: string | undefined, text: string): string {
    if (publicationId === undefined) return eventOf(text);
    this.#unstored = noteIn(this.#unstored, publicationId, maxUnstoredNames);
    return eventOf(text, this.#eventId());
  }

  #eventId(): string {
    if (this.#unstored) prune(this.#unstored, maxUnstoredNames);
    return `${standaloneNameWith(this.proof, [...(this.#unstored?.keys() ?? [])])}_${this.#lastId}`;
  }

  /** Runs a step after all earlier ones. */
  #enqueue(step: () => Promise<void>): void {
    const queue: Promise<void> = (this.#queue ?? Promise.resolve())
      .then(step)
      .catch((cause) => {
        this.#runtime.report(cause);
      })
      .then(() => {
        if (this.#queue === queue) this.#queue = undefined;
      });
    this.#queue = queue;
  }

  /** Subscribes to a URI. Reports a failure instead of rejecting. */
  async subscribe(uri: string): Promise<void> {
    const request = { jsonrpc: "2.0", id: 0, method: "resources/subscribe", params: { uri } } as const;
    const exchange = new ServedExchange(request, this.session.peer, this.#owner.principal, { notify() {} });
    try {
      const begin = watchOf(this.#runtime, exchange, uri);
      await this.session.subscribe(uri, () => begin && holdWatch(this.#runtime.hub, uri, begin));
    } catch (cause) {
      this.#runtime.report(cause, exchange.origin);
    }
  }
}
