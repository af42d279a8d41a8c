import { PortolanError } from "../../../errors.ts";
import { weigh } from "../../../jsonrpc/weigh.ts";
import type { Peer } from "../../../protocol/revision.ts";
import { revisions } from "../../../protocol/revisions/index.ts";
import type { ClientCapabilities, Implementation, LogLevel } from "../../../protocol/types/index.ts";
import { toBase64url } from "../../../storage/crypto.ts";
import type { Storage } from "../../../storage/storage.ts";
import type { Caller, Callers } from "../../callers.ts";
import {
  defaultMaxSessions,
  defaultSessionIdleMs,
  entryOverheadBytes,
  maxChangeTries,
  maxSessionCacheAgeMs,
  sessionIdBytes,
  sessionReorderMs,
  sharedSessionShare,
} from "../limits.ts";
import type { SessionOptions } from "../options.ts";
import { SessionSubscriptions } from "./session-subscriptions.ts";

/** A session as it is stored. Its subscriptions have keys of their own. */
interface SessionRecord {
  readonly principal: string;
  readonly version: string;
  readonly capabilities: ClientCapabilities;
  readonly info?: Implementation | undefined;
  readonly logLevel?: LogLevel | undefined;
  /** The digest of the caller whose sessions are counted across processes. */
  readonly caller?: string | undefined;
  /** The time since 1970 at which the keys of its subscriptions were last renewed. Absent before the first subscription. */
  readonly urisAt?: number | undefined;
}

/** A session as requests use it. */
export interface KnownSession {
  readonly id: string;
  readonly principal: string;
  readonly peer: Peer;
}

/** A session in the cache of this process. */
export interface CacheEntry {
  readonly session: KnownSession;
  /** The stored record. */
  readonly text: string;
  readonly urisAt: number | undefined;
  /** The digest of the caller whose sessions are counted across processes. */
  readonly caller: string | undefined;
  /** The time at which this process last put off the expiry of that count. */
  countedAt: number;
  /** The URIs of its subscriptions; undefined until they are needed. */
  uris: Promise<Set<string>> | undefined;
  /** The time at which the session was last read from the storage or renewed there. */
  touchedAt: number;
  /** The time at which the session last moved to the end of the cache. */
  usedAt: number;
}

/** The part of its caller's limits that a session uses in this process. */
export interface HeldSession {
  readonly caller: Caller;
  /** True if the session began in this process, which counts it. */
  readonly isCounted: boolean;
  /** Bytes of its record. */
  readonly bytes: number;
  /** The URIs whose bytes are counted. */
  readonly uris: Set<string>;
  /** The time at which the record expires, as far as this process knows. */
  expiresAt: number;
  /** The digest of the caller, if the session began in this process and counts across processes. */
  digest?: string | undefined;
  /** Called when this process is told that the session has ended. */
  onEnd?: () => void;
}

/** Sessions, stored as records and read through a bounded cache. Every process that shares the storage serves all of them. */
export class Sessions {
  readonly #storage: Storage;
  readonly #idleMs: number;
  readonly #maxCacheAgeMs: number;
  readonly #max: number;
  readonly #callers: Callers;
  readonly #onExpired: (id: string) => void;
  /** Least recently used first. */
  readonly #cache = new Map<string, CacheEntry>();
  /** The sessions that began or have calls in this process. The first to expire first. */
  readonly #held = new Map<string, HeldSession>();
  /** The sessions that are being read, each with the number of readers, and those of them that were forgotten meanwhile. */
  readonly #readers = new Map<string, number>();
  readonly #forgotten = new Set<string>();
  #expiring: Promise<void> | undefined;
  readonly subscriptions: SessionSubscriptions;
  /** True if other processes may serve the same sessions. */
  readonly isShared: boolean;

  /** @param onExpired ends what runs for a session that has expired */
  constructor(
    storage: Storage,
    isShared: boolean,
    callers: Callers,
    options: SessionOptions,
    onExpired: (id: string) => void,
  ) {
    this.#storage = storage;
    this.isShared = isShared;
    this.#callers = callers;
    this.#idleMs = options.idleMs ?? defaultSessionIdleMs;
    this.#maxCacheAgeMs = Math.min(maxSessionCacheAgeMs, this.#idleMs / 10);
    this.#max = options.max ?? defaultMaxSessions;
    this.#onExpired = onExpired;
    this.subscriptions = new SessionSubscriptions(this, storage, this.#idleMs);
  }

  /** True if nothing has to expire in this process. */
  get isEmpty(): boolean {
    return this.#held.size === 0;
  }

  /** Begins a session. Rejects with the error for the client if it would be beyond a limit. */
  async begin(peer: Peer, principal: string, caller: Caller): Promise<KnownSession> {
    const tooOften = caller.count("handshakes");
    if (tooOften) throw caller.tooOften("handshakes", tooOften);
    const bytes = crypto.getRandomValues(new Uint8Array(sessionIdBytes));
    const id = toBase64url(bytes);
    const begun: SessionRecord = {
      principal,
      version: peer.revision.version,
      capabilities: peer.capabilities,
      info: peer.info,
    };
    let text = JSON.stringify(begun);
    // The storage keeps the text, the cache the parsed record.
    const size = text.length + weigh(begun) + entryOverheadBytes;
    const expiring = this.expire();
    // A storage that fails here fails again below, where the failure is reported.
    expiring.catch(() => {});
    if (caller.exhausts("sessions") || caller.exhausts("keptBytes", size)) await expiring;
    const tooMany = caller.take("sessions");
    if (tooMany) throw caller.beyond("sessions", tooMany);
    const tooLarge = caller.take("keptBytes", size);
    if (tooLarge) {
      caller.release("sessions");
      throw caller.beyond("keptBytes", tooLarge);
    }
    const held: HeldSession = {
      caller,
      isCounted: true,
      bytes: size,
      uris: new Set(),
      expiresAt: performance.now() + this.#idleMs,
    };
    this.#held.set(id, held);
    try {
      held.digest = await this.#callers.across?.beginSession(caller, id);
      if (held.digest !== undefined) text = JSON.stringify({ ...begun, caller: held.digest });
      await this.#storage.kv.set(keyOf(id), text, { ttlMs: this.#idleMs });
    } catch (cause) {
      this.#uncount(id);
      this.forget(id);
      throw cause;
    }
    // Parsed again: the strings of a peer may be parts of a body that would stay in memory with them.
    const entry = this.#add(id, text, JSON.parse(text) as SessionRecord);
    entry.countedAt = performance.now();
    return entry.session;
  }

  /** Returns the session with this id if it is in the cache and was read lately, whatever principal it belongs to. */
  cached(id: string): KnownSession | undefined {
    const cached = this.#cache.get(id);
    const now = performance.now();
    if (!cached || now - cached.touchedAt >= this.#maxCacheAgeMs) return undefined;
    if (now - cached.usedAt > sessionReorderMs) this.#moveToEnd(id, cached, now);
    return cached.session;
  }

  /** Returns the session with this id, from the storage if the cache does not have it. Undefined if there is none. */
  async find(id: string, renews = true): Promise<KnownSession | undefined> {
    return this.cached(id) ?? (await this.load(id, renews))?.session;
  }

  /** Returns the likely causes for the operator if a session is not found. */
  whyNotFound(isOfOther: boolean): string {
    if (isOfOther) return "The session belongs to another principal: its client has signed in as somebody else";
    const seconds = this.#idleMs / 1_000;
    const unused = seconds % 60 === 0 ? `${seconds / 60} min` : `${Number(seconds.toFixed(1))} s`;
    const gone = `it was not used for ${unused}, has ended, or began`;
    return this.isShared
      ? `Session not found: ${gone} at a process with another storage`
      : `Session not found: ${gone} in another process or before a restart. Processes behind one address need a common \`storage\` of serveHttp`;
  }

  /** Returns what the cache has of a session, however old it is. */
  entryOf(id: string): CacheEntry | undefined {
    return this.#cache.get(id);
  }

  /** Returns false if the storage has no such session. */
  async isStored(id: string): Promise<boolean> {
    return (await this.#storage.kv.get(keyOf(id))) !== undefined;
  }

  /** Returns what a session uses of its caller's limits in this process; undefined if it has nothing here. */
  heldOf(id: string): HeldSession | undefined {
    return this.#held.get(id);
  }

  /** Watches the expiry of a session that has something in this process. */
  hold(id: string, caller: Caller): HeldSession {
    let held = this.#held.get(id);
    if (!held) {
      held = { caller, isCounted: false, bytes: 0, uris: new Set(), expiresAt: performance.now() + this.#idleMs };
      this.#held.set(id, held);
    }
    return held;
  }

  /** Changes the record of a session. Retries if another process has changed it at the same time. */
  async change(id: string, change: (record: SessionRecord) => Partial<SessionRecord>): Promise<void> {
    await this.#whileReading(id, async () => {
      for (let tries = 0; tries < maxChangeTries; tries += 1) {
        const text = await this.#storage.kv.get(keyOf(id));
        if (text === undefined) return;
        const record = JSON.parse(text) as SessionRecord;
        const changed = { ...record, ...change(record) };
        const next = JSON.stringify(changed);
        if (await this.#storage.kv.set(keyOf(id), next, { ttlMs: this.#idleMs, expect: text })) {
          this.#add(id, next, changed);
          return;
        }
      }
      throw new PortolanError(
        "store-failed",
        "The record of a session could not be changed: others change it all the time",
      );
    });
  }

  /** Reads a session into the cache. Nothing stays there if the session was forgotten meanwhile: it may have ended. */
  async #whileReading<T>(id: string, read: () => Promise<T>): Promise<T> {
    this.#readers.set(id, (this.#readers.get(id) ?? 0) + 1);
    try {
      return await read();
    } finally {
      if (this.#forgotten.has(id)) this.#cache.delete(id);
      const others = (this.#readers.get(id) ?? 0) - 1;
      if (others > 0) this.#readers.set(id, others);
      else {
        this.#readers.delete(id);
        this.#forgotten.delete(id);
      }
    }
  }

  /**
   * Renews the expiry of a session that is in use without requests. Ends it here if another process has ended it. Returns
   * true if another process has changed it.
   */
  async touch(id: string): Promise<boolean> {
    const cached = this.#cache.get(id);
    const now = performance.now();
    if (cached && now - cached.touchedAt < this.#maxCacheAgeMs) return false;
    if (cached) {
      this.#renewed(id, cached, now);
      // Without `expect`, a session that another process has ended would come back. Where there is no other process, it has
      // not ended: a record that expired, because this process was suspended, is written again.
      const expect = this.isShared ? { expect: cached.text } : {};
      if (await this.#storage.kv.set(keyOf(id), cached.text, { ttlMs: this.#idleMs, ...expect })) {
        await this.#renewCount(id, cached);
        await this.subscriptions.renew(id, cached);
        return false;
      }
      this.forgetCached(id);
    }
    return (await this.load(id)) !== undefined && cached !== undefined;
  }

  /** Ends a session. Returns the function that removes what belongs to it, which expires in any case. */
  async end(id: string): Promise<() => Promise<void>> {
    // Not renewed: a storage without room for a write has to let sessions end.
    if (!this.#cache.has(id)) await this.load(id, false);
    const digest = this.#cache.get(id)?.caller;
    this.forget(id);
    await this.#storage.kv.delete(keyOf(id));
    return async () => {
      if (digest !== undefined) await this.#callers.across?.endSession(digest, id);
      await this.subscriptions.removeAll(id);
    };
  }

  /** Calls the listener when a session that began in this process has ended, in any process. */
  onEnd(id: string, listener: () => void): void {
    const held = this.#held.get(id);
    if (held?.isCounted) held.onEnd = listener;
  }

  /** Removes a session from this process, because it has ended. */
  forget(id: string): void {
    this.forgetCached(id);
    const held = this.#held.get(id);
    if (!held) return;
    this.#held.delete(id);
    if (held.isCounted) held.caller.release("sessions");
    held.caller.release("keptBytes", held.bytes);
    this.subscriptions.forget(id, held);
    held.onEnd?.();
  }

  /** Removes a session from the cache, because another process has changed it. */
  forgetCached(id: string): void {
    this.#cache.delete(id);
    if (this.#readers.has(id)) this.#forgotten.add(id);
  }

  /** Removes all sessions from the cache, because changes of other processes may have been missed. */
  forgetAllCached(): void {
    this.#cache.clear();
    for (const id of this.#readers.keys()) this.#forgotten.add(id);
  }

  /** Ends the sessions of this process whose records have expired. */
  expire(): Promise<void> {
    this.#expiring ??= this.#expireAll().finally(() => {
      this.#expiring = undefined;
    });
    return this.#expiring;
  }

  async #expireAll(): Promise<void> {
    const now = performance.now();
    for (const [id, held] of this.#held) {
      if (held.expiresAt > now) return;
      // Another process may have renewed the record.
      if ((await this.#storage.kv.get(keyOf(id))) === undefined) this.#expired(id);
      else this.#renewHeld(id, now);
    }
  }

  #expired(id: string): void {
    this.#uncount(id);
    this.forget(id);
    this.#onExpired(id);
  }

  /** Ends the count of a session in all processes. */
  #uncount(id: string): void {
    const digest = this.#cache.get(id)?.caller ?? this.#held.get(id)?.digest;
    if (digest !== undefined) void this.#callers.across?.endSession(digest, id);
  }

  /**
   * Reads a session from the storage into the cache. Undefined if there is none.
   *
   * @param renews puts off the expiry of the session; false for one that is about to end
   */
  load(id: string, renews = true): Promise<CacheEntry | undefined> {
    return this.#whileReading(id, async () => {
      const text = renews ? await this.#renewRecord(id) : await this.#storage.kv.get(keyOf(id));
      if (text === undefined) {
        if (this.#held.has(id)) this.#expired(id);
        else this.forgetCached(id);
        return undefined;
      }
      const entry = this.#add(id, text, JSON.parse(text) as SessionRecord);
      if (renews) {
        await this.#renewCount(id, entry);
        await this.subscriptions.renew(id, entry);
      } else entry.touchedAt = Number.NEGATIVE_INFINITY;
      return entry;
    });
  }

  /** Reads the record of a session and puts off its expiry. Undefined if there is none. */
  async #renewRecord(id: string): Promise<string | undefined> {
    for (let tries = 1; ; tries += 1) {
      const text = await this.#storage.kv.get(keyOf(id));
      if (text === undefined || tries > maxChangeTries) return text;
      if (await this.#storage.kv.set(keyOf(id), text, { ttlMs: this.#idleMs, expect: text })) return text;
    }
  }

  /** Puts off the time at which the session stops counting for its caller in other processes. */
  async #renewCount(id: string, entry: CacheEntry): Promise<void> {
    const now = performance.now();
    if (entry.caller === undefined || now - entry.countedAt < this.#idleMs * (sharedSessionShare - 1)) return;
    entry.countedAt = now;
    await this.#callers.across?.renewSession(entry.caller, id);
  }

  #add(id: string, text: string, record: SessionRecord): CacheEntry {
    const { principal, version, capabilities, info, logLevel, urisAt, caller } = record;
    const revision = revisions.find((known) => known.version === version);
    if (!revision) throw new Error(`Session ${id.slice(0, 4)}… has the unknown protocol version ${version}`);
    const session: KnownSession = { id, principal, peer: { revision, capabilities, info, logLevel } };
    const now = performance.now();
    const { uris, countedAt = Number.NEGATIVE_INFINITY } = this.#cache.get(id) ?? {};
    const entry: CacheEntry = { session, text, urisAt, caller, countedAt, uris, touchedAt: now, usedAt: now };
    this.#renewed(id, entry, now);
    this.#moveToEnd(id, entry, now);
    // Sessions that other processes began count too. The storage keeps those that are removed here.
    for (const oldest of this.#cache.keys()) {
      if (this.#cache.size <= this.#max) break;
      this.#cache.delete(oldest);
    }
    return entry;
  }

  #renewed(id: string, entry: CacheEntry, now: number): void {
    entry.touchedAt = now;
    this.#renewHeld(id, now);
  }

  #renewHeld(id: string, now: number): void {
    const held = this.#held.get(id);
    if (!held) return;
    held.expiresAt = now + this.#idleMs;
    this.#held.delete(id);
    this.#held.set(id, held);
  }

  #moveToEnd(id: string, entry: CacheEntry, now: number): void {
    entry.usedAt = now;
    this.#cache.delete(id);
    this.#cache.set(id, entry);
  }
}

function keyOf(id: string): string {
  return `mcp/session/${id}`;
}
