// Defaults and bounds of `portolan/server/tasks`. No other file of it keeps one.
// A name that begins with `default` is the default of the option with the rest of that name.

/** Lifetime of a task. */
export const defaultTtlMs: number = 60 * 60_000;
/** The longest lifetime that a tool or a client may choose. */
export const defaultMaxTtlMs: number = 24 * 60 * 60_000;
/** The pause between two polls that clients are asked for. */
export const defaultPollMs = 1_000;
/** A process that has not renewed its lease for this long has lost its tasks. */
export const defaultLeaseMs = 15_000;
/** Tasks of one caller that have not ended. Each may hold a handler in memory. */
export const defaultPerCallerOpen = 100;
/** Tasks of one caller in the storage, with those that have ended. */
export const defaultPerCallerStored = 1_000;
/** Text of all tasks of one caller in the storage: their arguments, questions and results. */
export const defaultPerCallerChars: number = 16 * 1024 * 1024;
/** Tasks of all callers that one process runs at once. Each holds a handler in memory. */
export const defaultMaxRunning = 10_000;

/** Random bytes of an id. The specification asks for enough not to be guessed; 128 bits are the least. */
export const taskIdBytes = 24;
/** A longer id is no id of ours, and is not looked up. */
export const maxTaskIdCharacters = 100;
/** An ended task is found for this long after its lifetime, so that a slow poll learns how it ended. */
export const retentionMs = 60_000;
/** Status messages are written to the storage at most this often; the last one always is. */
export const statusIntervalMs = 250;
/** Longer status messages are cut. */
export const maxStatusCharacters = 2_000;
/** Questions of one task in its whole life: their keys are kept, because none may return. */
export const maxTaskQuestions = 1_000;
/** Rounds without a question in a row, after which a handler is taken for an endless loop. */
export const maxEmptyRounds = 16;
/** Attempts to change a task while others change it. */
export const maxChangeTries = 100;
/** The stored size of a task is counted in steps of this many characters. */
export const sizeStep: number = 4 * 1024;
/** The first pause before the end of a task is written again that the storage did not take. Each further one is twice as long. */
export const firstRetryMs = 250;
/** The longest of these pauses. */
export const maxRetryMs = 15_000;
/** Tasks on one page of a list. */
export const taskPageSize = 50;
/** Tasks of 2025-11-25 of which one process remembers that their clients were told of open questions. */
export const maxToldTasks = 1_000;
/** Tasks whose changes one stream reports. */
export const maxWatchedTasks = 100;
/** Keys that are read at once when the storage is searched for tasks of dead processes. */
export const sweepPageSize = 200;
/** Tasks that such a search looks at. */
export const maxSweptTasks = 100_000;
/** Longest delay of a timer. */
export const maxTimerMs: number = 2 ** 31 - 1;
