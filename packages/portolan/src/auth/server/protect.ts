import { nameOf, PortolanError } from "../../errors.ts";
import { checkOptions, type OptionNames } from "../../options.ts";
import { createMemoryStorage } from "../../storage/memory.ts";
import type { Storage } from "../../storage/storage.ts";
import { ReportThrottle } from "../../throttle.ts";
import { resourceMetadataPath } from "../well-known.ts";
import { type Introspection, IntrospectionVerifier, type Issuer, JwtVerifier } from "./issuers.ts";
import { maxChallengeValueChars, maxTokenChars, retryAfterSeconds } from "./limits.ts";
import {
  type Claims,
  checkClaims,
  checkProof,
  InvalidTokenError,
  scopesIn,
  signatureAlgorithms,
} from "./token-checks.ts";

/** The parts of a request that authorization depends on. */
export interface GuardedRequest {
  readonly method: string;
  /** Without the query. */
  readonly path: string;
  /** Returns a header by its name in lower case. */
  header(name: string): string | undefined;
}

/** The action that a caller requests: a method, and the name of the tool, prompt or resource if it has one. */
export interface RequestedAction {
  readonly method: string;
  readonly name: string | undefined;
}

/** The caller that a valid token identifies. */
export interface TokenHolder {
  readonly key: string;
  readonly issuer: string;
  readonly subject?: string;
  readonly clientId?: string;
  readonly scopes: readonly string[];
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
  /** All claims, but never the token itself: calls on behalf of its holder need another token. */
  readonly claims: Claims;
}

/** A refused request: its status, the reason, and headers that tell the caller what is required. */
export interface Rejection {
  readonly status: 401 | 403 | 503;
  readonly why: string;
  readonly headers: { readonly [name: string]: string };
}

/** Options of `protect`. */
export interface ProtectOptions {
  /** The URL of the endpoint as its clients know it; tokens must be issued for it. */
  readonly resource: string;
  /** Accepted authorization servers. A string is an issuer identifier; its keys are found by its metadata. */
  readonly issuers: readonly (string | Issuer | Introspection)[];
  /** Scopes that every request needs. */
  readonly scopes?: readonly string[];
  /** Additional scopes that one action needs. */
  readonly scopesFor?: (asked: RequestedAction) => readonly string[];
  /** Scopes that include others: `{ admin: ["read", "write"] }`. */
  readonly includes?: { readonly [scope: string]: readonly string[] };
  /** Further audiences that tokens for this server may name. */
  readonly audiences?: readonly string[];
  /** Refuses tokens that are not bound to a key (DPoP). Bound tokens are checked in any case. Default: false. */
  readonly requireDpop?: boolean;
  /** Remembers used DPoP proofs, for all processes that share it. Default: memory of this process. */
  readonly storage?: Storage;
  /** More members of the resource metadata: `resource_name`, `resource_documentation`… */
  readonly about?: { readonly [member: string]: unknown };
  /**
   * Receives failures of an issuer; the caller gets status 503, unless tokens can still be verified with known keys
   * (`remainingMs`). The first failure of an issuer is reported at once, and those that follow once a minute, with their
   * number. Default: prints one line to standard error.
   */
  readonly onError?: (error: unknown, about: IssuerFailure) => void;
  /** Milliseconds since 1970. Default: `Date.now`; the ages of cached keys and results are measured by a monotonic clock. */
  readonly now?: () => number;
}

/** An issuer that could not be asked, or a storage of DPoP proofs that failed. */
export interface IssuerFailure {
  /** The issuer that could not be asked. Absent if the storage of DPoP proofs failed. */
  readonly issuer?: string;
  /** How long tokens are still verified with the known keys of the issuer. Absent if they cannot be verified now. */
  readonly remainingMs?: number;
  /** Failures since the last report. */
  readonly count: number;
}

/** Verifies tokens and scopes, for `auth` of `serveHttp`. */
export interface TokenAccessControl {
  verify(request: GuardedRequest): Promise<TokenHolder | Rejection>;
  permit(holder: { readonly scopes?: readonly string[] }, asked: readonly RequestedAction[]): Rejection | undefined;
  /** The documents to serve, by path: the metadata of the protected resource. */
  readonly documents: ReadonlyMap<string, string>;
}

const optionNames: OptionNames<ProtectOptions> = {
  ...{ resource: 1, issuers: 1, scopes: 1, scopesFor: 1, includes: 1, audiences: 1, requireDpop: 1, storage: 1 },
  ...{ about: 1, onError: 1, now: 1 },
};

/** Protects a server by OAuth 2.1: it accepts tokens of these issuers for this resource with these scopes. */
export function protect(options: ProtectOptions): TokenAccessControl {
  if (typeof options !== "object" || options === null) {
    throw new PortolanError("invalid-argument", `protect: expected { resource, issuers }, got ${nameOf(options)}`);
  }
  checkOptions(options, optionNames, "protect", { synonyms: { issuer: "issuers" } });
  const resource = toResource(options.resource);
  const { issuers, scopes = [], scopesFor, includes = {}, requireDpop = false, now = Date.now } = options;
  if (!Array.isArray(issuers) || issuers.length === 0) {
    const got = issuers?.length === 0 ? "none" : nameOf(issuers);
    throw new PortolanError("invalid-argument", `protect: issuers: expected at least one in a list, got ${got}`);
  }
  // Proofs contain the time of day, so they are remembered by it.
  const { storage = createMemoryStorage({ now }), onError = printFailure } = options;
  const audiences = [options.resource, ...(options.audiences ?? [])];
  // Ages are measured by a clock that is never set back.
  const monotonic = options.now ?? (() => performance.now());
  const known = issuers.map((issuer) => toVerifier(issuer, monotonic, (problem) => report(problem)));
  const metadataUrl = `${resource.origin}${resourceMetadataPath}${resource.pathname === "/" ? "" : resource.pathname}`;

  const failures = new ReportThrottle<IssuerProblem>(({ cause, issuer, remainingMs }, count) => {
    const about = {
      ...(issuer !== undefined && { issuer }),
      ...(remainingMs !== undefined && { remainingMs }),
      count,
    };
    try {
      onError(cause, about);
    } catch (failure) {
      printFailure(cause, about);
      console.error(failure);
    }
  });
  const report = (problem: IssuerProblem) =>
    failures.add(`${problem.issuer ?? ""}${problem.remainingMs === undefined ? "" : " with known keys"}`, problem);

  const reject = (status: 401 | 403, why: string, error?: ChallengeError, wanted = scopes): Rejection => {
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
    if (candidates.length === 0) throw new InvalidTokenError("the token is from an issuer that is not accepted here");
    let problem: unknown;
    for (const { issuer, source } of candidates) {
      try {
        const claims = await source.verify(token);
        checkClaims(claims, { issuer, audiences, now: now() });
        return claims;
      } catch (cause) {
        // An issuer that cannot be asked might have accepted the token, so its failure matters more than a refusal.
        if (cause instanceof InvalidTokenError) problem ??= cause;
        else problem = new IssuerProblem(issuer, cause);
      }
    }
    throw problem;
  }

  return {
    documents: new Map([[new URL(metadataUrl).pathname, JSON.stringify(toMetadata(options, known, requireDpop))]]),

    async verify(request) {
      const presented = readToken(request.header("authorization"));
      if (!presented) return reject(401, "Authorization: expected an access token");
      const { token, scheme } = presented;
      try {
        const claims = await identify(token);
        const isBound = (claims["cnf"] as { jkt?: unknown } | undefined)?.jkt !== undefined;
        if (scheme === "bearer" && (isBound || requireDpop)) {
          throw new InvalidTokenError("the token must be sent with a DPoP proof");
        }
        if (scheme === "dpop") {
          const url = new URL(request.path, resource).href;
          await checkProof(request.header("dpop"), { method: request.method, url, token, claims }, storage, now());
        }
        return toHolder(claims);
      } catch (cause) {
        if (cause instanceof InvalidTokenError) return reject(401, cause.message, "invalid_token");
        report(cause instanceof IssuerProblem ? cause : new IssuerProblem(undefined, cause));
        return {
          status: 503,
          why: "The token cannot be verified now",
          headers: { "retry-after": String(retryAfterSeconds) },
        };
      }
    },

    permit(holder, asked) {
      const needed = [...new Set([...scopes, ...asked.flatMap((one) => scopesFor?.(one) ?? [])])];
      if (needed.every((scope) => holds(holder.scopes, scope))) return undefined;
      const why = `Required scope${needed.length === 1 ? "" : "s"}: ${needed.join(" ")}`;
      return reject(403, why, "insufficient_scope", needed);
    },
  };
}

/** A failure of an issuer, while a token was verified or its keys were fetched again. */
class IssuerProblem {
  /** Absent if the storage of DPoP proofs failed. */
  readonly issuer: string | undefined;
  readonly cause: unknown;
  /** How long tokens are still verified with the known keys. */
  readonly remainingMs: number | undefined;

  constructor(issuer: string | undefined, cause: unknown, remainingMs?: number) {
    this.issuer = issuer;
    this.cause = cause;
    this.remainingMs = remainingMs;
  }
}

function printFailure(error: unknown, about: IssuerFailure): void {
  const { issuer = "the storage of DPoP proofs", count, remainingMs } = about;
  const reasons: string[] = [];
  for (let cause: unknown = error; cause !== undefined && reasons.length < 5; cause = (cause as Error | null)?.cause) {
    const { message = String(cause) } = (cause ?? {}) as Partial<Error>;
    if (!reasons.some((reason) => reason.includes(message))) reasons.push(message);
  }
  const times =
    count === 1 ? "" : ` (${count} ${remainingMs === undefined ? "requests" : "times"} since the last report)`;
  const what =
    remainingMs === undefined
      ? `tokens cannot be verified because ${issuer} fails`
      : `the keys of ${issuer} cannot be fetched, and tokens are verified with the known ones for ${Math.ceil(remainingMs / 60_000)} min more`;
  const line = `portolan: ${what}: ${reasons.join(": ")}${times}`;
  // A line break or control character of an answer must not look like another line.
  console.error(line.replace(/\p{C}/gu, " "));
}

interface TokenVerifier {
  readonly issuer: string;
  readonly isOpaque: boolean;
  readonly source: { verify(token: string): Promise<Claims> };
}

function toVerifier(
  issuer: string | Issuer | Introspection,
  now: () => number,
  report: (problem: IssuerProblem) => void,
): TokenVerifier {
  const options = typeof issuer === "string" ? { issuer } : issuer;
  if (!URL.canParse(options.issuer)) {
    throw new PortolanError("invalid-argument", `issuers: expected a URL, got ${nameOf(options.issuer)}`);
  }
  const onUnreachable = (cause: unknown, remainingMs: number) =>
    report(new IssuerProblem(options.issuer, cause, remainingMs));
  return "endpoint" in options
    ? { issuer: options.issuer, isOpaque: true, source: new IntrospectionVerifier(options, now) }
    : { issuer: options.issuer, isOpaque: false, source: new JwtVerifier(options, { now, onUnreachable }) };
}

function toResource(resource: string): URL {
  const url = URL.canParse(resource) ? new URL(resource) : undefined;
  const isWeb = url?.protocol === "https:" || url?.protocol === "http:";
  if (url && isWeb && url.hash === "" && url.username === "" && url.password === "") return url;
  throw new PortolanError(
    "invalid-argument",
    `resource: expected the http(s) URL of the endpoint, without a fragment, got ${nameOf(resource)}`,
  );
}

function readToken(header: string | undefined): { scheme: "bearer" | "dpop"; token: string } | undefined {
  const match = /^(bearer|dpop) +([A-Za-z0-9._~+/-]+=*)$/i.exec(header?.trim() ?? "");
  const [, scheme = "", token = ""] = match ?? [];
  if (token === "" || token.length > maxTokenChars) return undefined;
  return { scheme: scheme.toLowerCase() as "bearer" | "dpop", token };
}

/** Reads the issuer of a JWT before it is verified; it only selects the keys to verify with. */
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

/** Error codes of a challenge (RFC 6750, RFC 9449). */
export type ChallengeError = "invalid_token" | "insufficient_scope" | "invalid_dpop_proof" | "use_dpop_nonce";

export interface ChallengeOptions {
  readonly scheme: "Bearer" | "DPoP";
  readonly metadataUrl: string;
  readonly scopes?: readonly string[];
  readonly error?: ChallengeError;
  readonly why?: string;
  /** Signature algorithms of proofs, for the scheme DPoP. */
  readonly algorithms?: readonly string[];
}

/** Builds a `WWW-Authenticate` header. Characters that could end a quoted string or the header are replaced. */
export function toChallenge(options: ChallengeOptions): string {
  const { scheme, metadataUrl, scopes = [], error, why, algorithms } = options;
  const parameters: [name: string, value: string | undefined][] = [
    ["error", error],
    ["error_description", why],
    ["scope", scopes.length > 0 ? scopes.join(" ") : undefined],
    ["resource_metadata", metadataUrl],
    ["algs", scheme === "DPoP" ? algorithms?.join(" ") : undefined],
  ];
  const given = parameters.flatMap(([name, value]) => (value === undefined ? [] : [`${name}="${toQuotable(value)}"`]));
  return `${scheme} ${given.join(", ")}`;
}

function toQuotable(value: string): string {
  return value.replace(/[^ !#-[\]-~]/g, " ").slice(0, maxChallengeValueChars);
}
