import { nameOf, PortolanError } from "../../errors.ts";
import { createMemoryStorage } from "../../storage/memory.ts";
import type { Storage } from "../../storage/storage.ts";
import { type Introspection, IntrospectionVerifier, type Issuer, JwtVerifier } from "./issuers.ts";
import {
  type Claims,
  checkClaims,
  checkProof,
  InvalidTokenError,
  scopesIn,
  signatureAlgorithms,
} from "./token-checks.ts";

const maxToken = 16 * 1024;
const metadataPath = "/.well-known/oauth-protected-resource";

/** A request as far as authorization depends on it. */
export interface GuardedRequest {
  readonly method: string;
  /** Without the query. */
  readonly path: string;
  /** A header by its name in small letters. */
  header(name: string): string | undefined;
}

/** What a caller asks for: a method, and the name of the tool, prompt or resource where it has one. */
export interface RequestedAction {
  readonly method: string;
  readonly name: string | undefined;
}

/** Who holds a token. */
export interface TokenHolder {
  readonly key: string;
  readonly issuer: string;
  readonly subject?: string;
  readonly clientId?: string;
  readonly scopes: readonly string[];
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
  /** All that the token says, though never the token: what is called on behalf of its holder needs another one. */
  readonly claims: Claims;
}

/** Sends a caller away, and says how it may come back. */
export interface Rejection {
  readonly status: 401 | 403 | 503;
  readonly why: string;
  readonly headers: { readonly [name: string]: string };
}

export interface ProtectOptions {
  /** The address of the endpoint as its clients know it; a token must be made for it. */
  readonly resource: string;
  /** Who may have made a token: authorization servers by their identifier, with their keys found in their metadata. */
  readonly issuers: readonly (string | Issuer | Introspection)[];
  /** Scopes without which nothing is served. */
  readonly scopes?: readonly string[];
  /** Scopes that one thing needs besides. */
  readonly scopesFor?: (asked: RequestedAction) => readonly string[];
  /** Scopes that hold others: `{ admin: ["read", "write"] }`. */
  readonly includes?: { readonly [scope: string]: readonly string[] };
  /** Other audiences that tokens for this server may name. */
  readonly audiences?: readonly string[];
  /** Whether tokens must be bound to a key of their holder; those that are bound are always checked. */
  readonly requireDpop?: boolean;
  /** Remembers proofs that were used, for all processes that share it; in memory unless given. */
  readonly storage?: Storage;
  /** What people are told about the server: `resource_name`, `resource_documentation` and the like. */
  readonly about?: { readonly [member: string]: unknown };
  /** Tells of what went wrong at an issuer; callers only hear to come back later. */
  readonly onError?: (error: unknown) => void;
  readonly now?: () => number;
}

/** Lets in who has a token for this server, for `auth` of `serveHttp`. */
export interface AccessControl {
  verify(request: GuardedRequest): Promise<TokenHolder | Rejection>;
  permit(holder: { readonly scopes?: readonly string[] }, asked: readonly RequestedAction[]): Rejection | undefined;
  /** The metadata of the protected resource, by its path. */
  readonly documents: ReadonlyMap<string, string>;
}

/** Protects a server by OAuth 2.1: tokens of these issuers, for this resource, with these scopes, and no others. */
export function protect(options: ProtectOptions): AccessControl {
  const resource = toResource(options.resource);
  const { issuers, scopes = [], scopesFor, includes = {}, requireDpop = false, now = Date.now } = options;
  if (issuers.length === 0) throw new PortolanError("invalid-argument", "issuers: expected at least one, got none");
  const { storage = createMemoryStorage({ now }), onError = console.error } = options;
  const audiences = [options.resource, ...(options.audiences ?? [])];
  const known = issuers.map((issuer) => toVerifier(issuer, now));
  const metadataUrl = `${resource.origin}${metadataPath}${resource.pathname === "/" ? "" : resource.pathname}`;

  const sendAway = (status: 401 | 403, why: string, error?: ChallengeError, wanted = scopes): Rejection => {
    const told = error === undefined ? {} : { error, why };
    const schemes = requireDpop ? (["DPoP"] as const) : (["Bearer", "DPoP"] as const);
    const challenge = schemes.map((scheme) =>
      toChallenge({ scheme, metadataUrl, scopes: wanted, algorithms: signatureAlgorithms, ...told }),
    );
    return { status, why, headers: { "www-authenticate": challenge.join(", ") } };
  };

  const holds = (held: readonly string[] | undefined, scope: string): boolean =>
    held?.some((one) => one === scope || includes[one]?.includes(scope)) === true;

  async function identify(token: string): Promise<Claims> {
    const named = issuerNamedIn(token);
    const candidates = known.filter(({ issuer, isOpaque }) => (named === undefined ? isOpaque : issuer === named));
    if (candidates.length === 0) throw new InvalidTokenError("the token is of an issuer that is not accepted here");
    let problem: unknown;
    for (const { issuer, source } of candidates) {
      try {
        const claims = await source.verify(token);
        checkClaims(claims, { issuer, audiences, now: now() });
        return claims;
      } catch (cause) {
        problem = cause;
      }
    }
    throw problem;
  }

  return {
    documents: new Map([[new URL(metadataUrl).pathname, JSON.stringify(toMetadata(options, known, requireDpop))]]),

    async verify(request) {
      const presented = readToken(request.header("authorization"));
      if (!presented) return sendAway(401, "Authorization: expected an access token");
      const { token, scheme } = presented;
      try {
        const claims = await identify(token);
        const isBound = (claims["cnf"] as { jkt?: unknown } | undefined)?.jkt !== undefined;
        if (scheme === "bearer" && (isBound || requireDpop)) {
          throw new InvalidTokenError("the token must be presented with a proof (DPoP)");
        }
        if (scheme === "dpop") {
          const url = new URL(request.path, resource).href;
          await checkProof(request.header("dpop"), { method: request.method, url, token, claims }, storage, now());
        }
        return toHolder(claims);
      } catch (cause) {
        if (cause instanceof InvalidTokenError) return sendAway(401, cause.message, "invalid_token");
        onError(cause);
        return { status: 503, why: "The token cannot be checked now", headers: { "retry-after": "5" } };
      }
    },

    permit(holder, asked) {
      const needed = [...new Set([...scopes, ...asked.flatMap((one) => scopesFor?.(one) ?? [])])];
      if (needed.every((scope) => holds(holder.scopes, scope))) return undefined;
      const why = `This needs the scope${needed.length === 1 ? "" : "s"} ${needed.join(" ")}`;
      return sendAway(403, why, "insufficient_scope", needed);
    },
  };
}

interface TokenVerifier {
  readonly issuer: string;
  readonly isOpaque: boolean;
  readonly source: { verify(token: string): Promise<Claims> };
}

function toVerifier(issuer: string | Issuer | Introspection, now: () => number): TokenVerifier {
  const options = typeof issuer === "string" ? { issuer } : issuer;
  if (!URL.canParse(options.issuer)) {
    throw new PortolanError("invalid-argument", `issuers: expected an address, got ${nameOf(options.issuer)}`);
  }
  return "endpoint" in options
    ? { issuer: options.issuer, isOpaque: true, source: new IntrospectionVerifier(options, now) }
    : { issuer: options.issuer, isOpaque: false, source: new JwtVerifier(options, now) };
}

function toResource(resource: string): URL {
  const url = URL.canParse(resource) ? new URL(resource) : undefined;
  const isWeb = url?.protocol === "https:" || url?.protocol === "http:";
  if (url && isWeb && url.hash === "" && url.username === "" && url.password === "") return url;
  throw new PortolanError(
    "invalid-argument",
    `resource: expected the http(s) address of the endpoint, without a fragment, got ${nameOf(resource)}`,
  );
}

function readToken(header: string | undefined): { scheme: "bearer" | "dpop"; token: string } | undefined {
  const match = /^(bearer|dpop) +([A-Za-z0-9._~+/-]+=*)$/i.exec(header?.trim() ?? "");
  const [, scheme = "", token = ""] = match ?? [];
  if (token === "" || token.length > maxToken) return undefined;
  return { scheme: scheme.toLowerCase() as "bearer" | "dpop", token };
}

/** What a JWT says of its issuer before anything is believed: it only chooses whose keys are tried. */
function issuerNamedIn(token: string): string | undefined {
  const parts = token.split(".");
  if (parts.length !== 3) return undefined;
  try {
    const text = atob((parts[1] ?? "").replaceAll("-", "+").replaceAll("_", "/"));
    const { iss } = JSON.parse(text) as { iss?: unknown };
    return typeof iss === "string" ? iss : undefined;
  } catch {
    return undefined;
  }
}

function toHolder(claims: Claims): TokenHolder {
  const { iss, sub, client_id: clientId = claims["azp"], exp } = claims;
  return {
    key: JSON.stringify([iss, sub ?? null, clientId ?? null]),
    issuer: String(iss),
    ...(typeof sub === "string" && { subject: sub }),
    ...(typeof clientId === "string" && { clientId }),
    scopes: scopesIn(claims),
    expiresAt: Number(exp) * 1_000,
    claims,
  };
}

function toMetadata(options: ProtectOptions, known: readonly TokenVerifier[], requireDpop: boolean): object {
  return {
    ...options.about,
    resource: options.resource,
    authorization_servers: [...new Set(known.map(({ issuer }) => issuer))],
    ...(options.scopes && { scopes_supported: options.scopes }),
    bearer_methods_supported: ["header"],
    dpop_signing_alg_values_supported: signatureAlgorithms,
    ...(requireDpop && { dpop_bound_access_tokens_required: true }),
  };
}

/** Why a caller is sent away, as RFC 6750 names it. */
export type ChallengeError = "invalid_token" | "insufficient_scope" | "invalid_dpop_proof" | "use_dpop_nonce";

export interface ChallengeOptions {
  readonly scheme: "Bearer" | "DPoP";
  readonly metadataUrl: string;
  readonly scopes?: readonly string[];
  readonly error?: ChallengeError;
  readonly why?: string;
  /** Signature algorithms of proofs, for the scheme that has them. */
  readonly algorithms?: readonly string[];
}

/** The value of a `WWW-Authenticate` header; nothing in it can end a quoted string or the header. */
export function toChallenge(options: ChallengeOptions): string {
  const { scheme, metadataUrl, scopes = [], error, why, algorithms } = options;
  const parameters: [name: string, value: string | undefined][] = [
    ["error", error],
    ["error_description", why],
    ["scope", scopes.length > 0 ? scopes.join(" ") : undefined],
    ["resource_metadata", metadataUrl],
    ["algs", scheme === "DPoP" ? algorithms?.join(" ") : undefined],
  ];
  const given = parameters.flatMap(([name, value]) => (value === undefined ? [] : [`${name}="${quotable(value)}"`]));
  return `${scheme} ${given.join(", ")}`;
}

function quotable(value: string): string {
  return value.replace(/[^ !#-[\]-~]/g, " ").slice(0, 1_000);
}
