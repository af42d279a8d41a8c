/** Default limits and times of `portolan/auth/server`. */

/** A longer access token is refused unread. */
export const maxTokenChars: number = 16 * 1024;
/** A longer DPoP proof is refused unread. */
export const maxProofChars: number = 8 * 1024;
/** Characters of one value in a `WWW-Authenticate` header. */
export const maxChallengeValueChars: number = 1_000;

/** How far the clock of an issuer may be ahead of ours when a token begins to be valid. */
export const notBeforeLeewayMs: number = 60_000;
/** How long an expired token is still accepted: it may have expired on its way. */
export const expiryLeewayMs: number = 5_000;
/** How old a DPoP proof may be, and how far in the future by another clock. */
export const proofWindowMs: number = 5 * 60_000;

/** How long the keys of an issuer are used before they are fetched again. */
export const keysMaxAgeMs: number = 10 * 60_000;
/**
 * How long the keys of an issuer are used while it cannot be reached: a short outage locks nobody out, and a key that the
 * issuer has removed is refused at the latest then.
 */
export const keysUnreachableMs: number = 60 * 60_000;
/** The shortest time between two fetches of the keys because a token names an unknown one. */
export const keysMinAgeMs: number = 60_000;
/** How long a failure to fetch the keys is remembered, so that each request does not wait for it again. */
export const keysRetryMs: number = 5_000;
/** Keys that one issuer may have. */
export const maxIssuerKeys: number = 100;
/** How long the result of an introspection is cached: a revoked token is accepted at most this long. */
export const introspectionCacheMs: number = 60_000;
/** Introspection results in memory. */
export const maxCachedIntrospections: number = 10_000;

/** The largest document that is fetched from an issuer. */
export const maxDocumentBytes: number = 256 * 1024;
/** How long an issuer may take to answer. */
export const issuerTimeoutMs: number = 5_000;
/** When a caller should try again, if its token could not be verified. */
export const retryAfterSeconds: number = 5;
