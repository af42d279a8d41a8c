/**
 * Defaults and bounds of `portolan/server` and `portolan/server/stdio`. Those of HTTP stand in `http/limits.ts`.
 * A name that begins with `default` is the default of an option; the others cannot be changed.
 */

/** Features on one page of a list. High, because many clients read the first page only. */
export const defaultPageSize = 1_000;

/** Views whose visible features are cached for one list; more are computed again. */
export const maxCachedViews = 100;

/** Characters of encoded list pages that are cached for one list. */
export const maxCachedPageCharacters: number = 32 * 1024 * 1024;

/** Methods whose middleware is cached. Bounded, because method names come from peers. */
export const maxCachedChains = 1_000;

/** A shorter secret can be guessed. */
export const minSecretCharacters = 32;

/** Problems that a refused tool call lists, so that the model reads a short text. */
export const maxReportedIssues = 10;

/** Longer URIs are refused before templates are matched against them. */
export const maxUriCharacters: number = 8 * 1024;

/** Resources that the `list` functions of templates may return together; all of them are held in memory. */
export const maxListedResources = 100_000;

/** The protocol allows no more values in one completion. */
export const maxCompletionValues = 100;

/** JSON text of the capabilities in a handshake, which a session keeps. */
export const maxCapabilitiesCharacters: number = 16 * 1024;

/** Characters that a session keeps of the name, the title and the version of its client: 2 KB together. */
export const maxClientInfoCharacters = 680;

/** Resources that one listen stream or session may subscribe to. */
export const maxSubscriptions = 1_000;

/** Resources that all listen streams of one channel may subscribe to together. */
export const maxSubscriptionsPerChannel = 10_000;

/** Time in which a question may be answered: long enough for a person who is away from the desk. */
export const defaultQuestionTtlMs: number = 60 * 60_000;

/** Time in which a parked handler waits for an answer. Shorter, because the handler stays in memory. */
export const defaultParkedTtlMs: number = 10 * 60_000;

/** Bytes that are counted for a parked handler besides its request: its stack, closures and timer. */
export const parkedHandlerBytes: number = 64 * 1024;

/** Memory of parked handlers, stored states and open subscriptions of one channel: 1,000 handlers with small requests. */
export const maxKeptBytesPerCaller: number = 64 * 1024 * 1024;

/** Bytes of the same of all channels together. */
export const maxKeptBytes: number = 256 * 1024 * 1024;

/** A longer `requestState` stays in the storage, and the client carries a handle to it. */
export const maxStateCharacters: number = 32 * 1024;

/** Time for which a state stays in the storage after a retry has used it, in case the retry is sent again. */
export const usedStateTtlMs = 60_000;

/** Rounds of `inputRequired` in one call of a stateful client; a handler that asks more often is taken for an endless loop. */
export const maxQuestionRounds = 16;

/** Rounds of questions after which the operator gets a warning: many clients stop at 10. */
export const manyQuestionRounds = 8;

/** Time after which an operation of the storage that has not ended is reported to the operator. */
export const storageNoticeMs = 5_000;

/** Time after which an operation of the storage that has not ended fails, with the requests that wait for it. */
export const storageTimeoutMs = 15_000;

/** Requests of one channel that may be served at once. */
export const defaultMaxInFlight = 10_000;

/** Bytes of the requests that are served at once on one channel, above which a further one is refused. */
export const maxInFlightBytes: number = 64 * 1024 * 1024;

/** Unread messages on one channel above which progress and log messages are dropped. */
export const manyUnreadMessages = 10_000;

/** Unread messages on one channel above which the channel is closed. */
export const maxUnreadMessages = 20_000;

/** Unread bytes on one channel above which progress and log messages are dropped. */
export const manyUnreadBytes: number = 8 * 1024 * 1024;

/** Unread bytes on one channel above which an answer is replaced by an error. One answer of any size is always sent. */
export const maxUnreadBytes: number = 64 * 1024 * 1024;

/** Characters that `serveStdio` collects in one turn before it writes them, so that unread output is noticed. */
export const maxUnwrittenCharacters: number = 1024 * 1024;

/** Time for which closing a channel waits for subscriptions that are still beginning. */
export const subscriptionEndMs = 2_000;

/** Longest line that `serveStdio` reads. */
export { defaultMaxMessageBytes } from "../jsonrpc/limits.ts";

/** Time after the start at which a server loads the parts that no request has needed yet. */
export const preloadMs = 2_000;

/** Time that running calls have after standard input ended. Clients kill the process after two seconds. */
export const defaultStdioGraceMs = 1_500;

/** Time that cancelled calls have to clean up before the process exits. */
export const stdioCleanupMs = 300;

/** Time within which each check of readiness has to end. */
export const healthTimeoutMs = 1_000;

/** Time for which the result of the checks of readiness is used again. */
export const healthCacheMs = 1_000;
