import { compactVerify, createLocalJWKSet, type JSONWebKeySet, type JWSHeaderParameters } from "jose";
import { PortolanError } from "../../errors.ts";
import { sha256 } from "../../storage/crypto.ts";
import { metadataUrls } from "../well-known.ts";
import { type Claims, InvalidTokenError, signatureAlgorithms } from "./token-checks.ts";

/** An authorization server whose tokens are accepted. */
export interface Issuer {
  /** As its tokens and its metadata name it, to the letter. */
  readonly issuer: string;
  /** Where its keys are; found in its metadata unless given. */
  readonly jwksUri?: string;
  /** Signature algorithms; those of RSA and elliptic curves unless given. */
  readonly algorithms?: readonly string[];
}

const types: readonly unknown[] = [undefined, "at+jwt", "application/at+jwt", "jwt"];
/** How long keys are used without a look, and how often they are looked for because a token names another one. */
const keysMs = 10 * 60_000;
const againMs = 60_000;
const maxKeys = 100;

type Keys = ReturnType<typeof createLocalJWKSet>;

/** The keys of one issuer, read when they are needed and never from where a token says. */
export class JwtVerifier {
  readonly issuer: string;
  readonly #algorithms: string[];
  readonly #jwksUri: string | undefined;
  readonly #now: () => number;
  #keys: Keys | undefined;
  #readAt = Number.NEGATIVE_INFINITY;
  #reading: Promise<Keys> | undefined;

  constructor({ issuer, jwksUri, algorithms = signatureAlgorithms }: Issuer, now: () => number) {
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
    this.#now = now;
  }

  /** The claims of a token that this issuer has signed; throws a InvalidTokenError for every other one. */
  async verify(token: string): Promise<Claims> {
    const getKey = (header: JWSHeaderParameters, input: Parameters<Keys>[1]) => this.#find(header, input);
    const { payload, protectedHeader } = await compactVerify(token, getKey, { algorithms: this.#algorithms }).catch(
      (cause) => {
        if (cause instanceof PortolanError) throw cause;
        throw new InvalidTokenError("the token is not signed by its issuer", { cause });
      },
    );
    if (!types.includes(protectedHeader.typ?.toLowerCase())) throw new InvalidTokenError("this is no access token");
    return readClaims(payload);
  }

  async #find(header: JWSHeaderParameters, input: Parameters<Keys>[1]): ReturnType<Keys> {
    const isOld = this.#now() - this.#readAt >= keysMs;
    const keys = this.#keys && !isOld ? this.#keys : await this.#read();
    try {
      return await keys(header, input);
    } catch (cause) {
      // A key may be new; whoever sends made-up names does not make us ask more often.
      if (this.#now() - this.#readAt < againMs) throw cause;
      return (await this.#read())(header, input);
    }
  }

  #read(): Promise<Keys> {
    this.#reading ??= this.#fetch().finally(() => {
      this.#reading = undefined;
    });
    return this.#reading;
  }

  async #fetch(): Promise<Keys> {
    const jwksUri = this.#jwksUri ?? (await findJwksUri(this.issuer));
    const found = await fetchJson(jwksUri);
    const keys = Array.isArray(found["keys"]) ? found["keys"] : [];
    if (keys.length > maxKeys) {
      throw new PortolanError("answer-invalid", `${jwksUri}: expected at most ${maxKeys} keys, got ${keys.length}`);
    }
    this.#keys = createLocalJWKSet({ keys } as JSONWebKeySet);
    this.#readAt = this.#now();
    return this.#keys;
  }
}

async function findJwksUri(issuer: string): Promise<string> {
  let last: unknown;
  for (const place of metadataUrls(new URL(issuer))) {
    try {
      const metadata = await fetchJson(place);
      if (metadata["issuer"] === issuer && typeof metadata["jwks_uri"] === "string") return metadata["jwks_uri"];
      last = new PortolanError("answer-invalid", `${place}: expected a jwks_uri and the issuer ${issuer}`);
    } catch (cause) {
      last = cause;
    }
  }
  throw new PortolanError("connection-closed", `The keys of ${issuer} cannot be found`, { cause: last });
}

function readClaims(payload: Uint8Array): Claims {
  try {
    const claims: unknown = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(payload));
    if (typeof claims === "object" && claims !== null && !Array.isArray(claims)) return claims as Claims;
  } catch {}
  throw new InvalidTokenError("the token has no claims");
}

/** How an issuer is asked about tokens that say nothing themselves (RFC 7662). */
export interface Introspection {
  readonly issuer: string;
  readonly endpoint: string;
  readonly clientId: string;
  readonly clientSecret: string;
}

const longestMs = 60_000;
const maxCached = 10_000;

interface CachedClaims {
  readonly claims: Claims;
  readonly until: number;
}

/** What an issuer says about tokens, remembered for a minute at most. */
export class IntrospectionVerifier {
  readonly issuer: string;
  readonly #options: Introspection;
  readonly #now: () => number;
  /** By the digest of the token: the oldest first. */
  readonly #cache = new Map<string, CachedClaims>();

  constructor(options: Introspection, now: () => number) {
    this.issuer = options.issuer;
    this.#options = options;
    this.#now = now;
  }

  /** The claims of a token that is in use; throws a InvalidTokenError when it is not. */
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
    if (claims["active"] !== true) throw new InvalidTokenError("the token is not in use");
    // Who answers is the issuer, whether or not the answer repeats it.
    return { iss: issuer, ...claims };
  }
}

const maxBytes = 256 * 1024;
const patienceMs = 5_000;

/** Fetches a JSON object from an address that the operator has configured, or that such a one names. */
export async function fetchJson(url: string, init: RequestInit = {}): Promise<{ readonly [member: string]: unknown }> {
  const where = `${init.method ?? "GET"} ${url}`;
  const response = await fetch(url, { redirect: "error", signal: AbortSignal.timeout(patienceMs), ...init }).catch(
    (cause) => {
      throw new PortolanError("connection-closed", `${where} failed: ${(cause as Error).message}`, { cause });
    },
  );
  const text = await readSome(response, where);
  if (!response.ok) throw new PortolanError("http-status", `${where} answered ${response.status}`);
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null && !Array.isArray(value)) {
      return value as { readonly [member: string]: unknown };
    }
  } catch {}
  throw new PortolanError("answer-invalid", `${where}: expected a JSON object, got something else`);
}

async function readSome(response: Response, where: string): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length;
    if (bytes > maxBytes) throw new PortolanError("message-too-large", `${where}: expected at most ${maxBytes} bytes`);
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}
