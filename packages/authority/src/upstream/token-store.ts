import type { Rows } from "../rows.ts";
import { exclusive } from "../rows.ts";
import { type Remote, RemoteEnded, type RemoteTokens } from "./client.ts";

/** The tokens upstream that one grant of ours stands on. */
interface Kept extends RemoteTokens {
  /** When it was last known that they are good. */
  readonly checkedAt: number;
}

export interface RemoteKeeperOptions {
  readonly rows: Rows;
  readonly remote: Remote;
  readonly checkMs: number;
  readonly keepMs: number;
  /** Called when the provider upstream has ended what a grant stands on. */
  readonly ended: (grantId: string) => Promise<void>;
  readonly fail: (error: unknown) => void;
}

/** How long before its end a token is renewed. */
const earlyMs = 30_000;

/** Binds tokens upstream to grants of ours: a grant lives as long as they do, and they as long as the grant. */
export class RemoteKeeper {
  readonly #options: RemoteKeeperOptions;
  /** Checks under way in this process, by grant. */
  readonly #checks = new Map<string, Promise<boolean>>();

  constructor(options: RemoteKeeperOptions) {
    this.#options = options;
  }

  async keep(grantId: string, tokens: RemoteTokens): Promise<void> {
    const { rows, keepMs } = this.#options;
    await rows.set(await this.#keyOf(grantId), { ...tokens, checkedAt: Date.now() } satisfies Kept, keepMs);
  }

  /** Whether the provider upstream still stands behind a grant; throws when it cannot be asked. */
  stands(grantId: string): Promise<boolean> {
    const known = this.#checks.get(grantId);
    if (known) return known;
    const check = this.#check(grantId).finally(() => this.#checks.delete(grantId));
    this.#checks.set(grantId, check);
    return check;
  }

  async #check(grantId: string): Promise<boolean> {
    const { rows, remote, checkMs, keepMs } = this.#options;
    const row = await rows.read<Kept>(await this.#keyOf(grantId));
    if (!row) return false;
    const { accessToken, refreshToken, checkedAt } = row.value;
    if (Date.now() - checkedAt < checkMs) return true;
    const isActive = isDue(row.value) ? false : await remote.isActive(row.value);
    // Of a provider that can neither be asked nor renews, all that is known is when its token ends.
    if (isActive ?? refreshToken === undefined) {
      // Whoever has written meanwhile knew it better.
      await row.replace({ ...row.value, checkedAt: Date.now() }, keepMs);
      return true;
    }
    return (await this.#renew(grantId, accessToken)) !== undefined;
  }

  /** An access token upstream that is good for now; undefined when the grant has nothing to stand on any more. */
  async fresh(grantId: string, forMs: number = earlyMs): Promise<string | undefined> {
    const kept = await this.#options.rows.get<Kept>(await this.#keyOf(grantId));
    if (!kept) return undefined;
    // Without a refresh token it is used up to its end.
    if (!isDue(kept, kept.refreshToken === undefined ? 0 : forMs)) return kept.accessToken;
    return this.#renew(grantId, kept.accessToken);
  }

  /** Renews once for all who want it at the same time, in whichever process. */
  async #renew(grantId: string, seen: string): Promise<string | undefined> {
    const { rows, remote, ended, keepMs } = this.#options;
    const key = await this.#keyOf(grantId);
    const renewed = await exclusive(rows, key, async () => {
      const row = await rows.read<Kept>(key);
      if (!row || row.value.accessToken !== seen) return row?.value.accessToken;
      try {
        const tokens = await remote.renew(row.value);
        // Only if the grant is still there: what was revoked meanwhile goes back at once.
        if (await row.replace({ ...tokens, checkedAt: Date.now() }, keepMs)) return tokens.accessToken;
        if (!(await rows.read(key))) await this.#giveBack(tokens);
        return (await rows.get<Kept>(key))?.accessToken;
      } catch (error) {
        if (error instanceof RemoteEnded) return undefined;
        throw error;
      }
    });
    if (renewed === undefined) await ended(grantId);
    return renewed;
  }

  /** Gives back what a grant stood on when the grant has ended. */
  async release(grantId: string): Promise<void> {
    const kept = await this.#options.rows.take<Kept>(await this.#keyOf(grantId));
    if (kept) await this.#giveBack(kept);
  }

  async #giveBack(tokens: RemoteTokens): Promise<void> {
    // The grant is over whether or not the provider upstream hears of it.
    await this.#options.remote.revoke(tokens).catch(this.#options.fail);
  }

  #keyOf(grantId: string): Promise<string> {
    return this.#options.rows.keyOf("upstream", grantId);
  }
}

function isDue({ expiresAt }: RemoteTokens, forMs = 0): boolean {
  return expiresAt !== undefined && expiresAt - forMs <= Date.now();
}
