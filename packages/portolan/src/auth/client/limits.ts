/** Default limits and times of `portolan/auth/client`. */

/** How long a person may take to sign in: a password manager and a second factor need minutes. */
export const defaultLoginMs: number = 10 * 60_000;
/** An access token whose lifetime the authorization server does not state is taken to live this long. */
export const defaultTokenLifeMs: number = 60 * 60_000;
/** A token is renewed this long before it expires, so that it does not expire on its way to the server. */
export const renewBeforeExpiryMs: number = 30_000;
/** Pause after a failed renewal, so that each request does not ask a broken authorization server again. */
export const renewalPauseMs: number = 10_000;
/** Accounts kept in memory. Beyond it the least recently used one is read from the store again. */
export const maxAccounts: number = 1_000;

/** Retries of one request because the server asks for a new DPoP nonce. */
export const maxNonceRetries: number = 2;
/** Retries of one request with a token that another request or process has got meanwhile. */
export const maxNewerTokenRetries: number = 2;
/** Logins for more scopes that one request may cause. */
export const maxStepUps: number = 3;

/** Characters of a `WWW-Authenticate` header that are read; the rest is ignored. */
export const maxChallengeChars: number = 16 * 1024;
/** Schemes of a `WWW-Authenticate` header that are read; the rest is ignored. */
export const maxChallengeSchemes: number = 16;
/** A longer DPoP nonce is ignored: it would be sent back with each request. */
export const maxNonceChars: number = 1_024;
/** Characters of another party's text that an error message shows. */
export const maxShownChars: number = 200;

/** How long a lease in a shared storage holds: others wait at most this long for a process that died. */
export const leaseMs: number = 30_000;
/** How often the holder renews its lease; three attempts fit into one lease. */
export const leaseRenewalMs: number = 10_000;
/** How long exclusive work waits for another holder. */
export const defaultPatienceMs: number = 60_000;
/** Added to the time for a login where a process waits for another one that may be signing in. */
export const patienceAfterLoginMs: number = 60_000;
/** The first and the longest pause between two attempts to take a lease; the pause doubles each time. */
export const shortestPauseMs: number = 25;
export const longestPauseMs: number = 1_000;

/** A browser command that has not failed by then has opened the page; some run as long as the browser does. */
export const browserStartMs: number = 3_000;
/** Attempts to find a port that is free on all loopback addresses. */
export const maxPortAttempts: number = 10;
/** Questions that `paste` asks before it fails. */
export const maxPasteQuestions: number = 3;
/** The largest credential file that is read. */
export const maxCredentialFileBytes: number = 16 * 1024 * 1024;
/** A temporary file of the store that is older was left behind by a process that died. */
export const staleTemporaryFileMs: number = 60_000;
/** The longest delay that `setTimeout` accepts; a longer one would fire at once. */
export const longestTimerMs: number = 2 ** 31 - 1;

/** Characters of a request or a response that `onStep` gets. The rest is left out. */
export const maxStepChars = 16_384;
