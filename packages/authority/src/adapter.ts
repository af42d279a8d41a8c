import Provider, { type Adapter, type AdapterPayload, errors } from "oidc-provider";
import type { Redeemable, RedeemablePayload, Redemptions, TokenState } from "./redemptions.ts";
import type { Rows } from "./rows.ts";

/** The index entry of a grant, by which it is found from its person and client. */
export interface GrantRecord {
  readonly grantId: string;
  readonly subject: string;
  readonly clientId: string;
  readonly since: number;
}

export interface AdapterOptions {
  readonly rows: Rows;
  readonly redemptions: Redemptions;
  /** A client that is never used is deleted after this time. */
  readonly unusedClientMs: number;
  /** Called when a grant has ended, for whatever reason. */
  readonly grantEnded: (grantId: string) => Promise<void>;
}

/** Kinds that are deleted with their grant. */
const ofGrant: ReadonlySet<string> = new Set(["AccessToken", "AuthorizationCode", "RefreshToken"]);

/** Stores one kind of the provider's records in rows. */
export class RowsAdapter implements Adapter {
  readonly #kind: string;
  readonly #options: AdapterOptions;
  readonly #rows: Rows;
  readonly #redemptions: Redemptions;

  constructor(kind: string, options: AdapterOptions) {
    this.#kind = kind;
    this.#options = options;
    this.#rows = options.rows;
    this.#redemptions = options.redemptions;
  }

  async upsert(id: string, payload: AdapterPayload, expiresIn?: number): Promise<void> {
    const ttlMs = expiresIn === undefined ? this.#options.unusedClientMs : expiresIn * 1_000;
    const key = await this.#rows.keyOf(this.#kind, id);
    const { grantId, uid, accountId, clientId } = payload;
    // The index is written first, so that everything that exists can be found and revoked.
    if (grantId !== undefined && ofGrant.has(this.#kind)) {
      await this.#rows.set(await this.#rows.keyOf(`of-grant-${this.#kind}`, grantId, id), key, ttlMs);
    }
    if (this.#kind === "Session" && uid !== undefined) {
      await this.#rows.set(await this.#rows.keyOf("session-of", uid), id, ttlMs);
    }
    if (this.#kind === "Grant" && accountId !== undefined && clientId !== undefined) {
      const record: GrantRecord = { grantId: id, subject: accountId, clientId, since: Date.now() };
      await this.#rows.set(await this.#rows.keyOf("grant-record", accountId, clientId, id), record, ttlMs);
    }
    // A page that is still being served saves its sign-in session again: after a logout it stays ended.
    if (this.#kind === "Session") await this.#rows.setUnlessTaken(key, payload, ttlMs);
    else if (this.#kind !== "ReplayDetection") await this.#rows.set(key, payload, ttlMs);
    // Atomic: the same value may arrive in another process at the same moment.
    else if (!(await this.#rows.add(key, payload, ttlMs))) throw new errors.InvalidRequest("this was used before");
  }

  async find(id: string): Promise<AdapterPayload | undefined> {
    const payload = await this.#rows.get<RedeemablePayload>(await this.#rows.keyOf(this.#kind, id));
    if (payload?.consumed === undefined) return payload;
    const { consumed, pending, ...unused } = payload;
    // Only `consume` decides about a code, when the provider has checked everything else about the request.
    const isUnused = this.#kind === "AuthorizationCode" || (await this.#redemptions.isUnused(this.#token(id), payload));
    return isUnused ? unused : payload;
  }

  async findByUid(uid: string): Promise<AdapterPayload | undefined> {
    const id = await this.#rows.get<string>(await this.#rows.keyOf("session-of", uid));
    return id === undefined ? undefined : this.find(id);
  }

  async findByUserCode(): Promise<undefined> {
    return undefined;
  }

  /** Marks a code or refresh token as used, for one caller only; every other one gets `InvalidGrant`, even in parallel. */
  async consume(id: string): Promise<void> {
    const token = this.#token(id);
    const row = await this.#rows.read<RedeemablePayload>(await this.#rows.keyOf(this.#kind, id));
    const redeemed = row && (await this.#redemptions.begin(token, row));
    const state = Provider.ctx?.state as TokenState | undefined;
    if (redeemed) {
      if (state) state.redeemed = redeemed;
      return;
    }
    if (state && row) state.usedBefore = { ...token, grantId: row.value.grantId };
    throw new errors.InvalidGrant(`${this.#kind} was used before`);
  }

  #token(id: string): Redeemable {
    return { kind: this.#kind, id };
  }

  async destroy(id: string): Promise<void> {
    const key = await this.#rows.keyOf(this.#kind, id);
    const payload = await this.#rows.get<AdapterPayload>(key);
    const { grantId, uid, accountId, clientId } = payload ?? {};
    if (grantId !== undefined && Provider.ctx?.oidc?.route === "revocation" && this.#kind !== "Grant") {
      // The token is deleted last: if its grant cannot be ended now, the client can revoke the same token again.
      await new RowsAdapter("Grant", this.#options).destroy(grantId);
    }
    if (this.#kind === "Session") await this.#rows.discard(key);
    else await this.#rows.delete(key);
    if (grantId !== undefined && ofGrant.has(this.#kind)) {
      await this.#rows.delete(await this.#rows.keyOf(`of-grant-${this.#kind}`, grantId, id));
    }
    if (this.#kind === "Session" && uid !== undefined)
      await this.#rows.delete(await this.#rows.keyOf("session-of", uid));
    if (this.#kind !== "Grant") return;
    await this.#options.grantEnded(id);
    // Deleted last: if something fails before, the grant can be found and revoked again.
    if (accountId !== undefined && clientId !== undefined) {
      await this.#rows.delete(await this.#rows.keyOf("grant-record", accountId, clientId, id));
    }
  }

  async revokeByGrantId(grantId: string): Promise<void> {
    const index = await this.#rows.keyOf(`of-grant-${this.#kind}`, grantId);
    for await (const { key, value } of this.#rows.below<string>(index)) {
      // A code that comes once more was used before, and is not taken for one of another storage.
      if (this.#kind === "AuthorizationCode") await this.#rows.discard(value);
      else await this.#rows.delete(value);
      await this.#rows.delete(key);
    }
  }
}

/** Lists the grants of a person, of a client, or of both. */
export async function* grantsOf(
  rows: Rows,
  { subject, clientId }: { readonly subject?: string | undefined; readonly clientId?: string | undefined },
): AsyncGenerator<GrantRecord> {
  const ids = subject === undefined ? [] : clientId === undefined ? [subject] : [subject, clientId];
  for await (const { value } of rows.below<GrantRecord>(await rows.keyOf("grant-record", ...ids))) {
    if (clientId === undefined || value.clientId === clientId) yield value;
  }
}
