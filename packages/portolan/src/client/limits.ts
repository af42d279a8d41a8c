// Defaults and bounds of `portolan/client` and `portolan/client/stdio`. No other file of theirs keeps one.
// A name that begins with `default` is the default of the option with the rest of that name.

/** Includes the start of a process, which may first download its package. */
export const defaultConnectMs = 60_000;
/** Some older servers ignore the probe: waiting longer delays every connection to them. */
export const defaultProbeMs = 4_000;
/** A minute without progress or answer most likely means that the call hangs. */
export const defaultIdleMs = 60_000;
/** Progress alone must not keep a call alive for ever. */
export const defaultTotalMs: number = 30 * 60_000;
/** Timers are no finer than this, so that many deadlines share few of them. */
export const timerGranularityMs = 10;
/** The longest delay that `setTimeout` accepts; a longer one would fire at once. */
export const longestTimerMs: number = 2 ** 31 - 1;

/** Questions of a stateful server whose call a tap knows, so that it can name the call of their answers, too. */
export const maxTappedQuestions = 1_000;
/** The beginning of input that is no message is enough for a person to recognize it. */
export const maxTappedInvalidChars = 10_000;

/** Larger lists than any server is known to have. */
export const defaultMaxItems = 100_000;
/** A list in pages of ten items still reaches `defaultMaxItems`. */
export const defaultMaxPages = 10_000;
/** Memory of a list in several pages that is read as a whole; a list in one page is a message and has its own bound. */
export const maxListBytes: number = 128 * 1024 * 1024;
/** Output schemas are remembered for as many tools as a list may have. */
export const maxOutputSchemas = 100_000;
/** Memory of all remembered output schemas. */
export const maxOutputSchemaBytes: number = 32 * 1024 * 1024;

/** The lists and resources of dozens of servers. */
export const defaultMaxEntries = 1_000;
/** Text of the whole cache; large resources must not fill the memory. */
export const defaultMaxChars: number = 16 * 1024 * 1024;
/** Results are kept for a day at most, however long the server allows. */
export const maxResultTtlMs: number = 24 * 60 * 60_000;
/** After a week the server is probed again: it may have been upgraded. */
export const eraTtlMs: number = 7 * 24 * 60 * 60_000;

/** Official clients stop after ten rounds of questions. */
export const maxRounds = 16;
/** More questions at once than a person would ever answer. */
export const maxOpenQuestions = 100;
/** Memory of all open questions of a stateful server: a question waits for a person, who may take long. */
export const maxOpenQuestionBytes: number = 16 * 1024 * 1024;
/** Problems of a form answer that one message lists. */
export const maxFormProblems = 10;
/** First pause when a server returns its state without a question, doubled each time. */
export const firstEmptyRoundMs = 100;
export const maxEmptyRoundMs = 5_000;

/** Changed addresses that wait for a reader; more are reported as one change of the list. */
export const maxPendingChanges = 10_000;
/** Pauses between attempts to open a lost subscription again: the first, their growth, and the longest. */
export const firstListenRetryMs = 500;
export const listenRetryGrowth = 1.6;
export const maxListenRetryMs = 30_000;

/** Each step of a shutdown: end of input, SIGTERM, SIGKILL. */
export const defaultGraceMs = 2_000;
/** Answers that a child has not read: it sends requests and ignores their answers. */
export const maxUnreadAnswerBytes: number = 16 * 1024 * 1024;
/** After the first sign that a child has ended, its last output and its exit code arrive within this time. */
export const exitSettleMs = 200;
/** Grandchildren send no event when they end, so the process group is polled. */
export const exitPollMs = 10;
/** The end of standard error is kept in 16 blocks: 256 KB hold any stack trace. */
export const stderrBlockBytes: number = 16 * 1024;
export const maxStderrBlocks = 16;
/** The beginning of standard error is kept too: its first line often names the cause. */
export const stderrHeadBytes: number = 2 * 1024;
/** Longer lines of standard error are cut before `onStderr` receives them. */
export const maxStderrLineChars: number = 8 * 1024;
/** The part of standard error that is searched for the cause of an exit. */
export const maxExitScanChars: number = 16 * 1024;
/** An error further back than this did not end the server. The details of an error, such as its stack, do not count. */
export const maxExitScanLines = 12;
/** Lines and characters of standard error in an error message. */
export const maxExitLines = 5;
export const maxExitChars = 500;
/** Characters of the first line in an error message. */
export const maxExitFirstChars = 200;
/** A command in an error message: its words, characters of each word, and characters of a path. */
export const maxCommandWords = 5;
export const maxCommandWordChars = 80;
export const maxCommandPathChars = 200;
