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
