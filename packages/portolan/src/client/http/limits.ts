// Defaults and bounds of `portolan/client/http`. No other file of it keeps one.
// A name that begins with `default` is the default of the option with the rest of that name.

/** A tool may return files inside its result. */
export const defaultMaxResponseBytes: number = 64 * 1024 * 1024;
/** Three times the pause between keep-alives that servers are advised to make. */
export const defaultIdleStreamMs = 45_000;

/** Methods whose headers are remembered; a server has a few dozen. */
export const maxKnownMethods = 100;
/** Tools with header parameters; more than any list has. A forgotten one is learned again when the server misses a header. */
export const maxHeaderPlans = 10_000;
/** Pages of tools that are read to find the headers a call needs. */
export const maxHeaderPages = 100;

/** More redirects than this are a loop or a misconfiguration. */
export const maxRedirects = 2;
/** Permanent redirects that are remembered while a link is open. */
export const maxMovedAddresses = 10;
/** More than any authorization needs: a nonce, a token, and scopes one after the other. */
export const maxChallenges = 8;
/** The part of a 401 or 403 that is read. */
export const maxChallengeChars = 65_536;
/** Characters of a body in an error message. */
export const maxExcerptChars = 200;
/** The longest `Retry-After` that is obeyed. */
export const maxRetryAfterMs: number = 5 * 60_000;

/** A stream may stay open this long after its response, because the server normally ends it. */
export const lingerMs = 5_000;
/** Attempts in a row to resume the stream of one response, or to post the answer to a question. */
export const maxResumeFailures = 8;
/** Pauses between attempts to reach a server: the first, the shortest, their growth, and the longest. */
export const firstRetryMs = 1_000;
export const minRetryMs = 500;
export const retryGrowth = 1.6;
export const maxRetryMs = 60_000;
/** A stream that was open this long did not fail, even if no event came. */
export const stableStreamMs = 10_000;
/** Some servers open the session's stream only with its first message, so requests wait for it no longer than this. */
export const openStreamMs = 500;
/** The server may take this long to delete a session at close. */
export const deleteSessionMs = 2_000;
/** Answers that the server has not accepted: it sends requests without end. Questions alone are at most 100. */
export const maxOpenAnswers = 256;
/** JSON text of these answers. */
export const maxOpenAnswerChars: number = 16 * 1024 * 1024;
/** HTTP+SSE: time to open another stream and to answer the handshake on it. */
export const reconnectMs = 30_000;

/** Idle connections of Node are closed after this time, or a second before the server said it would close them. */
export const idleConnectionMs = 30_000;
/** TCP keep-alive detects a peer that vanished. */
export const tcpKeepAliveMs = 15_000;
/** The longest delay that a timer of Node accepts. */
export const maxTimerMs: number = 2 ** 31 - 1;
