// Defaults and bounds of `portolan/client/tasks`. No other file of it keeps one.

/** The pause between two polls if the server names none. */
export const pollMs = 1_000;
/** The server's own pause is kept between these two: a poll in a loop harms the server, a poll a day the user. */
export const minPollMs = 250;
export const maxPollMs = 60_000;
/** Each pause is up to this much longer, so that the polls of many clients spread. */
export const pollJitter = 0.1;
/** The least pause while a stream reports the changes: the poll only finds what the stream has missed. */
export const listeningPollMs = 30_000;
/** Open streams of one client. Each holds a connection over HTTP; further tasks are polled. */
export const maxTaskStreams = 8;
/** A task without a lifetime counts as lost after this long without news. */
export const maxSilenceMs: number = 60 * 60_000;
/** Errors of the server in a row, such as "internal error", after which the task fails. */
export const maxServerErrors = 5;

/** A longer id of a task is invalid: it is stored, and sent with each poll. */
export const maxTaskIdChars = 1_024;
/** Longer status messages are cut. */
export const maxStatusChars = 2_000;
/** A longer text for the model is cut. */
export const maxImmediateChars = 20_000;
/** Questions of one task in its whole life, and their size: each key is remembered, so that nobody is asked twice. */
export const maxTaskQuestions = 1_000;
export const maxTaskQuestionBytes: number = 4 * 1024 * 1024;
/** Tools whose support of tasks is remembered. */
export const maxTaskTools = 100_000;
/** Tasks and pages of one list, from the server or from the store. */
export const maxListedTasks = 10_000;
export const maxTaskPages = 1_000;
