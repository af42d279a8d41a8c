import { maxUnsavedRenewals, renewUpstreamBeforeExpiryMs } from "../limits.ts";
import { type Rows, withLock } from "../rows.ts";
import { type UpstreamClient, UpstreamSessionEnded, type UpstreamTokens } from "./client.ts";

/** The upstream tokens that one grant depends on. */
interface StoredTokens extends UpstreamTokens {
  /** When they were last known to be active. */
  readonly checkedAt: number;
}

export interface UpstreamTokenStoreOptions {
  readonly rows: Rows;
  readonly client: UpstreamClient;
  readonly checkMs: number;
  readonly keepMs: number;
  /** Called when the upstream provider has ended the session that a grant depends on. */
  readonly ended: (grantId: string) => Promise<void>;
  readonly reportError: (error: unknown) => void;
}

/** Binds upstream tokens to grants: when either ends, so does the other. */
export class UpstreamTokenStore {
  readonly #options: UpstreamTokenStoreOptions;
  /** Checks under way in this process, by grant. */
  readonly #checks = new Map<string, Promise<boolean>>();
  /** Renewals under way in this process, by grant: if the provider does not answer, all callers wait for it once. */
  readonly #renewals = new Map<string, Promise<string | undefined>>();
  /** Renewed tokens that could not be stored, by the token they replace: the provider accepts no others. */
  readonly #unsaved = new Map<string, UpstreamTokens>();

  constructor(options: UpstreamTokenStoreOptions) {
    this.#options = options;
  }

  async keep(grantId: string, tokens: UpstreamTokens): Promise<void> {
    const { rows, keepMs } = this.#options;
    await rows.set(await this.#keyOf(grantId), { ...tokens, checkedAt: Date.now() } satisfies StoredTokens, keepMs);
  }

  /** Resolves to false if the upstream session of a grant has ended. Rejects if the provider cannot be asked. */
  isActive(grantId: string): Promise<boolean> {
    const known = this.#checks.get(grantId);
    if (known) return known;
    const check = this.#check(grantId).finally(() => this.#checks.delete(grantId));
    this.#checks.set(grantId, check);
    return check;
  }

  async #check(grantId: string): Promise<boolean> {
    const { rows, client, checkMs, keepMs } = this.#options;
    const row = await rows.read<StoredTokens>(await this.#keyOf(grantId));
    if (!row) return false;
    const { accessToken, refreshToken, checkedAt } = row.value;
    // A time in the future means that the clock was set back.
    if (Math.abs(Date.now() - checkedAt) < checkMs) return true;
    const isActive = isDue(row.value) ? false : await client.isActive(row.value);
    // If the provider can neither check nor renew a token, only its expiry is known.
    if (isActive ?? refreshToken === undefined) {
      // Not written if another process has changed the row, which is newer then.
      await row.replace({ ...row.value, checkedAt: Date.now() }, keepMs);
      return true;
    }
    return (await this.#renew(grantId, accessToken)) !== undefined;
  }

  /** Returns a valid upstream access token; `undefined` if the session of the grant has ended. */
  async validToken(grantId: string, forMs: number = renewUpstreamBeforeExpiryMs): Promise<string | undefined> {
    const stored = await this.#options.rows.get<StoredTokens>(await this.#keyOf(grantId));
    if (!stored) return undefined;
    // Without a refresh token it is used until it expires.
    if (!isDue(stored, stored.refreshToken === undefined ? 0 : forMs)) return stored.accessToken;
    return this.#renew(grantId, stored.accessToken);
  }

  /** Renews once for all parallel callers, in all processes. */
  #renew(grantId: string, seen: string): Promise<string | undefined> {
    const known = this.#renewals.get(grantId);
    if (known) return known;
    const renewal = this.#renewNow(grantId, seen).finally(() => this.#renewals.delete(grantId));
    this.#renewals.set(grantId, renewal);
    return renewal;
  }

  async #renewNow(grantId: string, seen: string): Promise<string | undefined> {
    const { rows, ended, keepMs } = this.#options;
    const key = await this.#keyOf(grantId);
    const renewed = await withLock(rows, key, async () => {
      const row = await rows.read<StoredTokens>(key);
      if (!row || row.value.accessToken !== seen) return row?.value.accessToken;
      try {
        const tokens = await this.#renewedFrom(row.value);
        // Compare-and-set: if the grant was revoked in the meantime, the new tokens are revoked, too.
        const isWritten = await row.replace({ ...tokens, checkedAt: Date.now() }, keepMs);
        this.#unsaved.delete(seen);
        if (isWritten) return tokens.accessToken;
        if (!(await rows.read(key))) await this.#giveBack(tokens);
        return (await rows.get<StoredTokens>(key))?.accessToken;
      } catch (error) {
        if (error instanceof UpstreamSessionEnded) return undefined;
        throw error;
      }
    });
    if (renewed === undefined) await ended(grantId);
    return renewed;
  }

  /** Returns renewed tokens. They stay in memory until they are stored. */
  async #renewedFrom(stored: StoredTokens): Promise<UpstreamTokens> {
    const unsaved = this.#unsaved.get(stored.accessToken);
    if (unsaved && !isDue(unsaved)) return unsaved;
    const tokens = await this.#options.client.renew(unsaved ?? stored);
    const [oldest] = this.#unsaved.keys();
    if (oldest !== undefined && this.#unsaved.size >= maxUnsavedRenewals) this.#unsaved.delete(oldest);
    this.#unsaved.set(stored.accessToken, tokens);
    return tokens;
  }

  /** Revokes the upstream tokens of a grant that has ended. */
  async release(grantId: string): Promise<void> {
    const stored = await this.#options.rows.take<StoredTokens>(await this.#keyOf(grantId));
    if (stored) await this.#giveBack(stored);
  }

  async #giveBack(tokens: UpstreamTokens): Promise<void> {
    // The grant has ended, even if the upstream provider cannot be told.
    await this.#options.client.revoke(tokens).catch(this.#options.reportError);
  }

  #keyOf(grantId: string): Promise<string> {
    return this.#options.rows.keyOf("upstream", grantId);
  }
}

function isDue({ expiresAt }: UpstreamTokens, forMs = 0): boolean {
  return expiresAt !== undefined && expiresAt - forMs <= Date.now();
}
