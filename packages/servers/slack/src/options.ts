/** Options of `createSlack`. */
export interface SlackOptions {
  /** The token of the account. Default: none, so that calls say how to get one. */
  readonly account?: string;
  /** The address of the API. Default: `https://slack.com/api`. */
  readonly api?: string;
  /** Leaves out all tools that change anything, and refuses to send a change. Default: false. */
  readonly readOnly?: boolean;
  /** Asks the user before a change, and makes none for a client that cannot ask. Default: true. */
  readonly ask?: boolean;
  readonly limits?: Partial<SlackLimits>;
}

/** Limits of one call. */
export interface SlackLimits {
  /** Bytes of a response of Slack. Default: 8,388,608. */
  readonly maxBytes: number;
  /** Characters of a message in a result. Default: 4,000. */
  readonly maxChars: number;
  /** Time for one request. Default: 30,000. */
  readonly timeoutMs: number;
  /** Time that a call waits because of rate limits and failures, in all. Default: 60,000. */
  readonly maxWaitMs: number;
  /** Repetitions of a request that failed. Default: 3. */
  readonly maxRetries: number;
  /** Wait before the first repetition, if Slack names none; each further one is twice as long. Default: 500. */
  readonly firstWaitMs: number;
  /** Time between two looks at a channel that a client follows. Default: 60,000. */
  readonly pollMs: number;
}

export const defaultLimits: SlackLimits = {
  maxBytes: 8 * 1024 * 1024,
  maxChars: 4_000,
  timeoutMs: 30_000,
  maxWaitMs: 60_000,
  maxRetries: 3,
  firstWaitMs: 500,
  pollMs: 60_000,
};
