import { compactVerify, createLocalJWKSet, type JSONWebKeySet, type JWSHeaderParameters } from "jose";
import { PortolanError } from "../../errors.ts";
import { sha256 } from "../../storage/crypto.ts";
import { metadataUrls } from "../well-known.ts";
import {
  introspectionCacheMs,
  issuerTimeoutMs,
  keysMaxAgeMs,
  keysMinAgeMs,
  keysRetryMs,
  keysUnreachableMs,
  maxCachedIntrospections,
  maxDocumentBytes,
  maxIssuerKeys,
} from "./limits.ts";
import { type Claims, InvalidTokenError, signatureAlgorithms } from "./token-checks.ts";

/** An authorization server whose tokens (JWTs) are accepted. */
export interface Issuer {
  /** The identifier, exactly as its tokens and its metadata contain it. */
  readonly issuer: string;
  /** The URL of its keys. Default: the one in its metadata. */
  readonly jwksUri?: string;
  /** Signature algorithms. Default: all of RSA and elliptic curves. */
  readonly algorithms?: readonly string[];
}

const tokenTypes: readonly unknown[] = [undefined, "at+jwt", "application/at+jwt", "jwt"];

type KeySet = ReturnType<typeof createLocalJWKSet>;

/** The parts of `protect` that a `JwtVerifier` needs. */
export interface JwtVerifierParts {
  /** A clock for the age of keys, in milliseconds. */
  now(): number;
  /** Called if the issuer cannot be reached while tokens are still verified with its known keys, for `remainingMs` more. */
  onUnreachable(cause: unknown, remainingMs: number): void;
}

/** Verifies the tokens of one issuer with its keys, which are never fetched from a URL in a token. */
export class JwtVerifier {
  readonly issuer: string;
  readonly #algorithms: string[];
  readonly #jwksUri: string | undefined;
  readonly #now: () => number;
  readonly #onUnreachable: JwtVerifierParts["onUnreachable"];
  #keys: KeySet | undefined;
  #readAt = Number.NEGATIVE_INFINITY;
  #reading: Promise<KeySet> | undefined;
  #failure: { readonly cause: unknown; readonly at: number } | undefined;

  constructor({ issuer, jwksUri, algorithms = signatureAlgorithms }: Issuer, parts: JwtVerifierParts) {
    const wrong = algorithms.find((algorithm) => !signatureAlgorithms.includes(algorithm));
    if (wrong !== undefined) {
      throw new PortolanError(
        "invalid-argument",
        `algorithms: expected one of ${signatureAlgorithms.join(", ")}, got ${wrong}`,
      );
    }
    this.issuer = issuer;
    this.#algorithms = [...algorithms];
    this.#jwksUri = jwksUri;
    this.#now = parts.now;
    this.#onUnreachable = parts.onUnreachable;
  }

  /** Returns the claims of a token that this issuer has signed. Throws an `InvalidTokenError` otherwise. */
  async verify(token: string): Promise<Claims> {
    const getKey = (header: JWSHeaderParameters, input: Parameters<KeySet>[1]) => this.#find(header, input);
    const { payload, protectedHeader } = await compactVerify(token, getKey, { algorithms: this.#algorithms }).catch(
      (cause) => {
        if (cause instanceof PortolanError) throw cause;
        throw new InvalidTokenError("the token is not signed by its issuer", { cause });
      },
    );
    if (!tokenTypes.includes(protectedHeader.typ?.toLowerCase()))
      throw new InvalidTokenError("this is not an access token");
    return readClaims(payload);
  }

  async #find(header: JWSHeaderParameters, input: Parameters<KeySet>[1]): ReturnType<KeySet> {
    const ageMs = this.#now() - this.#readAt;
    const isUsable = ageMs < keysUnreachableMs;
    if (isUsable && ageMs >= keysMaxAgeMs) this.#refresh(keysUnreachableMs - ageMs);
    const keys = this.#keys && isUsable ? this.#keys : await this.#read();
    try {
      return await keys(header, input);
    } catch (cause) {
      // The key may be new. The time limit keeps made-up key ids from causing more requests.
      if (this.#now() - this.#readAt < keysMinAgeMs) throw cause;
      return (await this.#read())(header, input);
    }
  }

  /** Fetches the keys while requests are verified with the known ones. */
  #refresh(remainingMs: number): void {
    if (this.#reading || this.#hasJustFailed()) return;
    this.#read().catch((cause) => this.#onUnreachable(cause, Math.round(remainingMs)));
  }

  #hasJustFailed(): boolean {
    return this.#failure !== undefined && this.#now() - this.#failure.at < keysRetryMs;
  }

  async #read(): Promise<KeySet> {
    // After a failure, the request that asks again waits for the answer. All others fail at once, in case the issuer hangs.
    if (this.#failure && (this.#reading || this.#hasJustFailed())) throw this.#failure.cause;
    this.#reading ??= this.#fetch()
      .then((keys) => {
        this.#failure = undefined;
        return keys;
      })
      .catch((cause) => {
        this.#failure = { cause, at: this.#now() };
        throw cause;
      })
      .finally(() => {
        this.#reading = undefined;
      });
    return this.#reading;
  }

  async #fetch(): Promise<KeySet> {
    const jwksUri = this.#jwksUri ?? (await findJwksUri(this.issuer));
    const found = await fetchJson(jwksUri);
    const keys = Array.isArray(found["keys"]) ? found["keys"] : [];
    if (keys.length > maxIssuerKeys) {
      throw new PortolanError(
        "answer-invalid",
        `${jwksUri}: expected at most ${maxIssuerKeys} keys, got ${keys.length}`,
      );
    }
    this.#keys = createLocalJWKSet({ keys } as JSONWebKeySet);
    this.#readAt = this.#now();
    return this.#keys;
  }
}

async function findJwksUri(issuer: string): Promise<string> {
  let last: unknown;
  for (const url of metadataUrls(new URL(issuer))) {
    try {
      const metadata = await fetchJson(url);
      if (metadata["issuer"] === issuer && typeof metadata["jwks_uri"] === "string") return metadata["jwks_uri"];
      last = new PortolanError("answer-invalid", `${url}: expected a jwks_uri and the issuer ${issuer}`);
    } catch (cause) {
      last = cause;
    }
  }
  throw new PortolanError("connection-closed", `The keys of ${issuer} could not be loaded`, { cause: last });
}

function readClaims(payload: Uint8Array): Claims {
  try {
    const claims: unknown = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(payload));
    if (typeof claims === "object" && claims !== null && !Array.isArray(claims)) return claims as Claims;
  } catch {}
  throw new InvalidTokenError("the token has no claims");
}

/** An authorization server with opaque tokens, and its introspection endpoint (RFC 7662). */
export interface Introspection {
  readonly issuer: string;
  readonly endpoint: string;
  readonly clientId: string;
  readonly clientSecret: string;
}

interface CachedClaims {
  readonly claims: Claims;
  readonly until: number;
}

/** Verifies opaque tokens by introspection. Results are cached for a minute at most. */
export class IntrospectionVerifier {
  readonly issuer: string;
  readonly #options: Introspection;
  readonly #now: () => number;
  /** By the digest of the token, oldest first. */
  readonly #cache = new Map<string, CachedClaims>();

  constructor(options: Introspection, now: () => number) {
    this.issuer = options.issuer;
    this.#options = options;
    this.#now = now;
  }

  /** Returns the claims of an active token. Throws an `InvalidTokenError` otherwise. */
  async verify(token: string): Promise<Claims> {
    const key = await sha256(token);
    const cached = this.#cache.get(key);
    if (cached && cached.until > this.#now()) return cached.claims;
    this.#cache.delete(key);
    const claims = await this.#ask(token);
    this.#cache.set(key, { claims, until: this.#now() + introspectionCacheMs });
    for (const oldest of this.#cache.keys()) {
      if (this.#cache.size <= maxCachedIntrospections) break;
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
    if (claims["active"] !== true) throw new InvalidTokenError("the token is not active");
    // The endpoint belongs to the issuer, so the response need not repeat it.
    return { iss: issuer, ...claims };
  }
}

/** Fetches a JSON object from a URL that the operator has configured, or that such a document names. */
export async function fetchJson(url: string, init: RequestInit = {}): Promise<{ readonly [member: string]: unknown }> {
  const where = `${init.method ?? "GET"} ${url}`;
  const response = await fetch(url, { redirect: "error", signal: AbortSignal.timeout(issuerTimeoutMs), ...init }).catch(
    (cause) => {
      throw new PortolanError("connection-closed", `${where} failed: ${(cause as Error).message}`, { cause });
    },
  );
  const text = await readLimited(response, where);
  if (!response.ok) throw new PortolanError("http-status", `${where} answered ${response.status}`);
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null && !Array.isArray(value)) {
      return value as { readonly [member: string]: unknown };
    }
  } catch {}
  throw new PortolanError("answer-invalid", `${where}: expected a JSON object, got something else`);
}

async function readLimited(response: Response, where: string): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length;
    if (bytes > maxDocumentBytes)
      throw new PortolanError("message-too-large", `${where}: expected at most ${maxDocumentBytes} bytes`);
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}
