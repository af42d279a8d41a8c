/** Options of `createGithub`. */
export interface GithubOptions {
  /** The account: a token, or the accounts of the people who call. Default: none, so that calls say how to get a token. */
  readonly account?: string | GithubAccounts;
  /** The address of the API. Default: `https://api.github.com`. */
  readonly api?: string;
  /** Leaves out all tools that change anything, and refuses to send a change. Default: false. */
  readonly readOnly?: boolean;
  /** Asks the user before a change, and makes none for a client that cannot ask. Default: true. */
  readonly ask?: boolean;
  readonly limits?: Partial<GithubLimits>;
}

/** The accounts of many people at GitHub, such as those that `portolan-authority` keeps. */
export interface GithubAccounts {
  /** Returns the token of a person. Rejects with the code `unauthorized` if the person must sign in. */
  tokenOf(holder: { readonly subject: string; readonly clientId: string }): Promise<string>;
  /** Hears that GitHub no longer accepts the token of a person, whose sign-in should end. */
  ended?(holder: { readonly subject: string; readonly clientId: string }): Promise<void>;
}

/** Limits of one call. */
export interface GithubLimits {
  /** Bytes of a response of GitHub. Default: 8,388,608. */
  readonly maxBytes: number;
  /** Characters of a text, a file or a diff in a result. Default: 50,000. */
  readonly maxChars: number;
  /** Time for one request. Default: 30,000. */
  readonly timeoutMs: number;
  /** Time that a call waits because of rate limits and failures, in all. Default: 60,000. */
  readonly maxWaitMs: number;
  /** Repetitions of a request that failed. Default: 3. */
  readonly maxRetries: number;
  /** Wait before the first repetition, if GitHub names none; each further one is twice as long. Default: 500. */
  readonly firstWaitMs: number;
  /** Time between two looks at a resource that a client follows. Default: 60,000. */
  readonly pollMs: number;
}

export const defaultLimits: GithubLimits = {
  maxBytes: 8 * 1024 * 1024,
  maxChars: 50_000,
  timeoutMs: 30_000,
  maxWaitMs: 60_000,
  maxRetries: 3,
  firstWaitMs: 500,
  pollMs: 60_000,
};
