import type { SafeFetch } from "../../net/policy.ts";
import { type Refused, readRefusal } from "./challenge.ts";
import { Flight } from "./concurrency.ts";
import type { Credential, Vault } from "./credential.ts";
import { loadKey, type ProofKey } from "./dpop.ts";
import { AuthFailure, plain } from "./errors.ts";
import type { OAuthOptions } from "./oauth.ts";
import { withSecret } from "./registration.ts";
import { type Need, type Obtained, Obtaining } from "./token-source.ts";
import { revokeToken } from "./tokens.ts";

/** A request as far as its authorization depends on it. */
export interface AuthorizedRequest {
  readonly server: URL;
  readonly method: string;
  readonly url: URL;
}

/** A 401 or 403, and what it answers. */
export interface Challenged {
  readonly request: AuthorizedRequest;
  readonly sent: { readonly [name: string]: string };
  readonly status: 401 | 403;
  header(name: string): string | undefined;
  readonly operation: object;
  readonly signal: AbortSignal;
}

/** What was tried for one request. */
interface Tries {
  nonces: number;
  newer: number;
  stepUps: number;
  mayRenew: boolean;
  mayLogin: boolean;
}

const maxNonces = 2;
const maxNewer = 2;
const maxStepUps = 3;
/** How long an authorization server that could not renew a token is left alone, unless the token is refused. */
const renewalPauseMs = 10_000;

/** Everything about the tokens for one server: presents them, renews them, and gets others when they are refused. */
export class Account {
  readonly #server: string;
  readonly #vault: Vault;
  readonly #fetch: SafeFetch;
  readonly #options: OAuthOptions;
  readonly #obtaining: Obtaining;
  #credential: Promise<Credential | undefined> | undefined;
  #key: Promise<ProofKey> | undefined;
  #keyOf: JsonWebKey | undefined;
  /** The latest that the server wants to see in proofs. */
  #nonce: string | undefined;
  #flight: { readonly isQuiet: boolean; readonly flight: Flight<Obtained> } | undefined;
  /** No renewal is tried before, because the last one has failed. */
  #renewAfter = Number.NEGATIVE_INFINITY;
  readonly #tries = new WeakMap<object, Tries>();

  constructor(server: URL, vault: Vault, fetch: SafeFetch, options: OAuthOptions) {
    this.#server = server.href;
    this.#vault = vault;
    this.#fetch = fetch;
    this.#options = options;
    this.#obtaining = new Obtaining(server, vault, fetch, options);
  }

  /** The headers for a request; none while there is no token, because the server says best what it wants. */
  async headers(request: AuthorizedRequest): Promise<{ [name: string]: string }> {
    // A token is for its server, wherever a request has been sent on to.
    if (request.url.hostname !== request.server.hostname) return {};
    let credential = await this.#known();
    if (credential && this.#isDue(credential)) credential = await this.#renew(credential);
    if (!credential) return {};
    const { accessToken, tokenType, key } = credential;
    if (tokenType === "Bearer" || !key) return { authorization: `Bearer ${accessToken}` };
    const proofKey = await this.#proofKey(key);
    const { method, url } = request;
    const dpop = await proofKey.prove({ method, url, token: accessToken, nonce: this.#nonce, now: this.#now() });
    return { authorization: `DPoP ${accessToken}`, dpop };
  }

  async challenged(challenge: Challenged): Promise<"retry" | "fail"> {
    const tries = this.#triesFor(challenge.operation);
    const refused = readRefusal(challenge.header("www-authenticate"));
    const nonce = challenge.header("dpop-nonce");
    if (nonce !== undefined && nonce.length <= 1_024) this.#nonce = nonce;
    if (refused.error === "use_dpop_nonce" && nonce !== undefined) {
      tries.nonces += 1;
      return tries.nonces <= maxNonces ? "retry" : "fail";
    }
    const isStepUp = challenge.status === 403;
    if (isStepUp && (refused.error !== "insufficient_scope" || !refused.scopes)) return "fail";
    const stale = /^\S+ (.+)$/.exec(challenge.sent["authorization"] ?? "")?.[1] ?? "";
    const current = await this.#reload();
    if (current && current.accessToken !== stale && tries.newer < maxNewer) {
      tries.newer += 1;
      return "retry";
    }
    if (isStepUp) this.#countStepUp(tries);
    else if (!tries.mayLogin) {
      const why = refused.why === undefined || stale === "" ? "" : `: ${plain(refused.why.replaceAll(stale, "…"))}`;
      throw new AuthFailure(
        `${this.#origin} refuses the token that its authorization server has just given${why || ", and does not say why"}`,
      );
    }
    const need = { stale, refused, isStepUp, mayRenew: tries.mayRenew, mayLogin: true };
    const how = await this.#obtain(need, challenge.signal);
    // A renewed token that is refused is worth a login; one that comes from a login is not worth another.
    if (how === "renewed") tries.mayRenew = false;
    if (how === "granted" && !isStepUp) tries.mayLogin = false;
    return "retry";
  }

  /** Has a person sign in now, or gets a token in the program's own name. */
  async login(signal: AbortSignal): Promise<void> {
    const stale = (await this.#reload())?.accessToken ?? "";
    const refused = await this.#challenge(signal);
    await this.#obtain({ stale, refused, isStepUp: false, mayRenew: false, mayLogin: true }, signal);
  }

  /** Forgets the tokens, and has the authorization server forget them. */
  async logout(): Promise<void> {
    const credential = await this.#reload();
    await this.#vault.writeCredential(this.#server, undefined);
    this.#credential = undefined;
    if (!credential) return;
    this.#obtaining.tell("signed-out", credential);
    // What a program gets in its own name it can get again: there is nothing to take back.
    if (this.#options.grant) return;
    const authority = await this.#obtaining.authorityOf(credential);
    const { key, refreshToken, accessToken } = credential;
    const client = withSecret(credential.client, this.#options);
    await revokeToken({ authority, client, key, fetch: this.#fetch }, refreshToken ?? accessToken);
  }

  /** Goes on with a login that was left to others. */
  async finish(pending: Parameters<Obtaining["finish"]>[0], callback: URL): Promise<void> {
    await this.#vault.exclusive(this.#server, () => this.#obtaining.finish(pending, callback), this.#patienceMs);
    this.#credential = undefined;
  }

  /** What the server says to somebody without a token; a server that cannot be asked has its metadata where it should be. */
  async #challenge(signal: AbortSignal): Promise<Refused> {
    const headers = { "content-type": "application/json", accept: "application/json, text/event-stream" };
    const asked = await this.#fetch(this.#server, { method: "POST", headers, body: "{}", signal }).catch(
      () => undefined,
    );
    const challenge = asked?.status === 401 ? asked.headers.get("www-authenticate") : null;
    return readRefusal(challenge ?? undefined);
  }

  #triesFor(operation: object): Tries {
    const known = this.#tries.get(operation);
    if (known) return known;
    const tries = { nonces: 0, newer: 0, stepUps: 0, mayRenew: true, mayLogin: true };
    this.#tries.set(operation, tries);
    return tries;
  }

  #countStepUp(tries: Tries): void {
    tries.stepUps += 1;
    if (tries.stepUps <= maxStepUps) return;
    throw new AuthFailure(`${this.#origin} has asked for more scopes ${maxStepUps} times for one request`);
  }

  #now(): number {
    return (this.#options.now ?? Date.now)();
  }

  #isDue({ renewAt }: Credential): boolean {
    const now = this.#now();
    return renewAt !== undefined && renewAt <= now && this.#renewAfter <= now;
  }

  /** Somebody may be signing in on behalf of another process. */
  get #patienceMs(): number {
    return this.#obtaining.loginMs + 60_000;
  }

  /** As it may be shown: the query may hold what is secret. */
  get #origin(): string {
    return new URL(this.#server).origin;
  }

  /** Another token in time; the present one where that fails, because the server may see it otherwise. */
  async #renew(credential: Credential): Promise<Credential | undefined> {
    if (credential.refreshToken === undefined && !this.#options.grant) return credential;
    // Somebody is signing in, for more than this needs: the present token does until then.
    if (this.#flight?.isQuiet === false) return credential;
    const { accessToken: stale } = credential;
    const need = { stale, refused: readRefusal(undefined), isStepUp: false, mayRenew: true, mayLogin: false };
    await this.#obtain(need, new AbortController().signal).catch((reason: Error & { code?: unknown }) => {
      if (reason.code === "store-failed") throw reason;
      this.#renewAfter = this.#now() + renewalPauseMs;
    });
    return this.#known();
  }

  /** Gets another token, together with everybody else who needs one. */
  async #obtain(need: Need, signal: AbortSignal): Promise<Obtained["how"]> {
    const isQuiet = !need.mayLogin;
    if (this.#flight?.isQuiet === true && !isQuiet) {
      await this.#flight.flight.join(signal).catch(() => {});
      const current = await this.#known();
      if (current && current.accessToken !== need.stale) return "found";
    }
    signal.throwIfAborted();
    if (!this.#flight || this.#flight.flight.isGivenUp) {
      const flight = new Flight((shared) => this.#exclusively(need, shared));
      const own = { isQuiet, flight };
      this.#flight = own;
      flight.ended.then(() => {
        if (this.#flight === own) this.#flight = undefined;
      });
    }
    return (await this.#flight.flight.join(signal)).how;
  }

  #exclusively(need: Need, signal: AbortSignal): Promise<Obtained> {
    return this.#vault.exclusive(
      this.#server,
      async () => {
        // It may have taken a while until it was our turn.
        signal.throwIfAborted();
        const kept = await this.#vault.readCredential(this.#server);
        const isNewer = kept !== undefined && kept.accessToken !== "" && kept.accessToken !== need.stale;
        try {
          return isNewer ? { how: "found", credential: kept } : await this.#obtaining.obtain(need, kept, signal);
        } finally {
          // At the end, because others may have read what was kept before meanwhile.
          this.#credential = undefined;
        }
      },
      this.#patienceMs,
    );
  }

  #known(): Promise<Credential | undefined> {
    this.#credential ??= this.#vault.readCredential(this.#server);
    return this.#credential.then((credential) => (credential?.accessToken === "" ? undefined : credential));
  }

  #reload(): Promise<Credential | undefined> {
    this.#credential = undefined;
    return this.#known();
  }

  #proofKey(key: JsonWebKey): Promise<ProofKey> {
    if (!this.#key || this.#keyOf?.x !== key.x) {
      this.#keyOf = key;
      this.#key = loadKey(key);
    }
    return this.#key;
  }
}
