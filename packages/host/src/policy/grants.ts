import type { JsonObject } from "portolan";
import { PortolanError } from "portolan";
import { checkOptions, nameOf } from "portolan/internal";
import type { KeyValue } from "portolan/storage";
import { canonicalJson, sha256 } from "portolan/storage";
import {
  grantsPerPage,
  grantTtlMs,
  grantUseSaveMs,
  maxGrantWrites,
  maxRestorableGrants,
  maxStoredGrants,
} from "../limits.ts";

/** The kind of thing that a grant allows or refuses. */
export type GrantKind = "tool" | "roots" | "resource" | "sampling" | "skill" | "trust" | "app";

/** A stored answer of the user: yes or no to one exact thing. */
export interface Grant {
  readonly id: string;
  readonly kind: GrantKind;
  /** False stores a "no". */
  readonly allow: boolean;
  readonly server: string;
  /** Digest of the server's configuration as it was trusted. */
  readonly serverDigest: string;
  /** Name of the tool, address of the resource…; empty for the server itself. */
  readonly subject: string;
  /** Digest of the definition that the user saw; of a skill, of the addresses and digests of all its files. */
  readonly digest: string;
  /** Where a trusted server is configured, by `trustPlace`: the same for each configuration that was trusted there. */
  readonly place?: string;
  readonly scope: "session" | "always";
  /** Digest of the only arguments that the grant covers, by `argumentsDigest`. */
  readonly args?: string;
  /** Servers whose untrusted content was in the conversation when the user answered. */
  readonly contentFrom: readonly string[];
  /** Milliseconds since 1970. */
  readonly createdAt: number;
  /** Milliseconds since 1970. A grant of the session may have none. */
  readonly expiresAt?: number;
  /** Actions that it has decided. Those of other processes are known after a while. */
  readonly uses: number;
  /** Milliseconds since 1970. */
  readonly lastUsedAt?: number;
}

/** A change of a grant. */
export type GrantChange = "added" | "used" | "revoked";

/** A grant to add. `ttlMs` defaults to 90 days for "always"; a grant for "session" ends with the session. */
export interface NewGrant
  extends Omit<Grant, "id" | "createdAt" | "expiresAt" | "contentFrom" | "uses" | "lastUsedAt"> {
  readonly contentFrom?: readonly string[];
  readonly ttlMs?: number;
}

/** The action that a grant is searched for. */
export interface GrantQuery {
  readonly kind: GrantKind;
  readonly server: string;
  readonly serverDigest: string;
  readonly subject: string;
  readonly digest: string;
  /** Digest of the arguments; only needed if `needsArguments` returns true. */
  readonly args?: string;
  /** Servers of the policy's cautions. A "yes" counts only if it was given in the presence of all of them. */
  readonly contentFrom?: readonly string[];
}

/** All grants of one user. */
export interface Grants {
  /** Returns the latest grant that covers the query; undefined if the user must be asked. */
  find(query: GrantQuery): Grant | undefined;
  /** Returns true if a grant for this depends on the arguments. */
  needsArguments(query: GrantQuery): boolean;
  /** Adds a grant. `record` is called before it is stored, so that it is in a log before it counts. */
  add(grant: NewGrant, record?: (grant: Grant) => Promise<void>): Promise<Grant>;
  /** All valid grants, the latest first. */
  list(): Grant[];
  /** Notes that a grant has decided an action. */
  use(id: string): void;
  /** Revokes a grant at once. Rejects if the storage fails; the grant is then still revoked in this process. */
  revoke(id: string): Promise<boolean>;
  /** Removes a grant whose subject is gone, so that it cannot be restored. Resolves to false if it was removed before. */
  expire(id: string): Promise<boolean>;
  /**
   * Adds a grant again that `revoke` has revoked in this process. `record` is called before. Resolves to false if it has
   * expired, if it was revoked long ago, or if the user has answered anew since.
   */
  restore(id: string, record?: (grant: Grant) => Promise<void>): Promise<boolean>;
  /** Calls the listener after each change in this process. Returns the function that ends it. */
  listen(listener: (grant: Grant, how: GrantChange) => void): () => void;
  /** Stores the uses that are not stored yet. */
  flush(): Promise<void>;
  /** Reads the grants that other processes have added and revoked. */
  reload(): Promise<void>;
}

/** Options of `createGrants`. */
export interface GrantsOptions {
  /** Milliseconds since 1970. Default: `Date.now`. */
  readonly now?: () => number;
  /** Grants at the same time. Default: 10,000. */
  readonly maxGrants?: number;
}

/** Returns the digest of a call's arguments, for grants that cover only these. */
export function argumentsDigest(args: JsonObject): Promise<string> {
  return sha256(canonicalJson(args));
}

/** Opens the grants of a storage: "always" is read once, "session" stays in memory. */
export async function createGrants(kv: KeyValue, options: GrantsOptions = {}): Promise<Grants> {
  checkOptions(options, { now: 1, maxGrants: 1 }, "createGrants");
  const grants = new StoredGrants(kv, options.now ?? Date.now, options.maxGrants ?? maxStoredGrants);
  await grants.reload();
  return grants;
}

const prefix = "host/grant/";

/** A grant whose uses are counted. */
type CountedGrant = Omit<Grant, "uses" | "lastUsedAt"> & { uses: number; lastUsedAt?: number };

/** Uses of a grant that are not stored yet. */
interface UnsavedUses {
  count: number;
  savedAt: number;
  saving: Promise<void> | undefined;
}

class StoredGrants implements Grants {
  readonly #kv: KeyValue;
  readonly #now: () => number;
  readonly #maxGrants: number;
  readonly #byId = new Map<string, CountedGrant>();
  /** The latest first. */
  #bySubject = new Map<string, CountedGrant[]>();
  /** Kept, because a listing that began before the revocation must not bring them back. */
  readonly #revoked = new Set<string>();
  /** The grants that the user revoked last. */
  readonly #restorable = new Map<string, CountedGrant>();
  readonly #unsaved = new Map<string, UnsavedUses>();
  readonly #listeners = new Set<(grant: Grant, how: GrantChange) => void>();

  constructor(kv: KeyValue, now: () => number, maxGrants: number) {
    this.#kv = kv;
    this.#now = now;
    this.#maxGrants = maxGrants;
  }

  find(query: GrantQuery): Grant | undefined {
    const candidates = this.#bySubject.get(subjectKey(query));
    if (candidates === undefined) return undefined;
    for (const grant of candidates) if (this.#isLive(grant) && covers(grant, query)) return grant;
    return undefined;
  }

  needsArguments(query: GrantQuery): boolean {
    return this.#bySubject.get(subjectKey(query))?.some(({ args }) => args !== undefined) ?? false;
  }

  async add(given: NewGrant, record?: (grant: Grant) => Promise<void>): Promise<Grant> {
    const { ttlMs, contentFrom = [], ...rest } = given;
    const createdAt = this.#now();
    const lastsMs = ttlMs ?? (given.scope === "always" ? grantTtlMs : undefined);
    const before = this.#sameSubject(given);
    const known = given.allow ? before.filter((grant) => grant.allow && this.#isLive(grant)) : [];
    const grant: CountedGrant = {
      ...rest,
      id: crypto.randomUUID(),
      contentFrom: [...new Set([...contentFrom, ...known.flatMap((grant) => grant.contentFrom)])],
      createdAt,
      uses: 0,
      ...(lastsMs === undefined ? {} : { expiresAt: createdAt + lastsMs }),
    };
    if (!isGrant(grant)) {
      throw new PortolanError("invalid-argument", `add: expected a complete grant with digests, got ${nameOf(given)}`);
    }
    this.#makeRoom(before.length);
    await record?.(grant);
    if (grant.scope === "always") {
      await this.#kv.set(prefix + grant.id, JSON.stringify(grant), { ttlMs: lastsMs ?? grantTtlMs });
    }
    this.#put(grant);
    this.#notify(grant, "added");
    for (const { id } of before) await this.#remove(id);
    return { ...grant };
  }

  list(): Grant[] {
    const live = [...this.#byId.values()].filter((grant) => this.#isLive(grant));
    return live.sort(latestFirst).map((grant) => ({ ...grant }));
  }

  use(id: string): void {
    const grant = this.#byId.get(id);
    if (grant === undefined) return;
    grant.uses += 1;
    grant.lastUsedAt = this.#now();
    if (grant.scope === "always") this.#countUse(grant);
    this.#notify(grant, "used");
  }

  async revoke(id: string): Promise<boolean> {
    const grant = this.#byId.get(id);
    if (grant === undefined) return false;
    this.#restorable.set(id, grant);
    for (const oldest of this.#restorable.keys()) {
      if (this.#restorable.size <= maxRestorableGrants) break;
      this.#restorable.delete(oldest);
    }
    await this.#remove(id);
    return true;
  }

  async expire(id: string): Promise<boolean> {
    this.#restorable.delete(id);
    const isKnown = this.#byId.has(id);
    await this.#remove(id);
    return isKnown;
  }

  async restore(id: string, record?: (grant: Grant) => Promise<void>): Promise<boolean> {
    const grant = this.#restorable.get(id);
    // An answer that was given since counts, and not the older one.
    if (grant === undefined || !this.#isLive(grant) || this.#sameSubject(grant).length > 0) return false;
    this.#makeRoom(0);
    // At once, so that it is not added twice.
    this.#restorable.delete(id);
    try {
      await record?.({ ...grant });
      if (grant.scope === "always") {
        await this.#kv.set(prefix + id, JSON.stringify(grant), { ttlMs: this.#leftOf(grant) });
      }
    } catch (reason) {
      this.#restorable.set(id, grant);
      throw reason;
    }
    this.#revoked.delete(id);
    this.#put(grant);
    this.#notify(grant, "added");
    return true;
  }

  listen(listener: (grant: Grant, how: GrantChange) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  async flush(): Promise<void> {
    await Promise.all([...this.#unsaved].map(([id, unsaved]) => this.#saveUses(id, unsaved)));
  }

  async reload(): Promise<void> {
    const before = new Set(this.#byId.keys());
    const found = await this.#readAll();
    for (const [id, grant] of this.#byId) {
      // A grant added meanwhile may be missing from the listing.
      if (grant.scope === "always" && before.has(id) && !found.has(id)) this.#drop(grant);
    }
    for (const grant of found.values()) {
      if (!this.#byId.has(grant.id) && !this.#revoked.has(grant.id)) this.#put(grant);
    }
  }

  async #remove(id: string): Promise<void> {
    const grant = this.#byId.get(id);
    if (grant === undefined) return;
    this.#drop(grant);
    this.#notify(grant, "revoked");
    if (grant.scope === "session") return;
    this.#revoked.add(id);
    await this.#kv.delete(prefix + id);
  }

  /** Stores uses at most once a minute: a grant may decide many calls a second. */
  #countUse({ id }: CountedGrant): void {
    const unsaved = this.#unsaved.get(id) ?? { count: 0, savedAt: Number.NEGATIVE_INFINITY, saving: undefined };
    unsaved.count += 1;
    this.#unsaved.set(id, unsaved);
    if (unsaved.saving || this.#now() - unsaved.savedAt < grantUseSaveMs) return;
    // A count that could not be stored is stored later.
    this.#saveUses(id, unsaved).catch(() => {});
  }

  #saveUses(id: string, unsaved: UnsavedUses): Promise<void> {
    unsaved.saving ??= this.#addUses(id, unsaved).finally(() => {
      unsaved.saving = undefined;
    });
    return unsaved.saving;
  }

  /** Adds the uses of this process to the stored ones, which other processes change, too. */
  async #addUses(id: string, unsaved: UnsavedUses): Promise<void> {
    unsaved.savedAt = this.#now();
    for (let attempt = 0; attempt < maxGrantWrites && unsaved.count > 0; attempt++) {
      const text = await this.#kv.get(prefix + id);
      const grant = this.#byId.get(id);
      if (!grant) return void this.#unsaved.delete(id);
      const stored = text === undefined ? undefined : parseGrant(text);
      if (text === undefined || !stored) {
        // Another process has revoked it.
        this.#drop(grant);
        this.#notify(grant, "revoked");
        return;
      }
      const { count } = unsaved;
      const lastUsedAt = Math.max(grant.lastUsedAt ?? 0, stored.lastUsedAt ?? 0);
      const next = JSON.stringify({ ...stored, uses: stored.uses + count, lastUsedAt });
      if (!(await this.#kv.set(prefix + id, next, { ttlMs: this.#leftOf(stored), expect: text }))) continue;
      unsaved.count -= count;
      grant.uses = stored.uses + count + unsaved.count;
    }
  }

  /** Returns how long a stored grant is valid. */
  #leftOf({ expiresAt }: Grant): number {
    return Math.max(1, (expiresAt ?? 0) - this.#now());
  }

  #notify(grant: Grant, how: GrantChange): void {
    for (const listener of this.#listeners) listener(grant, how);
  }

  async #readAll(): Promise<Map<string, CountedGrant>> {
    const found = new Map<string, CountedGrant>();
    for (let after: string | undefined; found.size < this.#maxGrants; ) {
      const page = await this.#kv.list(prefix, { limit: grantsPerPage, ...(after === undefined ? {} : { after }) });
      for (const { key, value } of page) {
        const grant = parseGrant(value);
        if (grant && key === prefix + grant.id) found.set(grant.id, grant);
      }
      after = page.at(-1)?.key;
      if (page.length < grantsPerPage) break;
    }
    return found;
  }

  /** Returns the grants that a new answer replaces. */
  #sameSubject(grant: NewGrant): CountedGrant[] {
    const others = this.#bySubject.get(subjectKey(grant)) ?? [];
    return others.filter((other) => other.args === grant.args && other.scope === grant.scope);
  }

  #makeRoom(leaving: number): void {
    if (this.#byId.size - leaving < this.#maxGrants) return;
    for (const grant of this.#byId.values()) if (!this.#isLive(grant)) this.#drop(grant);
    if (this.#byId.size - leaving < this.#maxGrants) return;
    throw new PortolanError(
      "limit-reached",
      `There are ${this.#maxGrants} grants already; revoke some, or raise maxGrants`,
    );
  }

  #put(grant: CountedGrant): void {
    this.#byId.set(grant.id, grant);
    const key = subjectKey(grant);
    const others = this.#bySubject.get(key) ?? [];
    const place = others.findIndex(({ createdAt }) => createdAt <= grant.createdAt);
    this.#bySubject.set(key, others.toSpliced(place === -1 ? others.length : place, 0, grant));
  }

  #drop(grant: CountedGrant): void {
    this.#byId.delete(grant.id);
    this.#unsaved.delete(grant.id);
    const key = subjectKey(grant);
    const others = (this.#bySubject.get(key) ?? []).filter(({ id }) => id !== grant.id);
    if (others.length > 0) this.#bySubject.set(key, others);
    else this.#bySubject.delete(key);
  }

  #isLive({ expiresAt }: Grant): boolean {
    return expiresAt === undefined || expiresAt > this.#now();
  }
}

/** Kinds and digests contain no blanks, and the length separates server and subject. */
function subjectKey({ kind, server, serverDigest, subject, digest }: Omit<GrantQuery, "args" | "contentFrom">): string {
  return `${kind} ${serverDigest} ${digest} ${server.length} ${server}${subject}`;
}

function covers(grant: Grant, { args, contentFrom = [] }: GrantQuery): boolean {
  if (grant.args !== undefined && grant.args !== args) return false;
  return !grant.allow || contentFrom.every((server) => grant.contentFrom.includes(server));
}

function latestFirst(a: Grant, b: Grant): number {
  return b.createdAt - a.createdAt;
}

function parseGrant(text: string): CountedGrant | undefined {
  try {
    const value: unknown = JSON.parse(text);
    // A grant of an earlier version has no uses.
    const grant: unknown = typeof value === "object" && value !== null ? { uses: 0, ...value } : value;
    return isGrant(grant) && grant.scope === "always" ? { ...grant } : undefined;
  } catch {
    // Not a grant of ours, so the user is asked.
    return undefined;
  }
}

const kinds: readonly unknown[] = ["tool", "roots", "resource", "sampling", "skill", "trust", "app"];

/** Accepts only complete grants, above all with digests. */
function isGrant(value: unknown): value is Grant {
  if (typeof value !== "object" || value === null) return false;
  const grant = value as { readonly [name in keyof Grant]?: unknown };
  const isSession = grant.scope === "session";
  return (
    kinds.includes(grant.kind) &&
    typeof grant.allow === "boolean" &&
    [grant.id, grant.server, grant.subject].every((text) => typeof text === "string") &&
    [grant.serverDigest, grant.digest, grant.args ?? "none", grant.place ?? "none"].every(isDigest) &&
    (isSession || grant.scope === "always") &&
    Array.isArray(grant.contentFrom) &&
    grant.contentFrom.every((server) => typeof server === "string") &&
    Number.isFinite(grant.createdAt) &&
    [grant.uses, grant.lastUsedAt ?? 0].every((count) => Number.isFinite(count) && (count as number) >= 0) &&
    (Number.isFinite(grant.expiresAt) || (isSession && grant.expiresAt === undefined))
  );
}

function isDigest(text: unknown): boolean {
  return typeof text === "string" && /^[\w-]+$/.test(text);
}
