import type { Clock } from "portolan/client";
import {
  maxSamplingAnswerTokens,
  maxSamplingRequests,
  maxSamplingRequestsPerMinute,
  maxSamplingTokens,
  minuteMs,
} from "../limits.ts";
import { checkBounds } from "../options.ts";

/** Limits for one server's use of the models. */
export interface SamplingLimits {
  /** Tokens of one answer; a larger request is reduced. Default: 4,096. */
  readonly maxTokens?: number;
  /** Tokens of all requests and answers together. Default: 100,000. */
  readonly tokens?: number;
  /** Requests in all. Default: 1,000. */
  readonly requests?: number;
  /** Default: 10. */
  readonly requestsPerMinute?: number;
}

/** Counts the tokens and requests of one server. */
export class Budget {
  readonly maxTokens: number;
  readonly #limits: Required<SamplingLimits>;
  readonly #clock: Clock;
  #tokens = 0;
  #requests = 0;
  /** Times of the requests of the last minute. */
  readonly #recent: number[] = [];
  /** When each reason was last logged; there are only a few reasons. */
  readonly #loggedAt = new Map<string, number>();

  constructor(limits: SamplingLimits, clock: Clock) {
    const {
      maxTokens = maxSamplingAnswerTokens,
      tokens = maxSamplingTokens,
      requests = maxSamplingRequests,
      requestsPerMinute = maxSamplingRequestsPerMinute,
    } = limits;
    this.#limits = { maxTokens, tokens, requests, requestsPerMinute };
    this.maxTokens = maxTokens;
    this.#clock = clock;
  }

  get left(): { tokens: number; requests: number } {
    const { tokens, requests } = this.#limits;
    return { tokens: Math.max(0, tokens - this.#tokens), requests: Math.max(0, requests - this.#requests) };
  }

  /** Returns false for a reason that was logged within the last minute. */
  shouldLog(why: string): boolean {
    const now = this.#clock.now();
    const shouldLog = now - (this.#loggedAt.get(why) ?? Number.NEGATIVE_INFINITY) >= minuteMs;
    if (shouldLog) this.#loggedAt.set(why, now);
    return shouldLog;
  }

  /** Reserves tokens for a request. Returns the limit that it would exceed, and then reserves nothing. */
  take(maxUse: number): string | undefined {
    const { requestsPerMinute, requests, tokens } = this.#limits;
    const now = this.#clock.now();
    while (this.#recent[0] !== undefined && now - this.#recent[0] >= minuteMs) this.#recent.shift();
    if (this.#recent.length >= requestsPerMinute) return `${requestsPerMinute} requests per minute`;
    if (this.#requests >= requests) return `${requests} requests`;
    if (this.#tokens + maxUse > tokens) return `${tokens} tokens`;
    this.#recent.push(now);
    this.#requests += 1;
    // Reserved at once, because parallel requests share the rest.
    this.#tokens += maxUse;
    return undefined;
  }

  /** Returns the tokens that an answer may use. `held` was reserved for this request before. */
  allowance(wanted: number, inputTokens = 0, held = 0): number {
    return Math.max(1, Math.min(wanted, this.maxTokens, this.left.tokens + held - inputTokens));
  }

  /** Replaces the reserved tokens of a request by those it used. */
  settle(maxUse: number, used: number): void {
    this.#tokens += used - maxUse;
  }
}

/** Returns a function that gives each server its own budget. */
export function createBudgets(
  options: SamplingLimits & { readonly servers?: { readonly [server: string]: SamplingLimits } },
  clock: Clock,
): (server: string) => Budget {
  const { servers = {}, ...limits } = options;
  checkLimits("sampling.", limits);
  for (const [server, own] of Object.entries(servers)) checkLimits(`sampling.servers.${server}.`, own);
  const budgets = new Map<string, Budget>();
  return (server) => {
    const own = Object.hasOwn(servers, server) ? servers[server] : {};
    const budget = budgets.get(server) ?? new Budget({ ...limits, ...withoutUndefined(own) }, clock);
    budgets.set(server, budget);
    return budget;
  };
}

function checkLimits(of: string, { maxTokens, tokens, requests, requestsPerMinute }: SamplingLimits): void {
  checkBounds(of, { maxTokens, tokens, requests, requestsPerMinute });
}

function withoutUndefined(limits: SamplingLimits = {}): SamplingLimits {
  return Object.fromEntries(Object.entries(limits).filter(([, limit]) => limit !== undefined));
}
