import type { Storage } from "../../../storage/storage.ts";
import { anonymous } from "../../call/exchange.ts";
import { standaloneGraceMs, streamClaimIntervals } from "../limits.ts";
import type { KnownSession } from "./sessions.ts";

/**
 * Says which process has the standalone stream of a session, so that another one can ask it to hand the stream over. While
 * an anonymous client reads its stream, another one that knows the session id cannot take the stream over.
 */
export class StreamClaims {
  /** Distinguishes this process from the others. */
  readonly owner: string = crypto.randomUUID();
  readonly #storage: Storage;
  readonly #anonymousMs: number;
  readonly #idleMs: number;
  /** The claims of this process, as they are stored. */
  readonly #held = new Map<string, string>();
  /** The latest change of each claim. They follow each other: one that is given up must not be renewed after it. */
  readonly #changes = new Map<string, Promise<void>>();

  /** @param idleMs the time for which an unused session is kept: its claim needs no longer */
  constructor(storage: Storage, keepAliveMs: number, idleMs: number) {
    this.#storage = storage;
    this.#anonymousMs = keepAliveMs * streamClaimIntervals;
    this.#idleMs = idleMs;
  }

  /** Returns whether a client reads the stream that has another proof than this one. */
  async isHeldByOther(session: string, proof: string | undefined): Promise<boolean> {
    const reader = readerOf(await this.#storage.kv.get(claimKey(session)));
    return reader !== undefined && reader !== proof;
  }

  /** Returns whether the claim of this process is the latest one. */
  async isLatest(session: string): Promise<boolean> {
    return this.#held.has(session) && (await this.ownerOf(session)) === this.owner;
  }

  /** Returns the process that has a stream; undefined if none has. */
  async ownerOf(session: string): Promise<string | undefined> {
    return ownerIn(await this.#storage.kv.get(claimKey(session)));
  }

  /** Claims a stream for a client that reads it, whoever has it. Returns the process that had it. */
  take({ id, principal }: KnownSession, proof: string): Promise<string | undefined> {
    return this.#afterOthers(id, async () => {
      const claim = this.#claimFor(proof);
      const before = await this.#storage.kv.get(claimKey(id));
      this.#held.set(id, claim);
      await this.#storage.kv.set(claimKey(id), claim, { ttlMs: this.#ttlOf(principal) });
      return ownerIn(before);
    });
  }

  /** Claims a stream that no client reads yet. Returns false if another process has it. */
  begin(session: string): Promise<boolean> {
    return this.#afterOthers(session, async () => {
      const claim = this.#claimFor(unread);
      for (const expect of [null, free]) {
        if (!(await this.#storage.kv.set(claimKey(session), claim, { ttlMs: unreadMs, expect }))) continue;
        this.#held.set(session, claim);
        return true;
      }
      return this.isLatest(session);
    });
  }

  /** Renews the claim of this process. Returns false if another process has claimed the stream. */
  renew({ id, principal }: KnownSession, proof: string): Promise<boolean> {
    return this.#afterOthers(id, async () => {
      const claim = this.#claimFor(proof);
      const ttlMs = this.#ttlOf(principal);
      if (await this.#replace(id, claim, ttlMs)) return true;
      for (const expect of [free, null]) {
        if (await this.#storage.kv.set(claimKey(id), claim, { ttlMs, expect })) {
          this.#held.set(id, claim);
          return true;
        }
      }
      return false;
    });
  }

  /**
   * Claims a stream that a client reads here, if another process has it and no client reads it there. Returns that process;
   * undefined if the claim stays as it is.
   */
  takeUnread({ id, principal }: KnownSession, proof: string): Promise<string | undefined> {
    return this.#afterOthers(id, async () => {
      const { kv } = this.#storage;
      const stored = await kv.get(claimKey(id));
      const before = ownerIn(stored);
      if (stored === undefined || before === undefined || readerOf(stored) !== undefined) return undefined;
      const claim = this.#claimFor(proof);
      if (!(await kv.set(claimKey(id), claim, { ttlMs: this.#ttlOf(principal), expect: stored }))) return undefined;
      this.#held.set(id, claim);
      return before;
    });
  }

  /** Notes that no client reads the stream any more, which this process keeps for a while. */
  loosen(session: string): Promise<void> {
    return this.#afterOthers(session, async () => {
      if (this.#held.has(session)) await this.#replace(session, this.#claimFor(unread), unreadMs);
    });
  }

  /** Gives up the claim of this process, if there is one. */
  release(session: string): Promise<void> {
    return this.#afterOthers(session, async () => {
      if (!this.#held.has(session)) return;
      // Not deleted: another process may have claimed the stream.
      await this.#replace(session, free, 1);
      this.#held.delete(session);
    });
  }

  /** Replaces the claim of this process. Returns false if it is not the one that is stored. */
  async #replace(session: string, next: string, ttlMs: number): Promise<boolean> {
    const { kv } = this.#storage;
    const held = this.#held.get(session);
    this.#held.set(session, next);
    const key = claimKey(session);
    if (held !== undefined && (await kv.set(key, next, { ttlMs, expect: held }))) return true;
    // A write whose answer was lost may have happened.
    const stored = await kv.get(key);
    return stored !== undefined && ownerIn(stored) === this.owner && kv.set(key, next, { ttlMs, expect: stored });
  }

  /** Removes the claim on the stream of a session that has ended, whichever process has it. */
  remove(session: string): Promise<void> {
    return this.#afterOthers(session, async () => {
      this.#held.delete(session);
      await this.#storage.kv.delete(claimKey(session));
    });
  }

  /** Changes a claim after all earlier changes of it. */
  #afterOthers<T>(session: string, change: () => Promise<T>): Promise<T> {
    const changed = (this.#changes.get(session) ?? Promise.resolve()).then(change);
    const over: Promise<void> = changed
      .catch(() => {})
      .then(() => {
        if (this.#changes.get(session) === over) this.#changes.delete(session);
      });
    this.#changes.set(session, over);
    return changed;
  }

  #claimFor(proof: string): string {
    return `${proof} ${this.owner}`;
  }

  #ttlOf(principal: string): number {
    return principal === anonymous.key ? this.#anonymousMs : this.#idleMs;
  }
}

/** The claim on a stream that no process has. */
const free = "";

/** The proof in the claim on a stream that no client reads. */
const unread = "";

/** A process keeps a stream for `standaloneGraceMs` after its connection, and its claim a little longer. */
const unreadMs = 2 * standaloneGraceMs;

/** Returns the proof of the client that reads a stream; undefined if none does. */
function readerOf(claim: string | undefined): string | undefined {
  return claim?.split(" ", 1)[0] || undefined;
}

function ownerIn(claim: string | undefined): string | undefined {
  return claim?.split(" ")[1];
}

function claimKey(session: string): string {
  return `mcp/stream/${session}`;
}
