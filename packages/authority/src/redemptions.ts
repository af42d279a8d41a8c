import type { AdapterPayload } from "oidc-provider";
import { sha256 } from "portolan/storage";
import {
  codeSeconds,
  keptResponseMs,
  maxDeliveryAttempts,
  redemptionMs,
  refreshRepeatMs,
  refreshWaitMs,
} from "./limits.ts";
import type { Row, Rows } from "./rows.ts";

/** A stored code or refresh token. */
export interface RedeemablePayload extends AdapterPayload {
  /** When it was used, in milliseconds since the epoch. */
  readonly consumed?: number;
  /** It was used, but nobody knows yet if its response could be stored. Then it may be used again. */
  readonly pending?: boolean;
  /** When its response was stored for certain, and sent. Using it again is a replay. */
  readonly delivered?: number;
  /** The digest of that response. */
  readonly answerDigest?: string;
}

/** A code or refresh token. */
export interface Redeemable {
  readonly kind: string;
  readonly id: string;
}

/** A code or refresh token that a request uses now. */
export interface Redeemed extends Redeemable {
  readonly row: Row<RedeemablePayload>;
}

/** The part of a request for tokens that its handlers share. */
export interface TokenState {
  redeemed?: Redeemed;
  /** A code or refresh token that was used by another request, after everything else about this request was checked. */
  usedBefore?: Redeemable & { readonly grantId: string | undefined };
}

/** The outcome of a second use of a code or refresh token. */
export type SecondUse =
  | { readonly type: "repeated"; readonly answer: TokenResponse }
  /** The first use has not ended, or has failed a moment ago: the client may try again. */
  | { readonly type: "pending" }
  | { readonly type: "replayed" };

/** The body of a response of the token endpoint. */
export interface TokenResponse {
  readonly refresh_token?: string;
}

export interface RedemptionsOptions {
  readonly rows: Rows;
  readonly refreshTokenSeconds: number;
  readonly reportError: (error: unknown) => void;
}

/**
 * Gives one response for each code and refresh token, although the storage may fail at any moment. The response is stored
 * before it is sent, by the first request that has one; another one that used the same token sends that response, too. A
 * second use counts as a replay only if the response of the first one was stored for certain.
 */
export class Redemptions {
  readonly #options: RedemptionsOptions;
  readonly #rows: Rows;

  constructor(options: RedemptionsOptions) {
    this.#options = options;
    this.#rows = options.rows;
  }

  /** Marks a token as used by this request. Resolves to `undefined` if it cannot be used now. */
  async begin(token: Redeemable, row: Row<RedeemablePayload>): Promise<Redeemed | undefined> {
    if (!(await this.isUnused(token, row.value))) return undefined;
    const replaced = await row.replace({ ...row.value, consumed: Date.now(), pending: true });
    return replaced && { ...token, row: replaced };
  }

  /** Resolves to true if the token has given nothing yet, also after a request that failed while it used it. */
  async isUnused(token: Redeemable, payload: RedeemablePayload): Promise<boolean> {
    if (payload.consumed === undefined) return true;
    if (payload.pending !== true || isYoung(payload)) return false;
    return (await this.#rows.get(await this.#keyOf(token))) === undefined;
  }

  /** Stores the response of this request. Returns the one to send: another request may have stored one before. */
  async keep(token: Redeemed, answer: TokenResponse): Promise<TokenResponse | undefined> {
    const key = await this.#keyOf(token);
    // As long as the token itself: it cannot give a second response, even if it is never known that this one was sent.
    const ttlMs = (isCode(token) ? codeSeconds : this.#options.refreshTokenSeconds) * 1_000;
    if (await this.#rows.addOrReplaceUnreadable(key, answer, ttlMs)) return answer;
    return this.#rows.get<TokenResponse>(key);
  }

  /**
   * Notes that a response is sent: a later use of the token is a replay. Resolves to false if another response was sent,
   * so that this one must not be.
   */
  async deliver(token: Redeemable, answer: TokenResponse, known?: Row<RedeemablePayload>): Promise<boolean> {
    const key = await this.#keyOf(token);
    const answerDigest = await sha256(JSON.stringify(answer));
    let row = known ?? (await this.#read(token));
    for (let attempts = 0; row && attempts < maxDeliveryAttempts; attempts += 1) {
      const { pending, consumed = Date.now(), ...payload } = row.value;
      if (payload.delivered !== undefined) return payload.answerDigest === answerDigest;
      if (await row.replace({ ...payload, consumed, delivered: Date.now(), answerDigest })) {
        await this.#rows.set(key, answer, keptResponseMs);
        await this.#rows.storage.bus.publish(key, "");
        return true;
      }
      row = await this.#read(token);
    }
    // The grant was revoked, or others change the row all the time.
    return true;
  }

  /** Lets the client use a token again that has given nothing. */
  async release(token: Redeemed): Promise<void> {
    const { consumed, pending, ...unused } = token.row.value;
    // Not if another request has used it in the meantime.
    await token.row.replace(unused);
    await this.#rows.storage.bus.publish(await this.#keyOf(token), "");
  }

  /** Decides about a token that was used before. Waits a little if that request has not ended. */
  async secondUse(token: Redeemable): Promise<SecondUse> {
    let heard = (): void => {};
    const isHeard = new Promise<void>((resolve) => {
      heard = resolve;
    });
    const { bus } = this.#rows.storage;
    // Without the bus, the response is still found when the time is over.
    const unsubscribe = await bus.subscribe(await this.#keyOf(token), heard, heard).catch(this.#options.reportError);
    const timer = setTimeout(heard, refreshWaitMs);
    try {
      const found = await this.#look(token);
      if (found.type !== "pending") return found;
      await isHeard;
      return await this.#look(token);
    } finally {
      clearTimeout(timer);
      await unsubscribe?.().catch(this.#options.reportError);
    }
  }

  async #look(token: Redeemable): Promise<SecondUse> {
    const payload = (await this.#read(token))?.value;
    // The grant was revoked.
    if (!payload) return { type: "replayed" };
    const answer = await this.#rows.get<TokenResponse>(await this.#keyOf(token));
    if (payload.consumed !== undefined && payload.pending !== true) {
      const { consumed, delivered = consumed } = payload;
      const mayRepeat = !isCode(token) && Math.abs(Date.now() - delivered) < refreshRepeatMs;
      return mayRepeat && answer ? { type: "repeated", answer } : { type: "replayed" };
    }
    // A client does not use a code twice at the same moment: the response is repeated only once it was clearly not delivered.
    if (!answer || (isCode(token) && isYoung(payload))) return { type: "pending" };
    const { refresh_token: next } = answer;
    if (next !== undefined) {
      const successor = (await this.#read({ kind: "RefreshToken", id: next }))?.value;
      if (!successor || successor.consumed !== undefined) return { type: "replayed" };
    }
    await this.deliver(token, answer).catch(this.#options.reportError);
    return { type: "repeated", answer };
  }

  async #read({ kind, id }: Redeemable): Promise<Row<RedeemablePayload> | undefined> {
    return this.#rows.read<RedeemablePayload>(await this.#rows.keyOf(kind, id));
  }

  #keyOf({ kind, id }: Redeemable): Promise<string> {
    return this.#rows.keyOf(isCode({ kind }) ? "redeemed" : "refreshed", id);
  }
}

function isCode({ kind }: Pick<Redeemable, "kind">): boolean {
  return kind === "AuthorizationCode";
}

/** True if the request that used a token may still be under way; a time in the future means that the clock was set back. */
function isYoung({ consumed = 0 }: RedeemablePayload): boolean {
  return Math.abs(Date.now() - consumed) < redemptionMs;
}
