import { calculateJwkThumbprint, compactVerify, EmbeddedJWK, type JWK } from "jose";
import { sha256 } from "../../storage/crypto.ts";
import type { Storage } from "../../storage/storage.ts";

/** Asymmetric ones only: with others whoever can check a token could make one. */
export const signatureAlgorithms: readonly string[] = [
  ...["RS256", "RS384", "RS512", "PS256", "PS384", "PS512"],
  ...["ES256", "ES384", "ES512", "EdDSA", "Ed25519"],
];

/** What is wrong with a token, in words that a caller may hear. */
export class InvalidTokenError extends Error {
  override readonly name = "InvalidTokenError";
}

/** The claims of an access token, as they came. */
export type Claims = { readonly [claim: string]: unknown };

export interface ExpectedClaims {
  readonly issuer: string;
  readonly audiences: readonly string[];
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/** How far the clocks of an issuer and a server may differ about a beginning, and about an end. */
const beginningLeewayMs = 60_000;
const endLeewayMs = 5_000;

/** Throws unless the claims are of a token that this issuer made for this audience and that is good now. */
export function checkClaims(claims: Claims, { issuer, audiences, now }: ExpectedClaims): void {
  if (claims["iss"] !== issuer) throw new InvalidTokenError("the token is of another issuer");
  const audience = claims["aud"];
  const named = Array.isArray(audience) ? audience : [audience];
  if (!named.some((one) => audiences.includes(one as string))) {
    throw new InvalidTokenError("the token was made for another audience");
  }
  const expiry = timeIn(claims, "exp");
  if (expiry === undefined) throw new InvalidTokenError("the token does not say when it expires");
  if (expiry + endLeewayMs <= now) throw new InvalidTokenError("the token has expired");
  for (const claim of ["nbf", "iat"]) {
    const beginning = timeIn(claims, claim);
    if (beginning !== undefined && beginning - beginningLeewayMs > now) {
      throw new InvalidTokenError("the token is not valid yet");
    }
  }
}

function timeIn(claims: Claims, name: string): number | undefined {
  const value = claims[name];
  if (value === undefined) return undefined;
  if (typeof value !== "number" || !Number.isFinite(value)) throw new InvalidTokenError(`${name}: expected a number`);
  return value * 1_000;
}

/** The scopes of a token, however its issuer writes them. */
export function scopesIn(claims: Claims): string[] {
  const { scope, scp } = claims as { scope?: unknown; scp?: unknown };
  const found = scope ?? scp;
  if (typeof found === "string") return found.split(" ").filter((one) => one !== "");
  return Array.isArray(found) ? found.filter((one): one is string => typeof one === "string") : [];
}

/** How old a proof may be, and how far in the future by another clock. */
const windowMs = 5 * 60_000;
const maxProof = 8 * 1024;

/** A request that a proof is for. */
export interface ProofContext {
  readonly method: string;
  readonly url: string;
  readonly token: string;
  readonly claims: Claims;
}

/** Throws unless a proof shows, for the first time, that the sender of this request holds the key of its token (RFC 9449). */
export async function checkProof(
  proof: string | undefined,
  { method, url, token, claims }: ProofContext,
  storage: Storage,
  now: number,
): Promise<void> {
  if (proof === undefined) throw new InvalidTokenError("DPoP: expected a proof in this header");
  if (proof.length > maxProof) throw new InvalidTokenError("DPoP: the proof is too long");
  const { payload, protectedHeader } = await compactVerify(proof, EmbeddedJWK, {
    algorithms: [...signatureAlgorithms],
  }).catch((cause) => {
    throw new InvalidTokenError("DPoP: expected one proof with a signature of its own key", { cause });
  });
  if (protectedHeader.typ !== "dpop+jwt") throw new InvalidTokenError("DPoP: expected typ dpop+jwt");
  const said = JSON.parse(new TextDecoder().decode(payload)) as Claims;
  if (said["htm"] !== method) throw new InvalidTokenError("DPoP: the proof is for another method");
  if (withoutQuery(said["htu"]) !== withoutQuery(url))
    throw new InvalidTokenError("DPoP: the proof is for another address");
  const iat = Number(said["iat"]) * 1_000;
  if (!(Math.abs(now - iat) <= windowMs)) throw new InvalidTokenError("DPoP: the proof is not of now");
  if (said["ath"] !== (await sha256(token))) throw new InvalidTokenError("DPoP: the proof is for another token");
  const key = await calculateJwkThumbprint(protectedHeader.jwk as JWK);
  const { jkt } = (claims["cnf"] ?? {}) as { jkt?: unknown };
  if (jkt !== key) throw new InvalidTokenError("DPoP: the token belongs to another key");
  const jti = said["jti"];
  if (typeof jti !== "string" || jti === "") throw new InvalidTokenError("DPoP: the proof has no jti");
  const used = `mcp/dpop/${key}/${await sha256(jti)}`;
  const isFirst = await storage.kv.set(used, "", { ttlMs: 2 * windowMs, expect: null });
  if (!isFirst) throw new InvalidTokenError("DPoP: the proof was used before");
}

function withoutQuery(address: unknown): string | undefined {
  if (typeof address !== "string" || !URL.canParse(address)) return undefined;
  const { origin, pathname } = new URL(address);
  return origin + pathname;
}
