/** Default limits, lifetimes and timeouts of the authority. */
import type { RateLimit } from "./rate-limit.ts";

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
export const dayMs: number = 24 * hourMs;
export const daySeconds: number = 24 * 3_600;

/** Lifetime of an access token: a JWT cannot be revoked, so it is short. */
export const defaultAccessTokenSeconds: number = 600;
/** Lifetime of an unused refresh token. */
export const defaultRefreshTokenSeconds: number = 30 * daySeconds;
/** Lifetime of an authorization code: the client redeems it at once. */
export const codeSeconds: number = 60;
/** How long a person may take for the sign-in and consent pages. */
export const interactionSeconds: number = 1_800;
/** Lifetime of an ID token; only the client itself reads it. */
export const idTokenSeconds: number = 600;
/** A dynamically registered client that is never used is deleted after this time. */
export const unusedClientMs: number = 24 * hourMs;
/** A client in use is kept at least this long after its last token. */
export const usedClientMs: number = 90 * dayMs;
/** Signing keys and generated secrets outlive everything they sign. */
export const keyLifetimeMs: number = 10 * 365 * dayMs;

/** Signing keys that are published at once: the newest one, and older ones whose tokens may still be in use. */
export const maxSigningKeys: number = 10;
/** Attempts to change the signing keys that other processes change at the same time. */
export const maxKeyAttempts: number = 20;

/** How long the response to a refresh is repeated for the same token: clients retry, and tabs refresh in parallel. */
export const refreshRepeatMs: number = 10_000;
/** How long a second use of a code or refresh token waits for the first one. */
export const refreshWaitMs: number = 5_000;
/** A code or refresh token whose use failed, or has no response after this time, may be used again. */
export const redemptionMs: number = 5_000;
/** When a client should try again with a code, which expires soon, or with a token that another request uses. */
export const redemptionRetrySeconds: number = 5;
/** How long a response is stored after it was sent: a slow request that used the same token sends it, too. */
export const keptResponseMs: number = 60_000;
/** Attempts to note that a response is sent, while other requests with the same token do so. */
export const maxDeliveryAttempts: number = 5;

/** Dynamic registrations per network and hour. */
export const defaultRegistrationsPerHour: number = 20;
/** Authorization requests per network: each one is stored until it expires. */
export const authorizationLimit: RateLimit = { max: 600, windowMs: 10 * minuteMs };
/** KiB of authorization requests per network. */
export const authorizationSizeLimit: RateLimit = { max: 1_024, windowMs: 10 * minuteMs };
/** How often one kind of failure is written to the console, and one kind of event about something unknown is passed on. */
export const reportIntervalMs: number = minuteMs;
/** Kinds of failures that are told apart within that time. */
export const maxReportKinds: number = 1_000;
/** When a client should try again, if the storage fails or the secret of a row is missing. */
export const retryAfterSeconds: number = 60;
/** Client metadata documents fetched per network. */
export const documentLimit: RateLimit = { max: 60, windowMs: minuteMs };
/** Failed passwords: for one name from one network, from one network, and for one name. */
export const passwordLimits: readonly (readonly ["both" | "address" | "name", RateLimit])[] = [
  ["both", { max: 10, windowMs: 15 * minuteMs }],
  ["address", { max: 60, windowMs: 15 * minuteMs }],
  ["name", { max: 100, windowMs: hourMs }],
];
/** Attempts to write a row that other processes write at the same time. */
export const maxWriteAttempts: number = 50;

/** The largest form. */
export const maxFormBytes: number = 16 * 1024;
/** The largest registration request. */
export const maxRegistrationBytes: number = 16 * 1024;
/** The largest client metadata document that is fetched; the provider accepts a quarter of it. */
export const maxDocumentBytes: number = 64 * 1024;
/** The largest client metadata document that is accepted. */
export const maxClientMetadataBytes: number = 16 * 1024;
/** The largest key set of a client. */
export const maxClientKeysBytes: number = 64 * 1024;
/** Characters of a client's name. */
export const maxClientNameChars: number = 200;
/** Redirect URIs of a client. */
export const maxRedirectUris: number = 20;
/** Characters of a redirect URI. */
export const maxRedirectUriChars: number = 2_000;
/** A longer password is refused without hashing it. */
export const maxPasswordChars: number = 1_024;

/** A lock expires after this time, so that a process that died blocks others no longer. */
export const lockMs: number = 30_000;
/** How often a taken lock is tried again, if its release was not announced. */
export const lockRetryMs: number = 500;

/** How long the upstream provider may take to answer. */
export const upstreamTimeoutMs: number = 10_000;
/** How long the metadata of the upstream provider is used. */
export const upstreamMetadataMs: number = hourMs;
/** How long a person may take to sign in at the upstream provider. */
export const upstreamLoginMs: number = 15 * minuteMs;
/** How long a check of an upstream token is trusted: a session that ended there ends here at most this much later. */
export const maxUpstreamCheckSeconds: number = 60;
/** An upstream token is renewed this long before it expires. */
export const renewUpstreamBeforeExpiryMs: number = 30_000;
/** Renewed upstream tokens that are kept in memory because the storage failed. Beyond it, the oldest login is lost. */
export const maxUnsavedRenewals: number = 1_000;

/** How long a person's account at a service stays connected, counted from the sign-in there or its last renewal. */
export const connectedMs: number = 90 * dayMs;
/** How often a call that waits for an account looks for it, if it was not announced. */
export const connectedRetryMs: number = 5_000;
