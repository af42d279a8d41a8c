import { type MaybePromise, whenDone } from "../../../async.ts";
import type { RequestId } from "../../../jsonrpc/message.ts";
import type { Peer } from "../../../protocol/revision.ts";
import { handshakes, revisions } from "../../../protocol/revisions/index.ts";
import type { ClientCapabilities, Implementation, LogLevel } from "../../../protocol/types/index.ts";
import { toBase64url } from "../../../storage/crypto.ts";
import type { Storage } from "../../../storage/storage.ts";
import { headerKeys } from "../../../transport/headers.ts";
import type { HttpContext } from "../endpoint.ts";
import {
  defaultMaxSessions,
  defaultSessionIdleMs,
  defaultSessionsPerMinute,
  maxSessionCacheAgeMs,
  sessionIdBytes,
  sessionReorderMs,
  streamClaimIntervals,
} from "../limits.ts";
import type { SessionOptions } from "../options.ts";
import { refuse } from "../reply.ts";

/** A session as it is stored. */
interface SessionRecord {
  readonly principal: string;
  readonly version: string;
  readonly capabilities: ClientCapabilities;
  readonly info?: Implementation | undefined;
  readonly logLevel?: LogLevel | undefined;
  /** The resources it is subscribed to. */
  readonly uris: readonly string[];
}

/** A session as requests use it. */
export interface KnownSession {
  readonly id: string;
  readonly principal: string;
  readonly peer: Peer;
  readonly uris: readonly string[];
}

interface CacheEntry {
  readonly session: KnownSession;
  /** The stored record. */
  readonly text: string;
  /** The time at which the session was last read from the storage or renewed there. */
  touchedAt: number;
  /** The time at which the session last moved to the end of the cache. */
  usedAt: number;
}

/** The reason why a session cannot begin. */
export interface SessionRefusal {
  readonly status: 429 | 503;
  readonly why: string;
}

/** Sessions, stored as records and read through a bounded cache. Every process that shares the storage serves all of them. */
export class Sessions {
  readonly #storage: Storage;
  readonly #idleMs: number;
  readonly #maxCacheAgeMs: number;
  readonly #max: number;
  readonly #perMinute: number;
  /** Least recently used first. */
  readonly #cache = new Map<string, CacheEntry>();
  #begun = 0;
  #minute = 0;

  constructor(storage: Storage, options: SessionOptions) {
    this.#storage = storage;
    this.#idleMs = options.idleMs ?? defaultSessionIdleMs;
    this.#maxCacheAgeMs = Math.min(maxSessionCacheAgeMs, this.#idleMs / 10);
    this.#max = options.max ?? defaultMaxSessions;
    this.#perMinute = options.perMinute ?? defaultSessionsPerMinute;
  }

  async begin(peer: Peer, principal: string): Promise<KnownSession | SessionRefusal> {
    const refusal = this.#refusal();
    if (refusal) return refusal;
    const bytes = crypto.getRandomValues(new Uint8Array(sessionIdBytes));
    const id = toBase64url(bytes);
    const record: SessionRecord = {
      principal,
      version: peer.revision.version,
      capabilities: peer.capabilities,
      info: peer.info,
      uris: [],
    };
    const text = JSON.stringify(record);
    await this.#storage.kv.set(keyOf(id), text, { ttlMs: this.#idleMs });
    return this.#add(id, text, record).session;
  }

  /** Returns the session with this id; undefined if it does not exist or belongs to another principal. */
  find(id: string, principal: string): MaybePromise<KnownSession | undefined> {
    const cached = this.#cache.get(id);
    const now = Date.now();
    if (!cached || now - cached.touchedAt >= this.#maxCacheAgeMs) {
      return this.#load(id).then((loaded) => ofPrincipal(loaded?.session, principal));
    }
    if (now - cached.usedAt > sessionReorderMs) this.#moveToEnd(id, cached, now);
    return ofPrincipal(cached.session, principal);
  }

  /** Changes the record of a session. Retries if another process has changed it at the same time. */
  async change(id: string, change: (record: SessionRecord) => Partial<SessionRecord>): Promise<void> {
    for (;;) {
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
  }

  /** Renews the expiry of a session that is in use without requests. */
  async touch(id: string): Promise<void> {
    const cached = this.#cache.get(id);
    if (!cached || Date.now() - cached.touchedAt < this.#maxCacheAgeMs) return;
    cached.touchedAt = Date.now();
    await this.#storage.kv.set(keyOf(id), cached.text, { ttlMs: this.#idleMs });
  }

  async end(id: string): Promise<void> {
    this.forget(id);
    await this.#storage.kv.delete(keyOf(id));
  }

  /** Removes a session from the cache, because another process has changed or ended it. */
  forget(id: string): void {
    this.#cache.delete(id);
  }

  async #load(id: string): Promise<CacheEntry | undefined> {
    const text = await this.#storage.kv.get(keyOf(id));
    if (text === undefined) {
      this.forget(id);
      return undefined;
    }
    await this.#storage.kv.set(keyOf(id), text, { ttlMs: this.#idleMs, expect: text });
    return this.#add(id, text, JSON.parse(text) as SessionRecord);
  }

  #add(id: string, text: string, record: SessionRecord): CacheEntry {
    const { principal, version, capabilities, info, logLevel, uris } = record;
    const revision = revisions.find((known) => known.version === version);
    if (!revision) throw new Error(`Session ${id.slice(0, 4)}… has the unknown protocol version ${version}`);
    const session: KnownSession = { id, principal, uris, peer: { revision, capabilities, info, logLevel } };
    const now = Date.now();
    const entry: CacheEntry = { session, text, touchedAt: now, usedAt: now };
    this.#moveToEnd(id, entry, now);
    // Sessions that other processes began count too. The storage keeps those that are removed here.
    for (const oldest of this.#cache.keys()) {
      if (this.#cache.size <= this.#max) break;
      this.#cache.delete(oldest);
    }
    return entry;
  }

  #moveToEnd(id: string, entry: CacheEntry, now: number): void {
    entry.usedAt = now;
    this.#cache.delete(id);
    this.#cache.set(id, entry);
  }

  #refusal(): SessionRefusal | undefined {
    const minute = Math.floor(Date.now() / 60_000);
    if (minute !== this.#minute) {
      this.#minute = minute;
      this.#begun = 0;
    }
    this.#begun += 1;
    if (this.#begun > this.#perMinute) {
      return { status: 429, why: `more than ${this.#perMinute} sessions began within one minute` };
    }
    const now = Date.now();
    for (const [id, { touchedAt }] of this.#cache) {
      if (this.#cache.size < this.#max && now - touchedAt < this.#idleMs) break;
      if (now - touchedAt < this.#idleMs) return { status: 503, why: `${this.#max} sessions are in use` };
      this.#cache.delete(id);
    }
    return undefined;
  }
}

function ofPrincipal(session: KnownSession | undefined, principal: string): KnownSession | undefined {
  return session?.principal === principal ? session : undefined;
}

function keyOf(id: string): string {
  return `mcp/session/${id}`;
}

/** Returns the session of a request; answers with an error and returns undefined if there is none. */
export function findSession(
  sessions: Sessions,
  { request, reply, principal, headers }: HttpContext,
  requestId?: RequestId,
): MaybePromise<KnownSession | undefined> {
  const id = request.header(headerKeys.session);
  const version = request.header(headerKeys.version);
  if (version !== undefined && !handshakes.some((revision) => revision.version === version.trim())) {
    const message = `MCP-Protocol-Version: expected one of ${handshakes.map((r) => r.version).join(", ")}`;
    refuse(reply, 400, message, headers, requestId);
    return undefined;
  }
  if (id === undefined) {
    const message = "Mcp-Session-Id: expected the id of a session; begin one with an initialize request";
    refuse(reply, 400, message, headers, requestId);
    return undefined;
  }
  return whenDone(sessions.find(id, principal.key), (known) => {
    if (known) return known;
    refuse(reply, 404, "Session not found: initialize again", headers, requestId);
    return undefined;
  });
}

/**
 * Claims on the standalone streams of anonymous sessions, across processes. While a client reads its stream, another one
 * that knows the session id cannot take the stream over.
 */
export class StreamClaims {
  readonly #storage: Storage;
  readonly #ttlMs: number;

  constructor(storage: Storage, keepAliveMs: number) {
    this.#storage = storage;
    this.#ttlMs = keepAliveMs * streamClaimIntervals;
  }

  /** Returns whether the stream is claimed with another proof than this one. */
  async isHeldByOther(session: string, proof: string | undefined): Promise<boolean> {
    const held = await this.#storage.kv.get(claimKey(session));
    return held !== undefined && held !== proof;
  }

  async hold(session: string, proof: string): Promise<void> {
    await this.#storage.kv.set(claimKey(session), proof, { ttlMs: this.#ttlMs });
  }

  async release(session: string): Promise<void> {
    await this.#storage.kv.delete(claimKey(session));
  }
}

function claimKey(session: string): string {
  return `mcp/stream/${session}`;
}
