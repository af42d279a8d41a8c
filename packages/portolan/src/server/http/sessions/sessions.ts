import { type MaybePromise, whenDone } from "../../../async.ts";
import { type RequestId, rpcCodes } from "../../../jsonrpc/message.ts";
import type { Peer } from "../../../protocol/revision.ts";
import { handshakes, revisions } from "../../../protocol/revisions/index.ts";
import type { ClientCapabilities, Implementation, LogLevel } from "../../../protocol/types/index.ts";
import { toBase64url } from "../../../storage/crypto.ts";
import type { Storage } from "../../../storage/storage.ts";
import { headerKeys } from "../../../transport/headers.ts";
import type { HttpContext } from "../endpoint.ts";
import type { SessionOptions } from "../options.ts";
import { sendError } from "../reply.ts";

const defaultIdleMs = 30 * 60_000;
const defaultMax = 10_000;
const defaultPerMinute = 600;
/** How old what is known of a session may be before the storage is asked again and told that it is in use. */
const longestTrustMs = 60_000;
/** How long a session keeps its place though it is used: every request pays for a new one. */
const orderMs = 1_000;
const idBytes = 24;

/** Everything that is remembered of a session, as it is stored. */
interface SessionRecord {
  readonly principal: string;
  readonly version: string;
  readonly capabilities: ClientCapabilities;
  readonly info?: Implementation | undefined;
  readonly logLevel?: LogLevel | undefined;
  /** The resources it follows. */
  readonly uris: readonly string[];
}

/** A session as a request finds it. */
export interface KnownSession {
  readonly id: string;
  readonly principal: string;
  readonly peer: Peer;
  readonly uris: readonly string[];
}

interface Cached {
  readonly session: KnownSession;
  readonly text: string;
  /** When the storage was last asked, or told that the session is in use. */
  touchedAt: number;
  /** When it last took its place behind the others. */
  usedAt: number;
}

/** Why a session cannot begin. */
export interface TooMany {
  readonly status: 429 | 503;
  readonly why: string;
}

/** Sessions are records in a storage, read through a bounded cache: any process that shares it serves any of them. */
export class Sessions {
  readonly #storage: Storage;
  readonly #idleMs: number;
  readonly #trustMs: number;
  readonly #max: number;
  readonly #perMinute: number;
  /** The least recently used first. */
  readonly #cache = new Map<string, Cached>();
  #begun = 0;
  #minute = 0;

  constructor(storage: Storage, options: SessionOptions) {
    this.#storage = storage;
    this.#idleMs = options.idleMs ?? defaultIdleMs;
    this.#trustMs = Math.min(longestTrustMs, this.#idleMs / 10);
    this.#max = options.max ?? defaultMax;
    this.#perMinute = options.perMinute ?? defaultPerMinute;
  }

  async begin(peer: Peer, principal: string): Promise<KnownSession | TooMany> {
    const refused = this.#refusal();
    if (refused) return refused;
    const bytes = crypto.getRandomValues(new Uint8Array(idBytes));
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
    return this.#keep(id, text, record).session;
  }

  /** The session of this id and principal; one of another principal does not exist for this one. */
  find(id: string, principal: string): MaybePromise<KnownSession | undefined> {
    const cached = this.#cache.get(id);
    const now = Date.now();
    if (!cached || now - cached.touchedAt >= this.#trustMs) {
      return this.#load(id).then((loaded) => ofPrincipal(loaded?.session, principal));
    }
    if (now - cached.usedAt > orderMs) this.#use(id, cached, now);
    return ofPrincipal(cached.session, principal);
  }

  /** Writes what changed, whoever else writes at the same time. */
  async change(id: string, change: (record: SessionRecord) => Partial<SessionRecord>): Promise<void> {
    for (;;) {
      const text = await this.#storage.kv.get(keyOf(id));
      if (text === undefined) return;
      const record = JSON.parse(text) as SessionRecord;
      const changed = { ...record, ...change(record) };
      const next = JSON.stringify(changed);
      if (await this.#storage.kv.set(keyOf(id), next, { ttlMs: this.#idleMs, expect: text })) {
        this.#keep(id, next, changed);
        return;
      }
    }
  }

  /** The session is in use, though nothing is asked of it. */
  async touch(id: string): Promise<void> {
    const cached = this.#cache.get(id);
    if (!cached || Date.now() - cached.touchedAt < this.#trustMs) return;
    cached.touchedAt = Date.now();
    await this.#storage.kv.set(keyOf(id), cached.text, { ttlMs: this.#idleMs });
  }

  async end(id: string): Promise<void> {
    this.forget(id);
    await this.#storage.kv.delete(keyOf(id));
  }

  /** It changed or ended elsewhere. */
  forget(id: string): void {
    this.#cache.delete(id);
  }

  async #load(id: string): Promise<Cached | undefined> {
    const text = await this.#storage.kv.get(keyOf(id));
    if (text === undefined) {
      this.forget(id);
      return undefined;
    }
    await this.#storage.kv.set(keyOf(id), text, { ttlMs: this.#idleMs, expect: text });
    return this.#keep(id, text, JSON.parse(text) as SessionRecord);
  }

  #keep(id: string, text: string, record: SessionRecord): Cached {
    const { principal, version, capabilities, info, logLevel, uris } = record;
    const revision = revisions.find((known) => known.version === version);
    if (!revision) throw new Error(`session ${id.slice(0, 4)}… is of the unknown version ${version}`);
    const session: KnownSession = { id, principal, uris, peer: { revision, capabilities, info, logLevel } };
    const now = Date.now();
    const cached: Cached = { session, text, touchedAt: now, usedAt: now };
    this.#use(id, cached, now);
    // What other processes began counts too; the storage still has what is forgotten here.
    for (const oldest of this.#cache.keys()) {
      if (this.#cache.size <= this.#max) break;
      this.#cache.delete(oldest);
    }
    return cached;
  }

  #use(id: string, cached: Cached, now: number): void {
    cached.usedAt = now;
    this.#cache.delete(id);
    this.#cache.set(id, cached);
  }

  #refusal(): TooMany | undefined {
    const minute = Math.floor(Date.now() / 60_000);
    if (minute !== this.#minute) {
      this.#minute = minute;
      this.#begun = 0;
    }
    this.#begun += 1;
    if (this.#begun > this.#perMinute) return { status: 429, why: `more than ${this.#perMinute} sessions in a minute` };
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

/** The session of a request; answers the request itself when there is none. */
export function findSession(
  sessions: Sessions,
  { request, reply, principal, headers }: HttpContext,
  requestId?: RequestId,
): MaybePromise<KnownSession | undefined> {
  const id = request.header(headerKeys.session);
  const version = request.header(headerKeys.version);
  if (version !== undefined && !handshakes.some((revision) => revision.version === version.trim())) {
    const message = `MCP-Protocol-Version: expected one of ${handshakes.map((r) => r.version).join(", ")}`;
    sendError(reply, 400, { code: rpcCodes.invalidRequest, message }, requestId, headers);
    return undefined;
  }
  if (id === undefined) {
    const message = "Mcp-Session-Id: expected the header of a session, which begins with an initialize request";
    sendError(reply, 400, { code: rpcCodes.invalidRequest, message }, requestId, headers);
    return undefined;
  }
  return whenDone(sessions.find(id, principal.key), (known) => {
    if (known) return known;
    sendError(
      reply,
      404,
      { code: rpcCodes.invalidRequest, message: "Session not found: initialize again" },
      requestId,
      headers,
    );
    return undefined;
  });
}

/** A claim outlives a missed keep-alive by half. */
const patience = 1.5;

/**
 * Who holds the stream of an anonymous session, in whichever process: as long as its keep-alives pass, nobody who knows
 * the session can take it away.
 */
export class StreamClaims {
  readonly #storage: Storage;
  readonly #ttlMs: number;

  constructor(storage: Storage, keepAliveMs: number) {
    this.#storage = storage;
    this.#ttlMs = keepAliveMs * patience;
  }

  /** Whether another one holds it, who can prove it. */
  async isHeldFrom(session: string, proof: string | undefined): Promise<boolean> {
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
