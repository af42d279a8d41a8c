import Provider, { type Adapter, type AdapterPayload, errors } from "oidc-provider";
import type { Rows } from "./rows.ts";

/** What is kept of a grant so that it can be found by its holder. */
export interface Held {
  readonly grantId: string;
  readonly subject: string;
  readonly clientId: string;
  readonly since: number;
}

export interface AdapterOptions {
  readonly rows: Rows;
  /** A client that was never used is forgotten after this time. */
  readonly unusedClientMs: number;
  /** Called when a grant has ended, whatever ended it. */
  readonly grantEnded: (grantId: string) => Promise<void>;
}

/** Kinds that end with their grant. */
const ofGrant: ReadonlySet<string> = new Set(["AccessToken", "AuthorizationCode", "RefreshToken"]);

/** Keeps one kind of things of the provider in rows. */
export class RowsAdapter implements Adapter {
  readonly #kind: string;
  readonly #options: AdapterOptions;
  readonly #rows: Rows;

  constructor(kind: string, options: AdapterOptions) {
    this.#kind = kind;
    this.#options = options;
    this.#rows = options.rows;
  }

  async upsert(id: string, payload: AdapterPayload, expiresIn?: number): Promise<void> {
    const ttlMs = expiresIn === undefined ? this.#options.unusedClientMs : expiresIn * 1_000;
    const key = await this.#rows.keyOf(this.#kind, id);
    const { grantId, uid, accountId, clientId } = payload;
    // Indexed first: what is there can always be found to be revoked.
    if (grantId !== undefined && ofGrant.has(this.#kind)) {
      await this.#rows.set(await this.#rows.keyOf(`of-grant-${this.#kind}`, grantId, id), key, ttlMs);
    }
    if (this.#kind === "Session" && uid !== undefined) {
      await this.#rows.set(await this.#rows.keyOf("session-of", uid), id, ttlMs);
    }
    if (this.#kind === "Grant" && accountId !== undefined && clientId !== undefined) {
      const held: Held = { grantId: id, subject: accountId, clientId, since: Date.now() };
      await this.#rows.set(await this.#rows.keyOf("held", accountId, clientId, id), held, ttlMs);
    }
    // What is seen for the first time may come a second time at this moment, to another process.
    if (this.#kind !== "ReplayDetection") await this.#rows.set(key, payload, ttlMs);
    else if (!(await this.#rows.add(key, payload, ttlMs))) throw new errors.InvalidRequest("this was used before");
  }

  async find(id: string): Promise<AdapterPayload | undefined> {
    return this.#rows.get<AdapterPayload>(await this.#rows.keyOf(this.#kind, id));
  }

  async findByUid(uid: string): Promise<AdapterPayload | undefined> {
    const id = await this.#rows.get<string>(await this.#rows.keyOf("session-of", uid));
    return id === undefined ? undefined : this.find(id);
  }

  async findByUserCode(): Promise<undefined> {
    return undefined;
  }

  /** For one caller only; whoever comes second is told so, however close. */
  async consume(id: string): Promise<void> {
    const row = await this.#rows.read<AdapterPayload>(await this.#rows.keyOf(this.#kind, id));
    const isFirst = row && row.value.consumed === undefined;
    if (isFirst && (await row.replace({ ...row.value, consumed: Date.now() }))) return;
    const context = Provider.ctx;
    if (context && row) context.state["cameSecond"] = { kind: this.#kind, id, grantId: row.value.grantId };
    throw new errors.InvalidGrant(`${this.#kind} was used before`);
  }

  async destroy(id: string): Promise<void> {
    const key = await this.#rows.keyOf(this.#kind, id);
    const payload = await this.#rows.get<AdapterPayload>(key);
    await this.#rows.delete(key);
    const { grantId, uid, accountId, clientId } = payload ?? {};
    if (grantId !== undefined && ofGrant.has(this.#kind)) {
      await this.#rows.delete(await this.#rows.keyOf(`of-grant-${this.#kind}`, grantId, id));
    }
    if (this.#kind === "Session" && uid !== undefined)
      await this.#rows.delete(await this.#rows.keyOf("session-of", uid));
    if (this.#kind !== "Grant") return;
    if (accountId !== undefined && clientId !== undefined) {
      await this.#rows.delete(await this.#rows.keyOf("held", accountId, clientId, id));
    }
    await this.#options.grantEnded(id);
  }

  async revokeByGrantId(grantId: string): Promise<void> {
    const index = await this.#rows.keyOf(`of-grant-${this.#kind}`, grantId);
    for await (const { key, value } of this.#rows.below<string>(index)) {
      await this.#rows.delete(value);
      await this.#rows.delete(key);
    }
  }
}

/** The grants of a person, of a client, or of both. */
export async function* grantsOf(
  rows: Rows,
  { subject, clientId }: { readonly subject?: string | undefined; readonly clientId?: string | undefined },
): AsyncGenerator<Held> {
  const ids = subject === undefined ? [] : clientId === undefined ? [subject] : [subject, clientId];
  for await (const { value } of rows.below<Held>(await rows.keyOf("held", ...ids))) {
    if (clientId === undefined || value.clientId === clientId) yield value;
  }
}
