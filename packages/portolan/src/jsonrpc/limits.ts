// Defaults and bounds of messages on every transport.

/** A message may carry a file; more belongs into a resource that is read in parts. */
export const defaultMaxMessageBytes: number = 16 * 1024 * 1024;
/** Messages of one batch. */
export const maxBatchMessages = 100;
/** Longest key or id that is read from a message that cannot be parsed. */
export const maxTokenBytes = 1024;
/** Beginning of a message that cannot be parsed in which its id is looked for. */
export const maxScannedBytes: number = 64 * 1024;
/** Nothing sensible is nested deeper; engines give up between 1,000 and 5,000 levels. */
export const maxNestingLevels = 512;
/** Characters of the path to a value in an error message. */
export const maxPathChars = 160;
/** A parsed value takes at most this many times the bytes of its JSON text: 72 for the two characters of an array. */
export const maxWeightOfText = 36;
