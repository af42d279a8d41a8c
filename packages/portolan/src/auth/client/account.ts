import type { SafeFetch } from "../../net/policy.ts";
import { type ParsedChallenge, readChallenge } from "./challenge.ts";
import { SharedPromise } from "./concurrency.ts";
import type { Credential, Vault } from "./credential.ts";
import { type DpopKey, loadKey } from "./dpop.ts";
import { AuthFailure, oneLine } from "./errors.ts";
import type { Jwk } from "./grants.ts";
import {
  maxNewerTokenRetries,
  maxNonceChars,
  maxNonceRetries,
  maxStepUps,
  patienceAfterLoginMs,
  renewalPauseMs,
} from "./limits.ts";
import type { OAuthOptions } from "./oauth.ts";
import { withSecret } from "./registration.ts";
import type { Steps } from "./steps.ts";
import type { ExclusiveOptions } from "./store.ts";
import { type AcquiredToken, type TokenNeed, TokenSource } from "./token-source.ts";
import { revokeToken } from "./tokens.ts";

/** The parts of a request that its authorization depends on. */
export interface AuthorizedRequest {
  readonly server: URL;
  readonly method: string;
  readonly url: URL;
}

/** A response with status 401 or 403, and the request that it answers. */
export interface AuthChallenge {
  readonly request: AuthorizedRequest;
  readonly sent: { readonly [name: string]: string };
  readonly status: 401 | 403;
  header(name: string): string | undefined;
  /** Identifies the operation across its retries. */
  readonly operation: object;
  readonly signal: AbortSignal;
}

/** Attempts already made for one operation, so that it cannot retry forever. */
interface Attempts {
  nonces: number;
  newer: number;
  stepUps: number;
  mayRenew: boolean;
  mayLogin: boolean;
}

/** The tokens for one server: sends them, renews them, and gets others when the server refuses them. */
export class Account {
  readonly #server: string;
  readonly #vault: Vault;
  readonly #fetch: SafeFetch;
  readonly #options: OAuthOptions;
  readonly #source: TokenSource;
  /** Loads the listener of steps, if there is one. */
  readonly #steps: (() => Promise<Steps>) | undefined;
  #credential: Promise<Credential | undefined> | undefined;
  #key: Promise<DpopKey> | undefined;
  #keyOf: Jwk | undefined;
  /** The last DPoP nonce that the server sent. */
  #nonce: string | undefined;
  /** The acquisition under way; a silent one only renews and asks nobody to sign in. */
  #acquiring: { readonly isSilent: boolean; readonly token: SharedPromise<AcquiredToken> } | undefined;
  /** No renewal is tried before this time, because the last one failed. */
  #renewAfter = Number.NEGATIVE_INFINITY;
  readonly #attempts = new WeakMap<object, Attempts>();

  constructor(server: URL, vault: Vault, fetch: SafeFetch, options: OAuthOptions, steps?: () => Promise<Steps>) {
    this.#server = server.href;
    this.#vault = vault;
    this.#fetch = fetch;
    this.#options = options;
    this.#steps = steps;
    this.#source = new TokenSource(server, vault, fetch, options, steps);
  }

  /** Returns the headers for a request. Without a token there are none: the server's 401 then says what it requires. */
  async headers(request: AuthorizedRequest): Promise<{ [name: string]: string }> {
    // The token stays with its server, also when a request is redirected to another host.
    if (request.url.hostname !== request.server.hostname) return {};
    let credential = await this.#known();
    if (credential && this.#isDue(credential)) credential = await this.#renew(credential);
    if (!credential) return {};
    const { accessToken, tokenType, key } = credential;
    if (tokenType === "Bearer" || !key) return { authorization: `Bearer ${accessToken}` };
    const dpopKey = await this.#dpopKey(key);
    const { method, url } = request;
    const dpop = await dpopKey.prove({ method, url, token: accessToken, nonce: this.#nonce, now: this.#now() });
    return { authorization: `DPoP ${accessToken}`, dpop };
  }

  /** Gets what the server asks for. Returns "retry" when the request may be sent again. */
  async challenged(challenge: AuthChallenge): Promise<"retry" | "fail"> {
    const attempts = this.#attemptsFor(challenge.operation);
    const parsed = readChallenge(challenge.header("www-authenticate"));
    const nonce = challenge.header("dpop-nonce");
    if (nonce !== undefined && nonce.length <= maxNonceChars) this.#nonce = nonce;
    if (parsed.error === "use_dpop_nonce" && nonce !== undefined) {
      attempts.nonces += 1;
      return attempts.nonces <= maxNonceRetries ? "retry" : "fail";
    }
    const isStepUp = challenge.status === 403;
    (await this.#steps?.())?.refused(challenge);
    if (isStepUp && (parsed.error !== "insufficient_scope" || !parsed.scopes)) return "fail";
    const stale = /^\S+ (.+)$/.exec(challenge.sent["authorization"] ?? "")?.[1] ?? "";
    const current = await this.#reload();
    if (current && current.accessToken !== stale && attempts.newer < maxNewerTokenRetries) {
      attempts.newer += 1;
      return "retry";
    }
    if (isStepUp) this.#countStepUp(attempts);
    else if (!attempts.mayLogin) {
      const why =
        parsed.description === undefined || stale === ""
          ? ""
          : `: ${oneLine(parsed.description.replaceAll(stale, "…"))}`;
      throw new AuthFailure(
        `${this.#origin} refuses the token that its authorization server has just issued${why || ", without a reason"}`,
      );
    }
    const need = { stale, challenge: parsed, isStepUp, mayRenew: attempts.mayRenew, mayLogin: true };
    const how = await this.#acquire(need, challenge.signal);
    // When a renewed token is refused, a login may help. When the token of a login is refused, another login does not.
    if (how === "renewed") attempts.mayRenew = false;
    if (how === "granted" && !isStepUp) attempts.mayLogin = false;
    return "retry";
  }

  /** Has a person sign in now, or gets a token in the program's own name. */
  async login(signal: AbortSignal): Promise<void> {
    const stale = (await this.#reload())?.accessToken ?? "";
    const challenge = await this.#requestChallenge(signal);
    await this.#acquire({ stale, challenge, isStepUp: false, mayRenew: false, mayLogin: true }, signal);
  }

  /**
   * Deletes the tokens here and revokes them at the authorization server. After a login that was not finished it forgets
   * the registration, which the authorization server may not know any more.
   */
  async logout(): Promise<void> {
    const credential = await this.#reload();
    await this.#vault.writeCredential(this.#server, undefined);
    this.#credential = undefined;
    if (!credential) return this.#forgetUnfinished();
    this.#source.emit("signed-out", credential);
    // A program that gets tokens in its own name can get another one at any time: revoking this one achieves nothing.
    if (this.#options.grant) return;
    const authority = await this.#source.authorityOf(credential);
    const { key, refreshToken, accessToken } = credential;
    const client = withSecret(credential.client, this.#options);
    await revokeToken({ authority, client, key, fetch: this.#fetch }, refreshToken ?? accessToken);
  }

  async #forgetUnfinished(): Promise<void> {
    const issuer = await this.#vault.readVisit(this.#server);
    if (issuer === undefined) return;
    await this.#vault.writeVisit(this.#server, undefined);
    const client = await this.#vault.readClient(issuer);
    if (client?.isDynamic !== true) return;
    await this.#vault.writeClient(issuer, undefined);
    this.#source.emit("unregistered", { issuer, scopes: [] });
  }

  /** Completes a deferred login. */
  async finish(pending: Parameters<TokenSource["finish"]>[0], callback: URL): Promise<void> {
    await this.#vault.exclusive(this.#server, () => this.#source.finish(pending, callback), this.#waiting);
    this.#credential = undefined;
  }

  /** Asks the server without a token for its challenge. When that fails, discovery uses the well-known URLs alone. */
  async #requestChallenge(signal: AbortSignal): Promise<ParsedChallenge> {
    const headers = { "content-type": "application/json", accept: "application/json, text/event-stream" };
    const response = await this.#fetch(this.#server, { method: "POST", headers, body: "{}", signal }).catch(
      () => undefined,
    );
    const challenge = response?.status === 401 ? response.headers.get("www-authenticate") : null;
    return readChallenge(challenge ?? undefined);
  }

  #attemptsFor(operation: object): Attempts {
    const known = this.#attempts.get(operation);
    if (known) return known;
    const attempts = { nonces: 0, newer: 0, stepUps: 0, mayRenew: true, mayLogin: true };
    this.#attempts.set(operation, attempts);
    return attempts;
  }

  #countStepUp(attempts: Attempts): void {
    attempts.stepUps += 1;
    if (attempts.stepUps <= maxStepUps) return;
    throw new AuthFailure(`${this.#origin} has asked for more scopes ${maxStepUps} times for one request`);
  }

  #now(): number {
    return (this.#options.now ?? Date.now)();
  }

  /** A clock that is never set back. */
  #elapsed(): number {
    return this.#options.now?.() ?? performance.now();
  }

  #isDue({ renewAt }: Credential): boolean {
    const now = this.#now();
    return renewAt !== undefined && renewAt <= now && this.#renewAfter <= this.#elapsed();
  }

  /** Another process may be waiting for a person to sign in while it holds the lock. */
  get #waiting(): Required<ExclusiveOptions> {
    const patienceMs = this.#options.loginWaitMs ?? this.#source.loginMs + patienceAfterLoginMs;
    return { patienceMs, reason: `Another program is signing in at ${this.#origin}` };
  }

  /** The server's URL without its query, which may contain secrets. */
  get #origin(): string {
    return new URL(this.#server).origin;
  }

  /** Renews a token before it expires. When that fails, the present one is sent: the server may still accept it. */
  async #renew(credential: Credential): Promise<Credential | undefined> {
    if (credential.refreshToken === undefined && !this.#options.grant) return credential;
    // A person is signing in for more scopes than this request needs: the present token is enough until then.
    if (this.#acquiring?.isSilent === false) return credential;
    const { accessToken: stale } = credential;
    const need = { stale, challenge: readChallenge(undefined), isStepUp: false, mayRenew: true, mayLogin: false };
    await this.#acquire(need, new AbortController().signal).catch((reason: Error & { code?: unknown }) => {
      if (reason.code === "store-failed") throw reason;
      this.#renewAfter = this.#elapsed() + renewalPauseMs;
    });
    return this.#known();
  }

  /** Gets another token. All requests that need one at the same time share one acquisition. */
  async #acquire(need: TokenNeed, signal: AbortSignal): Promise<AcquiredToken["how"]> {
    const isSilent = !need.mayLogin;
    if (this.#acquiring?.isSilent === true && !isSilent) {
      await this.#acquiring.token.join(signal).catch(() => {});
      const current = await this.#known();
      if (current && current.accessToken !== need.stale) return "found";
    }
    signal.throwIfAborted();
    if (!this.#acquiring || this.#acquiring.token.isAborted) {
      const token = new SharedPromise((shared) => this.#acquireAlone(need, shared));
      const own = { isSilent, token };
      this.#acquiring = own;
      token.settled.then(() => {
        if (this.#acquiring === own) this.#acquiring = undefined;
      });
    }
    return (await this.#acquiring.token.join(signal)).how;
  }

  async #acquireAlone(need: TokenNeed, signal: AbortSignal): Promise<AcquiredToken> {
    let hasBegun = false;
    const acquire = async (): Promise<AcquiredToken> => {
      hasBegun = true;
      // The caller may have left while this waited for the lock.
      signal.throwIfAborted();
      const kept = await this.#vault.readCredential(this.#server);
      const isNewer = kept !== undefined && kept.accessToken !== "" && kept.accessToken !== need.stale;
      try {
        return isNewer ? { how: "found", credential: kept } : await this.#source.acquire(need, kept, signal);
      } finally {
        // Cleared at the end: a request may have read the old credential in the meantime.
        this.#credential = undefined;
      }
    };
    // Another process may hold the lock for minutes while a person signs in there.
    if (!(await this.#mayChangeToken())) return acquire();
    const waiting = this.#waiting;
    return this.#vault.exclusive(this.#server, acquire, waiting).catch((reason: Error & { code?: unknown }) => {
      if (hasBegun || reason.code !== "timeout") throw reason;
      const seconds = Math.ceil(waiting.patienceMs / 1000);
      throw new AuthFailure(`${waiting.reason}, and has not finished within ${seconds} s`, { code: "timeout" });
    });
  }

  /** False if all that this program can do is to say that a person must sign in. */
  async #mayChangeToken(): Promise<boolean> {
    const { redirect, grant } = this.#options;
    if (redirect || grant) return true;
    return (await this.#vault.readCredential(this.#server))?.refreshToken !== undefined;
  }

  #known(): Promise<Credential | undefined> {
    this.#credential ??= this.#vault.readCredential(this.#server);
    return this.#credential.then((credential) => (credential?.accessToken === "" ? undefined : credential));
  }

  #reload(): Promise<Credential | undefined> {
    this.#credential = undefined;
    return this.#known();
  }

  #dpopKey(key: Jwk): Promise<DpopKey> {
    if (!this.#key || this.#keyOf?.x !== key.x) {
      this.#keyOf = key;
      this.#key = loadKey(key);
    }
    return this.#key;
  }
}
