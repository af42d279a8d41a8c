/**
 * Defaults and bounds of `portolan/server/http`. A name that begins with `default` is the default of an option; the others
 * cannot be changed.
 */

/** Size of a request body. */
export const defaultBodyBytes: number = 4 * 1024 * 1024;

/** Time in which a request body has to arrive, unless it arrives faster than `minBodyBytesPerSecond`. */
export const defaultBodyMs = 30_000;

/** A body that arrives at this rate is not too slow, however long it takes. */
export const minBodyBytesPerSecond: number = 64 * 1024;

/** Interval at which bodies that are still arriving are checked for their rate. */
export const bodyCheckMs = 1_000;

/** Unread body that a refused request may have without losing its connection. */
export const maxUnreadBodyBytes: number = 64 * 1024;

/**
 * Bytes that are read and dropped after an early answer. High, because many clients send their whole body before they read
 * the answer, and would see a reset connection instead of it.
 */
export const lingerBytes: number = 64 * 1024 * 1024;

/** Silence after which such a connection is closed. */
export const lingerMs = 1_000;

/** Time for which bytes are read and dropped after an early answer. */
export const maxLingerMs = 10_000;

/** Time in which the headers of a request have to arrive. */
export const defaultHeadersMs = 10_000;

/** Interval at which node checks its connections for timeouts. */
export const connectionCheckMs = 5_000;

/** Time for which an idle connection stays open. Above the 60 s of common load balancers, so that they close it first. */
export const idleConnectionMs = 65_000;

/** Connections that the system may queue before they are accepted. */
export const acceptQueueLength = 4_096;

/** Media types that are read from one Accept header. */
export const maxAcceptedTypes = 100;

/** Time for which a browser may cache the answer to a preflight request. Browsers cap it at two hours. */
export const preflightMaxAgeSeconds = 7_200;

/** Size of a server card. */
export const maxCardBytes: number = 64 * 1024;

/** Time for which metadata documents and server cards may be cached. */
export const documentMaxAgeSeconds = 3_600;

/** Open event streams of one endpoint. */
export const defaultMaxStreams = 5_000;

/** Open event streams of one caller. */
export const defaultMaxStreamsPerCaller = 100;

/** Resources that all callers of one endpoint may be subscribed to. */
export const defaultSubscriptions = 100_000;

/** Resources that one caller may be subscribed to in all its sessions and streams. */
export const defaultSubscriptionsPerCaller = 10_000;

/** Requests in flight of one endpoint. Listen streams count as streams. */
export const defaultMaxCalls = 10_000;

/** Requests in flight of one caller. */
export const defaultMaxCallsPerCaller = 256;

/** Tool calls, reads and lists of resources, prompts, and requests of extensions of one caller within one minute. */
export const defaultCallsPerMinute = 6_000;

/** Completion requests of one caller within one minute. */
export const defaultCompletionsPerMinute = 6_000;

/**
 * Size of all request bodies of one caller within one minute. Parsing a body that was made for it takes 200 ms for each
 * MiB, so that one caller can use a fifth of one core at most.
 */
export const defaultBodyBytesPerMinute: number = 64 * 1024 * 1024;

/** Time that a MiB of a request may take. A request above 64 KiB that takes longer counts as one of as many MiB. */
export const msPerMebibyte = 200;

/** A request that keeps the process busy for so long is reported, with its caller. */
export const busyReportMs = 1_000;

/** Bytes that an endpoint keeps for its callers: sessions, events, arriving bodies, large requests in flight, unread answers. */
export const defaultKeptBytes: number = 256 * 1024 * 1024;

/** Bytes that are kept for one caller. */
export const defaultKeptBytesPerCaller: number = 64 * 1024 * 1024;

/** Share of the kept bytes that stored events may take. They only serve clients that lost their connection. */
export const eventShare = 0.25;

/** Requests that are served, answers, and unread parts of streams up to this size are not counted as kept bytes. */
export const uncountedBytes: number = 64 * 1024;

/** Bytes that a stored session, event or subscription takes beside its text. */
export const entryOverheadBytes = 256;

/**
 * Bytes that the stored events of one stream take beside the events. Redis reserves 4 KiB for the first entry of a log; its
 * key, the lease of the stream and the list of its requests take the rest.
 */
export const streamOverheadBytes: number = 5 * 1024;

/**
 * Streams whose events are being stored. Each has at most four commands under way, so that one caller, which need not wait
 * until its events are stored, leaves most of the 10,000 commands of a Redis storage to others.
 */
export const maxStoringStreams = 1_500;

/** Streams of one caller whose events are being stored. */
export const maxStoringStreamsPerCaller = 500;

/** Leases of streams that are renewed at the same time. */
export const leaseRenewals = 64;

/** Characters that a client may leave unread before its stream is closed. */
export const defaultBacklogCharacters: number = 8 * 1024 * 1024;

/** Share of the backlog above which only the latest progress is sent. High, because one turn may write a megabyte. */
export const slowShare = 0.5;

/** Share of the backlog above which log messages are dropped. */
export const verySlowShare = 0.75;

/** Time in which a client has to read something of the rest of an ended stream. Its connection is closed after it. */
export const unreadEndMs = 60_000;

/** Silence after which a comment keeps a stream alive. Below the 30 s after which some proxies close it. */
export const defaultKeepAliveMs = 15_000;

/** Silence after which the answer to a call becomes a stream, so that it can be kept alive. */
export const defaultQuietMs = 5_000;

/** Time after which a client reconnects to a resumable stream. */
export const reconnectMs = 1_000;

/** Time after which a client may retry when its standalone stream is in use, or while the server closes. */
export const retryAfterSeconds = 5;

/** Callers that `usage` lists. */
export const maxListedCallers = 100;

/** Characters of the reason in the report of a refused request. */
export const maxReasonCharacters = 500;

/** Callers whose reasons are told apart within one minute. */
export const maxCallersWithReasons = 1_000;

/** Reasons for which requests of one caller are refused that are told apart within one minute. */
export const maxReasonsPerCaller = 8;

/** Requests that are named in the report of those that were cut off when the server closed. */
export const maxNamedLostCalls = 5;

/** Requests in progress that `usage` lists. */
export const maxListedCalls = 100;

/** Time for which closing waits for running calls. */
export const defaultCloseGraceMs = 10_000;

/** Time that clients have to take the last answers after all calls have ended. Then their connections are closed. */
export const closeFlushMs = 1_000;

/** Time for which an unused session is kept. */
export const defaultSessionIdleMs: number = 30 * 60_000;

/** Time for which the calls of a session go on while nothing of the session is connected. */
export const defaultAbandonMs: number = 5 * 60_000;

/** Sessions that this process keeps in its cache and lets begin. */
export const defaultMaxSessions = 10_000;

/** Sessions that one caller may have at once. */
export const defaultMaxSessionsPerCaller = 100;

/** Sessions that may begin within one minute. */
export const defaultSessionsPerMinute = 6_000;

/** Sessions that one caller may begin within one minute. */
export const defaultSessionsPerMinutePerCaller = 120;

/** Time between two searches for sessions that have expired or were abandoned. */
export const sessionSweepMs = 15_000;

/** Age at which a cached session is read from the storage again and its expiry there is renewed. */
export const maxSessionCacheAgeMs = 60_000;

/** Time between two moves of a used session to the end of the cache. A move on every request would cost too much. */
export const sessionReorderMs = 1_000;

/** Random bytes of a session id: more than can be guessed. */
export const sessionIdBytes = 24;

/** Lifetime of the claim on the stream of an anonymous session, in keep-alive intervals: it survives one that is late. */
export const streamClaimIntervals = 1.5;

/** Time for which a standalone stream outlives its connection, so that the client misses nothing. */
export const standaloneGraceMs = 60_000;

/** Time that a process has to hand the stream of a session over to another one, or to confirm a subscription. */
export const handoverMs = 2_000;

/** Attempts to take the stream of a session over while the storage fails, and the pause between them. */
export const maxTakeTries = 10;
export const takeRetryMs = 500;

/** Time after its confirmation in which a subscription is stored again if a storage that has failed over lost it. */
export const recentSubscriptionMs = 60_000;

/** Subscriptions that a process can store again. Of too many the oldest are left out. */
export const maxRecentSubscriptions = 10_000;

/** Characters of the subscriptions that a process can store again. */
export const maxRecentCharacters: number = 4 * 1024 * 1024;

/** Time for which a question to the client of a session may be answered. */
export const sessionQuestionTtlMs: number = 60 * 60_000;

/** Time for which an answer that reached another process waits for the process that asked. */
export const sessionAnswerTtlMs = 60_000;

/** Events of one stream that are kept for resumption. */
export const maxKeptEvents = 1_000;

/** Time for which the events of a running answer are kept. */
export const eventTtlMs: number = 5 * 60_000;

/** Time for which the events of a finished answer are kept. */
export const finishedEventTtlMs = 60_000;

/** Time for which a standalone stream that lost events refuses positions from before the loss. */
export const restartMarkMs: number = 60 * 60_000;

/** A stream whose lease is not renewed for this long has lost its process. */
export const defaultLeaseMs = 10_000;

/** Publications of the last minute that a stream does not send again: its own, and as many of the process before. */
export const maxKnownPublications: number = 2 * maxKeptEvents;

/** Publications that a client has heard without their being stored, and that the ids of its events name. */
export const maxUnstoredNames = 64;

/** Longer event ids are not ours. */
export const maxEventIdCharacters = 1_000;

/** A process that has not renewed its record in the storage for this many times `leaseMs` is taken for dead. */
export const processLeases = 3;

/** Time for which the mark of the data in the storage outlives the last process that renewed it. */
export const dataMarkMs: number = 60 * 60_000;

/** Time for which a starting process waits for the records of the others. */
export const compareSecretsMs = 2_000;

/** Pause before something that failed because of the storage is tried again. Each further pause is twice as long. */
export const firstRetryMs = 100;

/** Longest of these pauses. */
export const maxRetryMs = 10_000;

/** Time for which the stream of a process that died counts for its caller in the other processes. */
export const sharedStreamMs = 30_000;

/** A session counts for its caller in other processes for this many times its idle time, so that few requests renew it. */
export const sharedSessionShare = 1.25;

/** Difference between the clocks of two processes that the counts in all processes allow for. */
export const clockSkewMs = 10_000;

/** Time after which a request goes on although the storage has not counted it for its caller in all processes. */
export const sharedUseMs = 2_000;

/** Attempts to change a stored value while other processes change it too. */
export const maxChangeTries = 20;

/** Ended streams and sessions that a process remembers until the storage has taken them out. The oldest are left to expire. */
export const maxUnwrittenReleases = 10_000;

/** Processes with the same storage that a starting one compares itself with. */
export const maxKnownProcesses = 1_000;
