import { PortolanError } from "../../../errors.ts";
import { type RequestId, rpcCodes } from "../../../jsonrpc/message.ts";
import type { LogEntry, Storage } from "../../../storage/storage.ts";
import type { Caller } from "../../callers.ts";
import {
  defaultLeaseMs,
  eventTtlMs,
  finishedEventTtlMs,
  leaseRenewals,
  maxEventIdCharacters,
  maxKeptEvents,
  restartMarkMs,
  streamOverheadBytes,
} from "../limits.ts";
import { KeptEvents, takeBytes } from "./kept-events.ts";

/** The position of an event in a stream: where a client stopped reading. */
export interface EventPosition {
  readonly stream: string;
  readonly id: string;
  /** The secret in the event ids of a standalone stream: only a client that has read the stream knows it. */
  readonly proof?: string;
  /** The ids of the publications that were sent lately although they could not be stored. */
  readonly unstored?: readonly string[];
}

/** The stored messages of a standalone stream, as seen from a position. */
export interface StoredMessages {
  readonly after: readonly SentEvent[];
  /** The ids of the publications up to the position, which the client has heard. */
  readonly heard: readonly string[];
  /** True if no message after the position was dropped as one too many: the one at the position is still stored. */
  readonly isAtPosition: boolean;
}

/** One stored message. An empty text ends a stream that has no response. */
export interface SentEvent {
  readonly id: string;
  readonly text: string;
  readonly isLast: boolean;
  /** The id of the publication that the message tells, if other processes receive it too. */
  readonly publication?: string | undefined;
}

/** The stream of an answer that this process is writing. */
interface Lease {
  /** The number of its last event that is lost. */
  lost: number;
  /** The ids of its requests as JSON, until they are stored. */
  unstored: string | undefined;
  /** True if its last message is lost, and its requests are not stored yet. */
  isOver: boolean;
}

/** The name of the standalone stream of a session. */
export const standaloneName = "get";
const standalonePrefix = "get-";
/** Precedes each publication in the ids of events. */
const publicationMark = "~";

/** The first character of a stored entry says whether the message is the last one of its stream. */
const lastMark = "e";
const otherMark = "m";

/** Options of `EventLog`. */
export interface EventLogOptions {
  /** Time for which events of a running answer are kept. */
  readonly ttlMs?: number;
  readonly leaseMs?: number;
  /** True if other processes use the storage too. */
  readonly isShared?: boolean;
  readonly report?: (error: unknown) => void;
}

/** The answer to a request whose own answer cannot be read any more. */
const answerLost = {
  code: rpcCodes.internalError,
  message:
    "The process that served this request has ended, or could not store the answer; the request may have been carried out",
};

/**
 * The messages that were sent on the streams of sessions, so that a client that lost its connection can continue in any
 * process. An answer has one writer, which numbers its events; the standalone stream of a session may have several.
 */
export class EventLog {
  readonly #storage: Storage;
  readonly #ttlMs: number;
  readonly #leaseMs: number;
  readonly #isShared: boolean;
  /** The streams that this process is writing. */
  readonly #leases = new Map<string, Lease>();
  /** The events that this process has stored, by session and stream. */
  readonly #kept = new Map<string, Map<string, KeptEvents>>();
  #timer: ReturnType<typeof setInterval> | undefined;

  /** Tells the operator that something could not be stored. The streams themselves go on, only resumption is lost. */
  readonly report: (error: unknown) => void;

  constructor(storage: Storage, options: EventLogOptions = {}) {
    const { ttlMs = eventTtlMs, leaseMs = defaultLeaseMs, isShared = false, report = () => {} } = options;
    this.#storage = storage;
    this.#ttlMs = ttlMs;
    this.#leaseMs = leaseMs;
    this.#isShared = isShared;
    this.report = report;
  }

  /** True if no stored events are counted. */
  get isEmpty(): boolean {
    return this.#kept.size === 0;
  }

  /**
   * Begins the stream of an answer to the requests with these ids. Returns undefined if it cannot be resumed, because its
   * caller keeps too many bytes or is faster than the storage.
   */
  open(
    session: string,
    stream: string,
    caller: Caller,
    requests: readonly RequestId[] = [],
  ): Promise<void> | undefined {
    if (caller.exhausts("storingStreams") || !this.#keptOf(session, stream, caller)) return undefined;
    return this.#begin(keyOf(session, stream), requests);
  }

  async #begin(key: string, requests: readonly RequestId[]): Promise<void> {
    const lease: Lease = { lost: 0, unstored: this.#isShared ? JSON.stringify(requests) : undefined, isOver: false };
    this.#leases.set(key, lease);
    this.#timer ??= every(this.#leaseMs / 3, () => void this.#renew());
    await this.#renewLease(key, lease);
  }

  /**
   * Stores a message of an answer under its number. If it cannot be stored, the stream cannot be resumed from before it.
   *
   * @param text undefined if the message is lost already
   */
  async append(
    session: string,
    stream: string,
    number: number,
    text: string | undefined,
    isLast: boolean,
  ): Promise<void> {
    const key = keyOf(session, stream);
    const kept = this.#kept.get(session)?.get(stream);
    const ttlMs = isLast ? finishedEventTtlMs : this.#ttlMs;
    let isStored = false;
    try {
      if (!kept) return;
      kept.expiresAt = performance.now() + ttlMs;
      if (kept.gap !== undefined) await this.#dropBefore(key, kept);
      if (text === undefined || !kept.add(text))
        throw new PortolanError("limit-reached", "The caller keeps too many bytes");
      await this.#storage.log.append(key, `${isLast ? lastMark : otherMark}${number} ${text}`, {
        keep: maxKeptEvents,
        ttlMs,
        // The names of answers are unique, and a reader stops at a gap.
        forgetsIds: true,
      });
      isStored = true;
    } catch (cause) {
      if (kept) kept.gap = number;
      // Events on both sides of a gap would be replayed as if none were missing.
      if (kept) await this.#dropBefore(key, kept).catch(() => {});
      if (!(cause instanceof PortolanError && cause.code === "limit-reached")) throw cause;
    } finally {
      const lease = isLast ? this.#leases.get(key) : undefined;
      if (lease) await this.#endLease(key, lease, isStored);
    }
  }

  /** Stores a message of the standalone stream. Resolves to its id; undefined if it cannot be stored. */
  async appendStandalone(session: string, text: string, caller: Caller, publication = ""): Promise<string | undefined> {
    const key = keyOf(session, standaloneName);
    const kept = this.#keptOf(session, standaloneName, caller);
    if (!kept?.add(text)) return undefined;
    kept.expiresAt = performance.now() + this.#ttlMs;
    // A message is an object, so that its text begins with a brace.
    return this.#storage.log.append(key, publication + text, { keep: maxKeptEvents, ttlMs: this.#ttlMs });
  }

  /** Drops the standalone stream of a session. From now on only a position with this proof can be resumed. */
  async restartStandalone(session: string, proof: string): Promise<void> {
    this.#kept.get(session)?.get(standaloneName)?.clear();
    await this.#storage.log.delete(keyOf(session, standaloneName));
    await this.#storage.kv.set(restartKey(session), proof, { ttlMs: restartMarkMs });
  }

  /** Returns the stored messages of the standalone stream; undefined if there is no such position. */
  async read(session: string, position: EventPosition, caller: Caller): Promise<StoredMessages | undefined> {
    // Also those before the position: another process may store a publication again, after a client has heard it.
    const all = await this.#readStandalone(session, { ...position, id: "" }, caller, maxKeptEvents);
    if (!all) return undefined;
    if (position.id === "") return { after: all, heard: [], isAtPosition: all.length < maxKeptEvents };
    const at = all.findIndex(({ id }) => id === position.id);
    const after = at < 0 ? await this.#readStandalone(session, position, caller, maxKeptEvents) : all.slice(at + 1);
    if (!after) return undefined;
    const later = new Set(after.map(({ id }) => id));
    const heard = all.flatMap(({ id, publication }) => (later.has(id) || publication === undefined ? [] : publication));
    return { after, heard, isAtPosition: at >= 0 };
  }

  async #readStandalone(
    session: string,
    { stream, id, proof }: EventPosition,
    caller: Caller,
    count: number,
  ): Promise<SentEvent[] | undefined> {
    const restarted = await this.#storage.kv.get(restartKey(session));
    if (restarted !== undefined && restarted !== proof) return undefined;
    const events: SentEvent[] = [];
    try {
      for await (const entry of this.#entries(keyOf(session, stream), id, caller)) {
        const start = Math.max(0, entry.value.indexOf("{"));
        const [publication, text] = [entry.value.slice(0, start) || undefined, entry.value.slice(start)];
        if (events.push({ id: entry.id, text, isLast: false, publication }) >= count) break;
      }
    } catch (cause) {
      if (cause instanceof PortolanError && cause.code === "invalid-argument") return undefined;
      throw cause;
    }
    return events;
  }

  /** Returns whether every message after a position is still stored. Reads one message at most, because all may be many. */
  async isKept(session: string, position: EventPosition, caller: Caller): Promise<boolean> {
    const { stream, id } = position;
    if (stream === standaloneName) return (await this.#readStandalone(session, position, caller, 1)) !== undefined;
    const key = keyOf(session, stream);
    for await (const entry of this.#entries(key, "", caller)) return numberOf(entry.value) <= Number(id) + 1;
    const lost = await this.#storage.kv.get(leaseOf(key));
    if (lost !== undefined) return Number(lost) <= Number(id);
    return (await this.#lostAnswers(key)) !== undefined;
  }

  /**
   * Yields the messages of an answer after a position, until the last one or a gap. If the process that writes it has
   * ended, the last one is an error. Throws the error for the client if the caller may not keep the next one.
   */
  async *follow(session: string, { stream, id }: EventPosition, caller: Caller): AsyncGenerator<SentEvent> {
    const key = keyOf(session, stream);
    let read = "";
    let last = Number(id);
    for (;;) {
      // Read first, so that messages written before the lease ended are read in any case.
      const isWritten = (await this.#storage.kv.get(leaseOf(key))) !== undefined;
      for await (const entry of this.#entries(key, read, caller)) {
        read = entry.id;
        const event = toEvent(stream, entry.value);
        const number = numberOf(entry.value);
        if (number > last + 1) return;
        if (number > last) yield event;
        last = Math.max(last, number);
        if (event.isLast) return;
      }
      if (!isWritten) {
        const text = await this.#lostAnswers(key);
        if (text !== undefined) yield { id: `${stream}_${last + 1}`, text, isLast: true };
        return;
      }
      await this.#more(key, read);
    }
  }

  /**
   * Yields the entries of a log after an id. Each counts as kept bytes of the caller until the next one is asked for, and as
   * bytes of this minute, because a small request can ask for any number of large ones.
   */
  async *#entries(key: string, id: string, caller: Caller): AsyncGenerator<LogEntry> {
    for await (const entry of this.#storage.log.after(key, id)) {
      const size = entry.value.length;
      caller.count("bodyBytes", size);
      const full = caller.take("keptBytes", size);
      if (full) throw caller.beyond("keptBytes", full);
      try {
        yield entry;
      } finally {
        caller.release("keptBytes", size);
      }
    }
  }

  /** Returns the errors for the requests of a stream whose process has ended; undefined if they are not known. */
  async #lostAnswers(key: string): Promise<string | undefined> {
    const text = this.#isShared ? await this.#storage.kv.get(requestsOf(key)) : undefined;
    if (text === undefined) return undefined;
    const answers = (JSON.parse(text) as RequestId[]).map((id) => ({ jsonrpc: "2.0", id, error: answerLost }));
    return JSON.stringify(answers.length === 1 ? answers[0] : answers);
  }

  /** Stops counting events that the storage has dropped. */
  sweep(): void {
    const now = performance.now();
    for (const [session, streams] of this.#kept) {
      for (const [stream, kept] of streams) {
        if (kept.expiresAt > now) continue;
        if (this.#leases.has(keyOf(session, stream))) kept.clear();
        else {
          kept.end();
          streams.delete(stream);
        }
      }
      if (streams.size === 0) this.#kept.delete(session);
    }
  }

  /** Drops the events of a session that has ended. */
  async forget(session: string): Promise<void> {
    const streams = this.#kept.get(session) ?? new Map<string, KeptEvents>();
    this.#kept.delete(session);
    try {
      // Each counts until it is deleted: a caller could otherwise fill the storage faster than it is emptied.
      for (const [stream, kept] of streams) {
        await this.#storage.log.delete(keyOf(session, stream));
        kept.end();
      }
    } finally {
      // If the storage fails, they expire.
      for (const kept of streams.values()) kept.end();
    }
  }

  /** Removes the mark of a restarted standalone stream, because the session has ended. */
  async removeMark(session: string): Promise<void> {
    await this.#storage.kv.delete(restartKey(session));
  }

  /** Stops the renewal of leases once no answer is being written. */
  close(): void {
    if (this.#leases.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /** Returns the count of a stream, which begins with the first call; undefined if the caller may not keep the stream. */
  #keptOf(session: string, stream: string, caller: Caller): KeptEvents | undefined {
    const known = this.#kept.get(session)?.get(stream);
    if (known) return known;
    if (!takeBytes(caller, streamOverheadBytes)) return undefined;
    const streams = this.#kept.get(session) ?? new Map<string, KeptEvents>();
    const kept = new KeptEvents(caller);
    this.#kept.set(session, streams.set(stream, kept));
    return kept;
  }

  /** Drops all events up to a gap, and says in the lease that the stream cannot be resumed from before it. */
  async #dropBefore(key: string, kept: KeptEvents): Promise<void> {
    kept.clear();
    await this.#storage.log.delete(key);
    const lease = this.#leases.get(key);
    if (kept.gap !== undefined && lease) {
      lease.lost = kept.gap;
      await this.#renewLease(key, lease);
    }
    kept.gap = undefined;
  }

  async #renewLease(key: string, lease: Lease): Promise<void> {
    const { kv } = this.#storage;
    await Promise.all([
      kv.set(leaseOf(key), String(lease.lost), { ttlMs: this.#leaseMs }),
      this.#storeRequests(key, lease),
    ]);
  }

  /** Stores which requests the stream answers: another process can tell the client then that their answers are lost. */
  async #storeRequests(key: string, lease: Lease): Promise<void> {
    if (lease.unstored === undefined) return;
    await this.#storage.kv.set(requestsOf(key), lease.unstored, { ttlMs: this.#ttlMs });
    lease.unstored = undefined;
  }

  /** Ends the lease of a stream. If its last message is lost, only after its requests are stored. */
  async #endLease(key: string, lease: Lease, isStored: boolean): Promise<void> {
    const { kv } = this.#storage;
    lease.isOver = true;
    if (!isStored) await this.#storeRequests(key, lease);
    this.#leases.delete(key);
    const forgotten = this.#isShared && isStored ? kv.delete(requestsOf(key)) : undefined;
    await Promise.all([kv.delete(leaseOf(key)), forgotten]);
  }

  /** Waits for another entry, or until the lease has to be checked again. */
  async #more(key: string, read: string): Promise<void> {
    const entries = this.#storage.log.after(key, read, { follow: true })[Symbol.asyncIterator]();
    const timeout = after(this.#leaseMs / 3);
    await Promise.race([entries.next(), timeout.promise]);
    timeout.stop();
    await entries.return?.();
  }

  /** Renews all leases, some at a time: other commands of the storage must not wait for all of them. */
  async #renew(): Promise<void> {
    if (this.#leases.size === 0) this.close();
    const keys = [...this.#leases.keys()];
    const work = async () => {
      for (let key = keys.pop(); key !== undefined; key = keys.pop()) {
        const lease = this.#leases.get(key);
        if (!lease) continue;
        await (lease.isOver ? this.#endLease(key, lease, false) : this.#renewLease(key, lease)).catch(this.report);
      }
    };
    await Promise.all(Array.from({ length: leaseRenewals }, work));
  }
}

/** Parses the id of an event; undefined if it is not one of ours. */
export function parseEventId(eventId: string): EventPosition | undefined {
  const at = eventId.indexOf("_");
  if (at <= 0 || eventId.length > maxEventIdCharacters) return undefined;
  const [stream, id] = [eventId.slice(0, at), eventId.slice(at + 1)];
  if (stream.startsWith(standalonePrefix)) {
    const [proof = "", ...unstored] = stream.slice(standalonePrefix.length).split(publicationMark);
    return { stream: standaloneName, id, proof, ...(unstored.length > 0 && { unstored }) };
  }
  return /^\d{0,9}$/.test(id) ? { stream, id } : undefined;
}

/** Returns the name of a standalone stream in the ids of its events. */
export function standaloneNameWith(proof: string, unstored: readonly string[] = []): string {
  return standalonePrefix + [proof, ...unstored].join(publicationMark);
}

function toEvent(stream: string, value: string): SentEvent {
  const text = value.slice(value.indexOf(" ") + 1);
  return { id: `${stream}_${numberOf(value)}`, text, isLast: value.startsWith(lastMark) };
}

function numberOf(value: string): number {
  return Number(value.slice(1, value.indexOf(" ")));
}

function keyOf(session: string, stream: string): string {
  return `mcp/events/${session}/${stream}`;
}

function restartKey(session: string): string {
  return `mcp/events/${session}/${standaloneName}/restarted`;
}

function requestsOf(key: string): string {
  return `${key}/requests`;
}

function leaseOf(key: string): string {
  return `${key}/lease`;
}

function after(ms: number): { readonly promise: Promise<undefined>; readonly stop: () => void } {
  let stop = () => {};
  const promise = new Promise<undefined>((resolve) => {
    const timer = setTimeout(() => resolve(undefined), ms);
    if (typeof timer === "object") timer.unref?.();
    stop = () => clearTimeout(timer);
  });
  return { promise, stop };
}

function every(ms: number, call: () => void): ReturnType<typeof setInterval> {
  const timer = setInterval(call, ms);
  if (typeof timer === "object") timer.unref?.();
  return timer;
}
