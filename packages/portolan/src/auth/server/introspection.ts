import { sha256 } from "../../storage/crypto.ts";
import { fetchJson } from "./fetch-json.ts";
import { type Claims, TokenProblem } from "./token-checks.ts";

/** How an issuer is asked about tokens that say nothing themselves (RFC 7662). */
export interface Introspection {
  readonly issuer: string;
  readonly endpoint: string;
  readonly clientId: string;
  readonly clientSecret: string;
}

const longestMs = 60_000;
const maxCached = 10_000;

interface Cached {
  readonly claims: Claims;
  readonly until: number;
}

/** What an issuer says about tokens, remembered for a minute at most. */
export class Introspector {
  readonly issuer: string;
  readonly #options: Introspection;
  readonly #now: () => number;
  /** By the digest of the token: the oldest first. */
  readonly #cache = new Map<string, Cached>();

  constructor(options: Introspection, now: () => number) {
    this.issuer = options.issuer;
    this.#options = options;
    this.#now = now;
  }

  /** The claims of a token that is in use; throws a TokenProblem when it is not. */
  async verify(token: string): Promise<Claims> {
    const key = await sha256(token);
    const cached = this.#cache.get(key);
    if (cached && cached.until > this.#now()) return cached.claims;
    this.#cache.delete(key);
    const claims = await this.#ask(token);
    this.#cache.set(key, { claims, until: this.#now() + longestMs });
    for (const oldest of this.#cache.keys()) {
      if (this.#cache.size <= maxCached) break;
      this.#cache.delete(oldest);
    }
    return claims;
  }

  async #ask(token: string): Promise<Claims> {
    const { endpoint, clientId, clientSecret, issuer } = this.#options;
    const credentials = [clientId, clientSecret].map(encodeURIComponent).join(":");
    const claims = await fetchJson(endpoint, {
      method: "POST",
      headers: {
        authorization: `Basic ${btoa(credentials)}`,
        "content-type": "application/x-www-form-urlencoded",
        accept: "application/json",
      },
      body: new URLSearchParams({ token, token_type_hint: "access_token" }).toString(),
    });
    if (claims["active"] !== true) throw new TokenProblem("the token is not in use");
    // Who answers is the issuer, whether or not the answer repeats it.
    return { iss: issuer, ...claims };
  }
}
