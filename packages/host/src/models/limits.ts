// Every default limit and timeout of models. An option of the same meaning overrides a default where its comment names
// one.

// Requests to a provider

/** Attempts after the first one, as long as no part of the turn has arrived. Option: `retries`. */
export const defaultRetries = 3;
/** The pause before the first retry; it doubles with each one. */
export const firstRetryDelayMs = 500;
/** A provider that asks for a longer pause has failed. Option: `maxDelayMs`. */
export const maxRetryDelayMs = 60_000;
/** A longer Retry-After is read as this. */
export const maxRetryAfterMs: number = 24 * 60 * 60_000;
/** Reasoning models can be silent for minutes. Option: `idleMs`. */
export const maxSilenceMs = 240_000;
/** One turn. Option: `totalMs`. */
export const maxTurnMs: number = 30 * 60_000;
/** After the stop reason the adapter waits this long for usage and the end marker. */
export const endGraceMs = 2_000;
/** A response that ends within this time leaves its connection usable for the next turn. */
export const drainMs = 200;
/** More than this after the end of a turn is not read. */
export const maxDrainChars: number = 64 * 1024;

// Responses of a provider (option: `limits`). No honest turn reaches them.

/** One event of the stream. Option: `limits.eventChars`. */
export const maxEventChars: number = 4 * 1024 * 1024;
/** Text and thinking of one turn. Option: `limits.textChars`. */
export const maxTextChars: number = 8 * 1024 * 1024;
/** Tool calls of one turn. Option: `limits.toolCalls`. */
export const maxToolCalls = 128;
/** The arguments of one tool call. Option: `limits.argumentChars`. */
export const maxArgumentChars: number = 2 * 1024 * 1024;
/** The whole response. Option: `limits.totalChars`. */
export const maxResponseChars: number = 64 * 1024 * 1024;
/** The name of a tool. */
export const maxToolNameChars = 1_000;
/** The body of an error response. */
export const maxErrorBodyChars: number = 64 * 1024;
/** The message of a provider that is quoted in an error. */
export const maxErrorExcerptChars = 300;
/** Shorter header values are not redacted, because they occur in ordinary text. */
export const minSecretChars = 8;

// Offline models

/** Prompts are read up to this length by the demo model. */
export const maxDemoPromptChars = 4_000;
/** A tool result in an answer of the demo model. */
export const maxDemoResultChars = 600;
/** The items of a list that the demo model fills. */
export const maxDemoListItems = 20;
/** Differences that are compared between a request and one recording. */
export const maxDifferences = 20;
/** A value that is quoted in a message about recordings. */
export const maxDifferenceChars = 60;
/** A text that is quoted in a message about a script. */
export const maxQuoteChars = 200;
/** The body of a request to the fake provider. */
export const maxFakeRequestBytes: number = 64 * 1024 * 1024;
