/** What is wrong with a token, in words that a caller may hear. */
export class TokenProblem extends Error {
  override readonly name = "TokenProblem";
}

/** The claims of an access token, as they came. */
export type Claims = { readonly [claim: string]: unknown };

export interface Expected {
  readonly issuer: string;
  readonly audiences: readonly string[];
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/** How far the clocks of an issuer and a server may differ about a beginning, and about an end. */
const beginningLeewayMs = 60_000;
const endLeewayMs = 5_000;

/** Throws unless the claims are of a token that this issuer made for this audience and that is good now. */
export function checkClaims(claims: Claims, { issuer, audiences, now }: Expected): void {
  if (claims["iss"] !== issuer) throw new TokenProblem("the token is of another issuer");
  const audience = claims["aud"];
  const named = Array.isArray(audience) ? audience : [audience];
  if (!named.some((one) => audiences.includes(one as string))) {
    throw new TokenProblem("the token was made for another audience");
  }
  const expiry = timeIn(claims, "exp");
  if (expiry === undefined) throw new TokenProblem("the token does not say when it expires");
  if (expiry + endLeewayMs <= now) throw new TokenProblem("the token has expired");
  for (const claim of ["nbf", "iat"]) {
    const beginning = timeIn(claims, claim);
    if (beginning !== undefined && beginning - beginningLeewayMs > now) {
      throw new TokenProblem("the token is not valid yet");
    }
  }
}

function timeIn(claims: Claims, name: string): number | undefined {
  const value = claims[name];
  if (value === undefined) return undefined;
  if (typeof value !== "number" || !Number.isFinite(value)) throw new TokenProblem(`${name}: expected a number`);
  return value * 1_000;
}

/** The scopes of a token, however its issuer writes them. */
export function scopesIn(claims: Claims): string[] {
  const { scope, scp } = claims as { scope?: unknown; scp?: unknown };
  const found = scope ?? scp;
  if (typeof found === "string") return found.split(" ").filter((one) => one !== "");
  return Array.isArray(found) ? found.filter((one): one is string => typeof one === "string") : [];
}
