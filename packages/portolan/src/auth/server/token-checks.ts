import { calculateJwkThumbprint, compactVerify, EmbeddedJWK, type JWK } from "jose";
import { sha256 } from "../../storage/crypto.ts";
import type { Storage } from "../../storage/storage.ts";
import { expiryLeewayMs, maxProofChars, notBeforeLeewayMs, proofWindowMs } from "./limits.ts";

/** Asymmetric algorithms only: with a symmetric one, everyone who can verify a token could also issue one. */
export const signatureAlgorithms: readonly string[] = [
  ...["RS256", "RS384", "RS512", "PS256", "PS384", "PS512"],
  ...["ES256", "ES384", "ES512", "EdDSA", "Ed25519"],
];

/** The reason why a token is refused. The caller sees its message. */
export class InvalidTokenError extends Error {
  override readonly name = "InvalidTokenError";
}

/** The claims of an access token, unchecked. */
export type Claims = { readonly [claim: string]: unknown };

export interface ExpectedClaims {
  readonly issuer: string;
  readonly audiences: readonly string[];
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/** Throws unless the token is from this issuer, for one of these audiences, and valid now. */
export function checkClaims(claims: Claims, { issuer, audiences, now }: ExpectedClaims): void {
  if (claims["iss"] !== issuer) throw new InvalidTokenError("the token is from another issuer");
  const audience = claims["aud"];
  const named = Array.isArray(audience) ? audience : [audience];
  if (!named.some((one) => audiences.includes(one as string))) {
    throw new InvalidTokenError("the token is for another audience");
  }
  const expiry = timeIn(claims, "exp");
  if (expiry === undefined) throw new InvalidTokenError("the token does not say when it expires");
  if (expiry + expiryLeewayMs <= now) throw new InvalidTokenError("the token has expired");
  for (const claim of ["nbf", "iat"]) {
    const beginning = timeIn(claims, claim);
    if (beginning !== undefined && beginning - notBeforeLeewayMs > now) {
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

/** Returns the scopes of a token, from whichever claim its issuer uses. */
export function scopesIn(claims: Claims): string[] {
  const { scope, scp } = claims as { scope?: unknown; scp?: unknown };
  const found = scope ?? scp;
  if (typeof found === "string") return found.split(" ").filter((one) => one !== "");
  return Array.isArray(found) ? found.filter((one): one is string => typeof one === "string") : [];
}

/** The request and token that a proof must be for. */
export interface ProofContext {
  readonly method: string;
  readonly url: string;
  readonly token: string;
  readonly claims: Claims;
}

/** Throws unless an unused proof shows that the sender of this request holds the key of its token (RFC 9449). */
export async function checkProof(
  proof: string | undefined,
  { method, url, token, claims }: ProofContext,
  storage: Storage,
  now: number,
): Promise<void> {
  if (proof === undefined) throw new InvalidTokenError("DPoP: expected a proof in this header");
  if (proof.length > maxProofChars) throw new InvalidTokenError("DPoP: the proof is too long");
  const { payload, protectedHeader } = await compactVerify(proof, EmbeddedJWK, {
    algorithms: [...signatureAlgorithms],
  }).catch((cause) => {
    throw new InvalidTokenError("DPoP: expected one proof that is signed by its own key", { cause });
  });
  if (protectedHeader.typ !== "dpop+jwt") throw new InvalidTokenError("DPoP: expected typ dpop+jwt");
  const proven = JSON.parse(new TextDecoder().decode(payload)) as Claims;
  if (proven["htm"] !== method) throw new InvalidTokenError("DPoP: the proof is for another method");
  if (withoutQuery(proven["htu"]) !== withoutQuery(url))
    throw new InvalidTokenError("DPoP: the proof is for another URL");
  const iat = Number(proven["iat"]) * 1_000;
  if (!(Math.abs(now - iat) <= proofWindowMs))
    throw new InvalidTokenError("DPoP: the proof is too old or from the future");
  if (proven["ath"] !== (await sha256(token))) throw new InvalidTokenError("DPoP: the proof is for another token");
  const key = await calculateJwkThumbprint(protectedHeader.jwk as JWK);
  const { jkt } = (claims["cnf"] ?? {}) as { jkt?: unknown };
  if (jkt !== key) throw new InvalidTokenError("DPoP: the token is bound to another key");
  const jti = proven["jti"];
  if (typeof jti !== "string" || jti === "") throw new InvalidTokenError("DPoP: the proof has no jti");
  const used = `mcp/dpop/${key}/${await sha256(jti)}`;
  const isFirst = await storage.kv.set(used, "", { ttlMs: 2 * proofWindowMs, expect: null });
  if (!isFirst) throw new InvalidTokenError("DPoP: the proof was used before");
}

function withoutQuery(address: unknown): string | undefined {
  if (typeof address !== "string" || !URL.canParse(address)) return undefined;
  const { origin, pathname } = new URL(address);
  return origin + pathname;
}
