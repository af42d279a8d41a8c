import { PortolanError } from "../../../errors.ts";
import { sha256 } from "../../../storage/crypto.ts";
import type { SetOptions, Storage } from "../../../storage/storage.ts";
import type { Caller } from "../../callers.ts";
import { maxSubscriptions } from "../../limits.ts";
import { checkSubscriptionLimit } from "../../subscribe/watches.ts";
import { releaseSubscription, takeSubscription } from "../caller.ts";
import { maxRecentCharacters, maxRecentSubscriptions, recentSubscriptionMs } from "../limits.ts";
import type { CacheEntry, HeldSession, Sessions } from "./sessions.ts";

/** A subscription that this or another process has confirmed lately. */
interface RecentSubscription {
  readonly id: string;
  readonly uri: string;
  readonly at: number;
}

/** The subscriptions of sessions, each stored under a key of its own, and read through the cache of the sessions. */
export class SessionSubscriptions {
  readonly #sessions: Sessions;
  readonly #storage: Storage;
  readonly #idleMs: number;
  /** The subscriptions that are being stored, by session and URI. */
  readonly #subscribing = new Map<string, Promise<void>>();
  /** The latest subscriptions, oldest first, by session and URI: a storage that fails over loses what was written last. */
  readonly #recent = new Map<string, RecentSubscription>();
  #recentCharacters = 0;

  constructor(sessions: Sessions, storage: Storage, idleMs: number) {
    this.#sessions = sessions;
    this.#storage = storage;
    this.#idleMs = idleMs;
  }

  /** Returns the URIs that a session is subscribed to. */
  async of(id: string, renews = true): Promise<Set<string>> {
    const entry = this.#sessions.entryOf(id) ?? (await this.#sessions.load(id, renews));
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
    const name = nameOf(id, uri);
    const running = this.#subscribing.get(name);
    if (running) return running;
    const subscribing = this.#subscribe(id, uri, caller).finally(() => this.#subscribing.delete(name));
    this.#subscribing.set(name, subscribing);
    return subscribing;
  }

  /** Stores a subscription under a key of its own, so that its cost does not depend on the others. */
  async #subscribe(id: string, uri: string, caller: Caller): Promise<void> {
    const uris = await this.of(id);
    if (uris.has(uri)) return;
    checkSubscriptionLimit(uris.size);
    const held = this.#sessions.hold(id, caller);
    const refusal = takeSubscription(held.caller, uri);
    if (refusal) throw refusal;
    held.uris.add(uri);
    uris.add(uri);
    try {
      if (this.#sessions.entryOf(id)?.urisAt === undefined)
        await this.#sessions.change(id, () => ({ urisAt: Date.now() }));
      await this.#storeUri(id, uri);
      if (!(await this.#hasSession(id, uri))) throw new PortolanError("connection-closed", "The session has ended");
      // A list that was read meanwhile may lack it.
      (await this.#cachedUris(id))?.add(uri);
      // One whose session has ended meanwhile is counted for nobody.
      if (held.uris.has(uri)) this.#remember(id, uri);
    } catch (cause) {
      // It may be stored all the same, also by another process: the list is read again when it is needed.
      uris.delete(uri);
      const cached = this.#sessions.entryOf(id);
      if (cached) cached.uris = undefined;
      releaseUri(held, uri);
      throw cause;
    }
  }

  /** Returns false if a session has ended, or is lost, while a subscription was stored for it, which is removed then. */
  async #hasSession(id: string, uri: string): Promise<boolean> {
    if (await this.#sessions.isStored(id)) return true;
    await this.#storage.kv.delete(await uriKey(id, uri));
    // The next request finds it lost. This one is answered.
    this.#sessions.forgetCached(id);
    return false;
  }

  /** Remembers a subscription. Of too many, or too long ones, the oldest are forgotten: not all are counted for a caller. */
  #remember(id: string, uri: string): void {
    if (!this.#sessions.isShared) return;
    const now = performance.now();
    const name = nameOf(id, uri);
    this.#forgetRecent(name);
    this.#recentCharacters += name.length;
    for (const [oldest, { at }] of this.#recent) {
      const isFull = this.#recent.size >= maxRecentSubscriptions || this.#recentCharacters > maxRecentCharacters;
      if (now - at < recentSubscriptionMs && !isFull) break;
      this.#forgetRecent(oldest);
    }
    this.#recent.set(name, { id, uri, at: now });
  }

  #forgetRecent(name: string): void {
    if (this.#recent.delete(name)) this.#recentCharacters -= name.length;
  }

  /** Stores the latest subscriptions again that the storage has lost, and returns them. */
  async restore(): Promise<RecentSubscription[]> {
    const restored: RecentSubscription[] = [];
    for (const recent of [...this.#recent.values()]) {
      const { id, uri, at } = recent;
      if (performance.now() - at >= recentSubscriptionMs) continue;
      // A session that is lost with them is told as lost.
      if (!(await this.#sessions.isStored(id))) continue;
      // The client may have unsubscribed meanwhile.
      if (!this.#recent.has(nameOf(id, uri))) continue;
      if (!(await this.#storeUri(id, uri, { expect: null }))) continue;
      if (!(await this.#hasSession(id, uri))) continue;
      await this.#sessions.change(id, () => ({ urisAt: Date.now() }));
      (await this.#cachedUris(id))?.add(uri);
      // The subscription that was written now may be lost as well.
      this.#remember(id, uri);
      restored.push(recent);
    }
    return restored;
  }

  async unsubscribe(id: string, uri: string): Promise<void> {
    this.#forgetRecent(nameOf(id, uri));
    (await this.of(id)).delete(uri);
    const held = this.#sessions.heldOf(id);
    if (held) releaseUri(held, uri);
    await this.#storage.kv.delete(await uriKey(id, uri));
    (await this.#cachedUris(id))?.delete(uri);
  }

  /** Applies a subscription that another process has changed. That one may be killed before a storage loses the subscription. */
  async changedElsewhere(id: string, uri: string, isSubscribed: boolean): Promise<void> {
    if (isSubscribed) this.#remember(id, uri);
    else this.#forgetRecent(nameOf(id, uri));
    const uris = await this.#cachedUris(id);
    if (!uris) this.#sessions.forgetCached(id);
    else if (isSubscribed) uris.add(uri);
    else uris.delete(uri);
  }

  /** Returns the list of subscriptions in the cache. One that cannot be read is read again when it is needed. */
  async #cachedUris(id: string): Promise<Set<string> | undefined> {
    return this.#sessions.entryOf(id)?.uris?.catch(() => undefined);
  }

  async #listUris(id: string): Promise<Set<string>> {
    const found = await this.#storage.kv.list(uriPrefix(id), { limit: 2 * maxSubscriptions });
    return new Set(found.map(({ value }) => value));
  }

  /** The keys of subscriptions outlive the record, so that they need not be renewed with each of its renewals. */
  async #storeUri(id: string, uri: string, options: SetOptions = {}): Promise<boolean> {
    return this.#storage.kv.set(await uriKey(id, uri), uri, { ...options, ttlMs: 3 * this.#idleMs });
  }

  /** Puts off the expiry of the subscriptions of a session, if it is time. */
  async renew(id: string, { urisAt }: CacheEntry): Promise<void> {
    // A time in the future means that the clock was set back.
    if (urisAt === undefined || Math.abs(Date.now() - urisAt) < this.#idleMs) return;
    // Without `expect`, a subscription that another process has ended would come back.
    for (const uri of await this.of(id)) await this.#storeUri(id, uri, { expect: uri });
    await this.#sessions.change(id, () => ({ urisAt: Date.now() }));
  }

  /** Forgets the subscriptions of a session that has ended in this process. */
  forget(id: string, held: HeldSession): void {
    for (const uri of held.uris) {
      this.#forgetRecent(nameOf(id, uri));
      releaseUri(held, uri);
    }
  }

  /** Removes the stored subscriptions of a session that has ended. */
  async removeAll(id: string): Promise<void> {
    // As they are stored: the cache may lack one that another process has added.
    const stored = await this.#storage.kv.list(uriPrefix(id), { limit: 2 * maxSubscriptions });
    for (const { key } of stored) await this.#storage.kv.delete(key);
  }
}

function nameOf(id: string, uri: string): string {
  return `${id} ${uri}`;
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
