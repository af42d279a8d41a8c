import type { MaybePromise } from "../../../async.ts";
import { PortolanError } from "../../../errors.ts";
import { headerKeys } from "../../../http/headers.ts";
import { isRequest, type Message } from "../../../jsonrpc/message.ts";
import { weigh } from "../../../jsonrpc/weigh.ts";
import type { Peer } from "../../../protocol/revision.ts";
import { revisions, statefulRevisions } from "../../../protocol/revisions/index.ts";
import type { ClientCapabilities, Implementation, LogLevel } from "../../../protocol/types/index.ts";
import { sha256, toBase64url } from "../../../storage/crypto.ts";
import type { SetOptions, Storage } from "../../../storage/storage.ts";
import type { Caller, Callers } from "../../callers.ts";
import { maxSubscriptions } from "../../limits.ts";
import { checkSubscriptionLimit } from "../../subscribe/watches.ts";
import { releaseSubscription, takeSubscription } from "../caller.ts";
import type { EndpointState, HttpContext } from "../endpoint.ts";
import {
  defaultMaxSessions,
  defaultSessionIdleMs,
  entryOverheadBytes,
  maxChangeTries,
  maxRecentSubscriptions,
  maxSessionCacheAgeMs,
  recentSubscriptionMs,
  sessionIdBytes,
  sessionReorderMs,
  sharedSessionShare,
} from "../limits.ts";
import { whileWaiting } from "../observe.ts";
import type { SessionOptions } from "../options.ts";
import { answerError, idOf, refuse } from "../reply.ts";

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

interface CacheEntry {
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

/** A subscription that this process has confirmed lately. */
interface RecentSubscription {
  readonly id: string;
  readonly uri: string;
  readonly at: number;
}

/** The part of its caller's limits that a session uses in this process. */
interface HeldSession {
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
  /** The subscriptions that are being stored, by session and URI. */
  readonly #subscribing = new Map<string, Promise<void>>();

  /** The latest subscriptions, oldest first, by session and URI: a storage that fails over loses what was written last. */
  readonly #recent = new Map<string, RecentSubscription>();

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
    return this.cached(id) ?? (await this.#load(id, renews))?.session;
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

  /** Returns the URIs that a session is subscribed to. */
  async subscriptions(id: string, renews = true): Promise<Set<string>> {
    const entry = this.#cache.get(id) ?? (await this.#load(id, renews));
    if (!entry) return new Set();
    entry.uris ??= entry.urisAt === undefined ? Promise.resolve(new Set()) : this.#listUris(id);
    try {
      return await entry.uris;
    } catch (cause) {
      entry.uris = undefined;
      throw cause;
    }
  }

  /** Stores a subscription. One that is being stored already is waited for: both succeed, or both fail. */
  subscribe(id: string, uri: string, caller: Caller): Promise<void> {
    const name = `${id} ${uri}`;
    const running = this.#subscribing.get(name);
    if (running) return running;
    const subscribing = this.#subscribe(id, uri, caller).finally(() => this.#subscribing.delete(name));
    this.#subscribing.set(name, subscribing);
    return subscribing;
  }

  /** Stores a subscription under a key of its own, so that its cost does not depend on the others. */
  async #subscribe(id: string, uri: string, caller: Caller): Promise<void> {
    const uris = await this.subscriptions(id);
    if (uris.has(uri)) return;
    checkSubscriptionLimit(uris.size);
    const held = this.hold(id, caller);
    const refusal = takeSubscription(held.caller, uri);
    if (refusal) throw refusal;
    held.uris.add(uri);
    uris.add(uri);
    try {
      if (this.#cache.get(id)?.urisAt === undefined) await this.change(id, () => ({ urisAt: Date.now() }));
      await this.#storeUri(id, uri);
      if (!(await this.#hasSession(id, uri))) throw new PortolanError("connection-closed", "The session has ended");
      // A list that was read meanwhile may lack it.
      (await this.#cachedUris(id))?.add(uri);
      this.#remember(id, uri);
    } catch (cause) {
      // It may be stored all the same, also by another process: the list is read again when it is needed.
      uris.delete(uri);
      const cached = this.#cache.get(id);
      if (cached) cached.uris = undefined;
      releaseUri(held, uri);
      throw cause;
    }
  }

  /** Returns false if a session has ended, or is lost, while a subscription was stored for it, which is removed then. */
  async #hasSession(id: string, uri: string): Promise<boolean> {
    if ((await this.#storage.kv.get(keyOf(id))) !== undefined) return true;
    await this.#storage.kv.delete(await uriKey(id, uri));
    // The next request finds it lost. This one is answered.
    this.forgetCached(id);
    return false;
  }

  #remember(id: string, uri: string): void {
    // One whose session has ended meanwhile is counted for nobody.
    if (!this.isShared || !this.#held.get(id)?.uris.has(uri)) return;
    const now = performance.now();
    const name = `${id} ${uri}`;
    this.#recent.delete(name);
    for (const [oldest, { at }] of this.#recent) {
      if (now - at < recentSubscriptionMs && this.#recent.size < maxRecentSubscriptions) break;
      this.#recent.delete(oldest);
    }
    this.#recent.set(name, { id, uri, at: now });
  }

  /** Stores the latest subscriptions again that the storage has lost, and returns them. */
  async restoreSubscriptions(): Promise<RecentSubscription[]> {
    const restored: RecentSubscription[] = [];
    for (const recent of [...this.#recent.values()]) {
      const { id, uri, at } = recent;
      if (performance.now() - at >= recentSubscriptionMs) continue;
      // A session that is lost with them is told as lost.
      if ((await this.#storage.kv.get(keyOf(id))) === undefined) continue;
      // The client may have unsubscribed meanwhile.
      if (!this.#recent.has(`${id} ${uri}`)) continue;
      if (!(await this.#storeUri(id, uri, { expect: null }))) continue;
      if (!(await this.#hasSession(id, uri))) continue;
      await this.change(id, () => ({ urisAt: Date.now() }));
      (await this.#cachedUris(id))?.add(uri);
      restored.push(recent);
    }
    return restored;
  }

  async unsubscribe(id: string, uri: string): Promise<void> {
    this.#recent.delete(`${id} ${uri}`);
    (await this.subscriptions(id)).delete(uri);
    const held = this.#held.get(id);
    if (held) releaseUri(held, uri);
    await this.#storage.kv.delete(await uriKey(id, uri));
    (await this.#cachedUris(id))?.delete(uri);
  }

  /** Applies a subscription that another process has changed. */
  async changedElsewhere(id: string, uri: string, isSubscribed: boolean): Promise<void> {
    if (!isSubscribed) this.#recent.delete(`${id} ${uri}`);
    const uris = await this.#cachedUris(id);
    if (!uris) this.forgetCached(id);
    else if (isSubscribed) uris.add(uri);
    else uris.delete(uri);
  }

  /** Returns the list of subscriptions in the cache. One that cannot be read is read again when it is needed. */
  async #cachedUris(id: string): Promise<Set<string> | undefined> {
    return this.#cache.get(id)?.uris?.catch(() => undefined);
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
        await this.#renewUris(id, cached);
        return false;
      }
      this.forgetCached(id);
    }
    return (await this.#load(id)) !== undefined && cached !== undefined;
  }

  /** Ends a session. Returns the function that removes what belongs to it, which expires in any case. */
  async end(id: string): Promise<() => Promise<void>> {
    // Not renewed: a storage without room for a write has to let sessions end.
    if (!this.#cache.has(id)) await this.#load(id, false);
    const digest = this.#cache.get(id)?.caller;
    this.forget(id);
    await this.#storage.kv.delete(keyOf(id));
    return async () => {
      if (digest !== undefined) await this.#callers.across?.endSession(digest, id);
      // As they are stored: the cache may lack one that another process has added.
      const stored = await this.#storage.kv.list(uriPrefix(id), { limit: 2 * maxSubscriptions });
      for (const { key } of stored) await this.#storage.kv.delete(key);
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
    for (const uri of held.uris) {
      this.#recent.delete(`${id} ${uri}`);
      releaseUri(held, uri);
    }
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

  /** @param renews puts off the expiry of the session; false for one that is about to end */
  #load(id: string, renews = true): Promise<CacheEntry | undefined> {
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
        await this.#renewUris(id, entry);
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

  async #listUris(id: string): Promise<Set<string>> {
    const found = await this.#storage.kv.list(uriPrefix(id), { limit: 2 * maxSubscriptions });
    return new Set(found.map(({ value }) => value));
  }

  /** The keys of subscriptions outlive the record, so that they need not be renewed with each of its renewals. */
  async #storeUri(id: string, uri: string, options: SetOptions = {}): Promise<boolean> {
    return this.#storage.kv.set(await uriKey(id, uri), uri, { ...options, ttlMs: 3 * this.#idleMs });
  }

  async #renewUris(id: string, { urisAt }: CacheEntry): Promise<void> {
    // A time in the future means that the clock was set back.
    if (urisAt === undefined || Math.abs(Date.now() - urisAt) < this.#idleMs) return;
    // Without `expect`, a subscription that another process has ended would come back.
    for (const uri of await this.subscriptions(id)) await this.#storeUri(id, uri, { expect: uri });
    await this.change(id, () => ({ urisAt: Date.now() }));
  }
}

function keyOf(id: string): string {
  return `mcp/session/${id}`;
}

function uriPrefix(id: string): string {
  return `mcp/subscription/${id}/`;
}

/** Returns the key of a subscription. A digest, because a storage may limit the length of keys. */
async function uriKey(id: string, uri: string): Promise<string> {
  return uriPrefix(id) + (await sha256(uri));
}

function releaseUri({ caller, uris }: HeldSession, uri: string): void {
  if (uris.delete(uri)) releaseSubscription(caller, uri);
}

/**
 * Returns the session of a request; answers with an error and returns undefined if there is none.
 *
 * @param renews puts off the expiry of a session that is read from the storage; false for one that is about to end
 */
export function findSession(
  state: EndpointState,
  sessions: Sessions,
  context: HttpContext,
  messages: Message | Message[] = [],
  renews = true,
): MaybePromise<KnownSession | undefined> {
  const { request, reply, headers } = context;
  const id = request.header(headerKeys.session);
  const version = request.header(headerKeys.version);
  if (version !== undefined && !statefulRevisions.some((revision) => revision.version === version.trim())) {
    const message = `MCP-Protocol-Version: expected one of ${statefulRevisions.map((r) => r.version).join(", ")}`;
    refuse(reply, 400, message, headers, idOf(messages));
    return undefined;
  }
  if (id === undefined) {
    const message = "Mcp-Session-Id: expected the id of a session; begin one with an initialize request";
    refuse(reply, 400, message, headers, idOf(messages));
    return undefined;
  }
  // Hot path: most requests find their session in the cache.
  const cached = sessions.cached(id);
  if (cached) return takeSession(cached, sessions, context, messages);
  return whenStored(state, sessions, context, messages, () => sessions.find(id, renews))?.then((found) =>
    takeSession(found, sessions, context, messages),
  );
}

/**
 * Does work that waits for the storage. Meanwhile the request counts as a call of its caller: a storage that hangs must not
 * collect any number of them. Answers with an error and returns undefined if that is beyond a limit.
 */
export function whenStored<T>(
  state: EndpointState,
  { isShared }: Sessions,
  context: HttpContext,
  messages: Message | Message[],
  work: () => Promise<T>,
): Promise<T> | undefined {
  // The memory of this process answers at once.
  if (!isShared) return work();
  const { reply, headers } = context;
  return whileWaiting(state, context, messages, work, (error) => answerError(reply, error, headers, idOf(messages)));
}

/** Returns the session if it belongs to the principal of the request; answers with 404 if not. */
function takeSession(
  found: KnownSession | undefined,
  sessions: Sessions,
  { reply, principal, caller, headers }: HttpContext,
  messages: Message | Message[],
): KnownSession | undefined {
  if (found?.principal === principal.key) return found;
  const reason = sessions.whyNotFound(found !== undefined);
  caller.refused({ status: 404, reason, request: [messages].flat().find(isRequest) });
  refuse(reply, 404, "Session not found: initialize again", headers, idOf(messages));
  return undefined;
}
