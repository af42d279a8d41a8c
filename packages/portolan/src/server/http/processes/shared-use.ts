import { PortolanError } from "../../../errors.ts";
import { RpcError } from "../../../jsonrpc/message.ts";
import { sha256 } from "../../../storage/crypto.ts";
import type { KeyValue } from "../../../storage/storage.ts";
import { ReportThrottle } from "../../../throttle.ts";
import type { Caller, CallerLimits } from "../../callers.ts";
import type { ErrorReport } from "../../define/definition.ts";
import { clockSkewMs, maxChangeTries, maxUnwrittenReleases, sharedStreamMs, sharedUseMs } from "../limits.ts";

/** The use of one caller in all processes, as it is stored. Times are milliseconds since 1970. */
interface StoredUse {
  /** The minute of the handshakes. */
  readonly minute: number;
  readonly handshakes: number;
  /** The times at which the sessions of the caller expire unless they are renewed, by id. */
  readonly sessions: { readonly [id: string]: number };
  /** The same for its streams. */
  readonly streams: { readonly [id: string]: number };
}

/** A change of a stored use, or the error that refuses it. */
type Change = (use: StoredUse, now: number) => StoredUse | RpcError;

const unused: StoredUse = { minute: 0, handshakes: 0, sessions: {}, streams: {} };

/** Options of `SharedUse`. */
export interface SharedUseOptions {
  readonly limits: CallerLimits;
  /** Time for which a session counts unless it is renewed. */
  readonly sessionMs: number;
  /** Tells the operator of an error. */
  readonly report: (error: unknown, about: ErrorReport) => void;
}

/**
 * Counts the sessions, handshakes and streams of each caller in all processes that share a storage. A process that dies
 * leaves entries, which expire. A storage that does not answer in time is not waited for: then the callers are counted in
 * this process only, as they always are.
 */
export class SharedUse {
  readonly #kv: KeyValue;
  readonly #limits: CallerLimits;
  readonly #sessionMs: number;
  readonly #report: SharedUseOptions["report"];
  readonly #lateReports: ReportThrottle<string | undefined>;
  /** The latest change of each caller in this process; changes of one caller wait for each other. */
  readonly #changes = new Map<string, Promise<unknown>>();
  /** The open streams of this process, by digest of their caller. */
  readonly #streams = new Map<string, Set<string>>();
  /**
   * The streams and sessions that have ended and may still be stored, by id, with the digest of their caller. Each change of
   * the caller takes them out.
   */
  readonly #released = new Map<string, string>();
  #timer: ReturnType<typeof setInterval> | undefined;

  constructor(kv: KeyValue, { limits, sessionMs, report }: SharedUseOptions) {
    this.#kv = kv;
    this.#limits = limits;
    this.#sessionMs = sessionMs;
    this.#report = report;
    this.#lateReports = new ReportThrottle((caller, count) => {
      const why = `The storage has not answered within ${sharedUseMs / 1_000} s, so that the use of a caller is counted in this process only`;
      report(new PortolanError("store-failed", why), { method: "storage", caller, count });
    });
  }

  /** Counts a handshake and its session. Returns the digest of the caller. Rejects with the error for the client. */
  async beginSession(caller: Caller, id: string): Promise<string | undefined> {
    if (caller.key === undefined) return undefined;
    const digest = await sha256(caller.key);
    const { atOnce, perMinute } = this.#limits;
    const count: Change = (use, now) => {
      const minute = Math.floor(now / 60_000);
      const handshakes = (use.minute === minute ? use.handshakes : 0) + 1;
      if (handshakes > most(perMinute.handshakes)) return caller.tooOften("handshakes", "caller");
      if (sizeOf(use.sessions) >= most(atOnce.sessions)) return caller.beyond("sessions", "caller");
      return { ...use, minute, handshakes, sessions: { ...use.sessions, [id]: now + this.#sessionMs } };
    };
    await this.#change(digest, count, caller.key);
    return digest;
  }

  /** Puts off the expiry of a session, unless another process has ended it. */
  async renewSession(digest: string, id: string): Promise<void> {
    await this.#change(digest, (use, now) =>
      id in use.sessions ? { ...use, sessions: { ...use.sessions, [id]: now + this.#sessionMs } } : use,
    );
  }

  /** Ends the count of a session. Never rejects: the entry expires in any case. */
  async endSession(digest: string, id: string): Promise<void> {
    await this.#release(digest, id).catch((cause) => this.#report(cause, { method: "storage" }));
  }

  /**
   * Counts a stream until the returned function is called. Rejects with the error for the client. If the storage fails,
   * the stream is counted once the storage is back.
   */
  async openStream(caller: Caller): Promise<() => void> {
    if (caller.key === undefined) return () => {};
    const digest = await sha256(caller.key);
    const id = crypto.randomUUID();
    const count: Change = (use, now) =>
      sizeOf(use.streams) >= most(this.#limits.atOnce.streams)
        ? caller.beyond("streams", "caller")
        : { ...use, streams: { ...use.streams, [id]: now + sharedStreamMs } };
    await this.#change(digest, count, caller.key).catch((cause) => {
      if (cause instanceof RpcError) throw cause;
      this.#report(cause, { method: "storage", caller: caller.key });
    });
    const open = this.#streams.get(digest) ?? new Set();
    this.#streams.set(digest, open.add(id));
    this.#timer ??= this.#startRenewing();
    return () => {
      if (!open.delete(id)) return;
      if (open.size === 0 && this.#streams.get(digest) === open) this.#streams.delete(digest);
      // It is tried again with the next change.
      this.#release(digest, id).catch(() => {});
    };
  }

  /** Takes a stream or session out of the stored use: now, or with a later change if the storage does not answer. */
  #release(digest: string, id: string): Promise<void> {
    const [oldest] = this.#released.keys();
    // Its entry expires in any case.
    if (oldest !== undefined && this.#released.size >= maxUnwrittenReleases) this.#released.delete(oldest);
    this.#released.set(id, digest);
    this.#timer ??= this.#startRenewing();
    return this.#change(digest, (use) => use);
  }

  /** Returns the sessions and streams of a caller in all processes; undefined if they are not known in time. */
  async of(caller: Caller): Promise<{ readonly sessions: number; readonly streams: number } | undefined> {
    if (caller.key === undefined) return undefined;
    const text = await this.#readInTime(keyOf(await sha256(caller.key)));
    if (text === undefined) return undefined;
    const { sessions, streams } = this.#parse(text, Date.now());
    return { sessions: sizeOf(sessions), streams: sizeOf(streams) };
  }

  async #readInTime(key: string): Promise<string | undefined> {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const late = new Promise<undefined>((resolve) => {
      timer = setTimeout(resolve, sharedUseMs, undefined);
    });
    const read = this.#kv.get(key).catch((cause) => void this.#report(cause, { method: "storage" }));
    return Promise.race([read, late]).finally(() => clearTimeout(timer));
  }

  close(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #startRenewing(): ReturnType<typeof setInterval> {
    const timer = setInterval(() => this.#renewStreams(), sharedStreamMs / 3);
    if (typeof timer === "object") timer.unref?.();
    return timer;
  }

  #renewStreams(): void {
    if (this.#streams.size === 0 && this.#released.size === 0) this.close();
    for (const digest of new Set([...this.#streams.keys(), ...this.#released.values()])) {
      const open = this.#streams.get(digest) ?? [];
      const renewed = this.#change(digest, (use, now) => {
        const streams: { [id: string]: number } = { ...use.streams };
        for (const id of open) streams[id] = now + sharedStreamMs;
        return { ...use, streams };
      });
      // A storage that fails has been reported; the streams go on.
      renewed.catch(() => {});
    }
  }

  /**
   * Changes the stored use of a caller. Rejects with the error that the change returns, or if the storage fails. Resolves
   * without the change if the storage does not answer in time; then later changes of the caller do not wait for it.
   */
  #change(digest: string, change: Change, caller?: string): Promise<void> {
    const turn = { isOver: false };
    const apply = () => this.#apply(digest, change, turn);
    const before = this.#changes.get(digest) ?? Promise.resolve();
    const changed = new Promise<void>((resolve, reject) => {
      const timer = setTimeout(() => {
        turn.isOver = true;
        this.#lateReports.add("", caller);
        resolve();
      }, sharedUseMs);
      if (typeof timer === "object") timer.unref?.();
      const end = () => clearTimeout(timer);
      before.then(apply, apply).then(resolve, reject).then(end);
    });
    this.#changes.set(digest, changed);
    const forget = () => this.#changes.get(digest) === changed && this.#changes.delete(digest);
    changed.then(forget, forget);
    return changed;
  }

  async #apply(digest: string, change: Change, turn: { readonly isOver: boolean }): Promise<void> {
    const key = keyOf(digest);
    for (let tries = 1; !turn.isOver; tries += 1) {
      const text = await this.#kv.get(key);
      // The request has gone on without this change, and its session or stream may have ended.
      if (turn.isOver) return;
      const now = Date.now();
      const released = [...this.#released].filter(([, owner]) => owner === digest).map(([id]) => id);
      const changed = change(without(this.#parse(text, now), released), now);
      if (changed instanceof Error) throw changed;
      const ttlMs = Math.max(60_000, ...timesOf(changed).map((at) => at - now));
      // After many tries the last writer wins: a count that is slightly wrong is better than a refused client.
      const expect = tries < maxChangeTries ? { expect: text ?? null } : {};
      if (!(await this.#kv.set(key, JSON.stringify(changed), { ttlMs, ...expect }))) continue;
      for (const id of released) this.#released.delete(id);
      return;
    }
  }

  #parse(text: string | undefined, now: number): StoredUse {
    if (text === undefined) return unused;
    const use = JSON.parse(text) as StoredUse;
    const { sessions, streams } = use;
    return { ...use, sessions: open(sessions, now, this.#sessionMs), streams: open(streams, now, sharedStreamMs) };
  }
}

/** Returns a use without the streams and sessions that have ended. */
function without({ sessions, streams, ...use }: StoredUse, ids: readonly string[]): StoredUse {
  const ended = new Set(ids);
  const rest = (entries: StoredUse["sessions"]) =>
    ended.size === 0 ? entries : Object.fromEntries(Object.entries(entries).filter(([id]) => !ended.has(id)));
  return { ...use, sessions: rest(sessions), streams: rest(streams) };
}

function keyOf(digest: string): string {
  return `mcp/caller/${digest}`;
}

function most(limit: { readonly perCaller: number } | undefined): number {
  return limit?.perCaller ?? Number.POSITIVE_INFINITY;
}

function sizeOf(entries: object): number {
  return Object.keys(entries).length;
}

function timesOf({ sessions, streams }: StoredUse): number[] {
  return [...Object.values(sessions), ...Object.values(streams)];
}

/** Returns the entries that have not expired. One that lies too far in the future was written before a clock was set back. */
function open(entries: StoredUse["sessions"], now: number, lifetimeMs: number): StoredUse["sessions"] {
  const latest = now + lifetimeMs + clockSkewMs;
  return Object.fromEntries(Object.entries(entries).filter(([, at]) => at > now && at <= latest));
}
