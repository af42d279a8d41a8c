import type { JsonObject } from "portolan";
import { PortolanError } from "portolan";
import { checkOptions, nameOf } from "portolan/internal";
import type { KeyValue } from "portolan/storage";
import { canonicalJson, sha256 } from "portolan/storage";
import { grantsPerPage, grantTtlMs, maxStoredGrants } from "../limits.ts";

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
}

/** A grant to add. `ttlMs` defaults to 90 days for "always"; a grant for "session" ends with the session. */
export interface NewGrant extends Omit<Grant, "id" | "createdAt" | "expiresAt" | "contentFrom"> {
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
  add(grant: NewGrant): Promise<Grant>;
  /** All valid grants, the latest first. */
  list(): Grant[];
  /** Revokes a grant at once. Rejects if the storage fails; the grant is then still revoked in this process. */
  revoke(id: string): Promise<boolean>;
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

class StoredGrants implements Grants {
  readonly #kv: KeyValue;
  readonly #now: () => number;
  readonly #maxGrants: number;
  readonly #byId = new Map<string, Grant>();
  /** The latest first. */
  #bySubject = new Map<string, Grant[]>();
  /** Kept, because a listing that began before the revocation must not bring them back. */
  readonly #revoked = new Set<string>();

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

  async add(given: NewGrant): Promise<Grant> {
    const { ttlMs, contentFrom = [], ...rest } = given;
    const createdAt = this.#now();
    const lastsMs = ttlMs ?? (given.scope === "always" ? grantTtlMs : undefined);
    const before = this.#sameSubject(given);
    const known = given.allow ? before.filter((grant) => grant.allow && this.#isLive(grant)) : [];
    const grant: Grant = {
      ...rest,
      id: crypto.randomUUID(),
      contentFrom: [...new Set([...contentFrom, ...known.flatMap((grant) => grant.contentFrom)])],
      createdAt,
      ...(lastsMs === undefined ? {} : { expiresAt: createdAt + lastsMs }),
    };
    if (!isGrant(grant)) {
      throw new PortolanError("invalid-argument", `add: expected a complete grant with digests, got ${nameOf(given)}`);
    }
    this.#makeRoom(before.length);
    if (grant.scope === "always") {
      await this.#kv.set(prefix + grant.id, JSON.stringify(grant), { ttlMs: lastsMs ?? grantTtlMs });
    }
    this.#put(grant);
    for (const { id } of before) await this.revoke(id);
    return grant;
  }

  list(): Grant[] {
    return [...this.#byId.values()].filter((grant) => this.#isLive(grant)).sort(latestFirst);
  }

  async revoke(id: string): Promise<boolean> {
    const grant = this.#byId.get(id);
    if (grant === undefined) return false;
    this.#drop(grant);
    if (grant.scope === "session") return true;
    this.#revoked.add(id);
    await this.#kv.delete(prefix + id);
    return true;
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

  async #readAll(): Promise<Map<string, Grant>> {
    const found = new Map<string, Grant>();
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
  #sameSubject(grant: NewGrant): Grant[] {
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

  #put(grant: Grant): void {
    this.#byId.set(grant.id, grant);
    const key = subjectKey(grant);
    const others = this.#bySubject.get(key) ?? [];
    const place = others.findIndex(({ createdAt }) => createdAt <= grant.createdAt);
    this.#bySubject.set(key, others.toSpliced(place === -1 ? others.length : place, 0, grant));
  }

  #drop(grant: Grant): void {
    this.#byId.delete(grant.id);
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

function parseGrant(text: string): Grant | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isGrant(value) && value.scope === "always" ? value : undefined;
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
    (Number.isFinite(grant.expiresAt) || (isSession && grant.expiresAt === undefined))
  );
}

function isDigest(text: unknown): boolean {
  return typeof text === "string" && /^[\w-]+$/.test(text);
}
