/** Limits of requests to a service, and of what one call returns of it. */
export interface ServiceLimits {
  /** Bytes of a response of the service. Default: 8,388,608. */
  readonly maxBytes: number;
  /** Characters of a text in a result. Default: 50,000. */
  readonly maxChars: number;
  /** Time for one request. Default: 30,000. */
  readonly timeoutMs: number;
  /** Time that a call waits because of rate limits and failures, in all. Default: 60,000. */
  readonly maxWaitMs: number;
  /** Repetitions of a request that failed. Default: 3. */
  readonly maxRetries: number;
  /** Wait before the first repetition, if the service names none; each further one is twice as long. Default: 500. */
  readonly firstWaitMs: number;
  /** Time between two looks at a resource that a client follows. Default: 60,000. */
  readonly pollMs: number;
  /** Requests at once. Default: 8. */
  readonly atOnce: number;
  /** Requests that wait for others. Default: 256. */
  readonly maxWaiting: number;
}

export const defaultServiceLimits: ServiceLimits = {
  maxBytes: 8 * 1024 * 1024,
  maxChars: 50_000,
  timeoutMs: 30_000,
  maxWaitMs: 60_000,
  maxRetries: 3,
  firstWaitMs: 500,
  pollMs: 60_000,
  atOnce: 8,
  maxWaiting: 256,
};

/** Time in which a person signs in at a service while a call waits. */
export const signInWaitMs: number = 10 * 60_000;

/** Characters of a service's own sentence in an error. */
export const maxSaidChars: number = 500;
