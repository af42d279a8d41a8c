import type { Clock } from "../../client/deadlines.ts";
import { checkBounds } from "../bounds.ts";

/** What one server may use of the models. */
export interface SamplingLimits {
  /** Of one answer; what a server asks for beyond is not given. 4,096 unless said. */
  readonly maxTokens?: number;
  /** Of all its requests and answers together; 100,000 unless said. */
  readonly tokens?: number;
  /** Of requests in all; 1,000 unless said. */
  readonly requests?: number;
  /** 10 unless said. */
  readonly requestsPerMinute?: number;
}

/** Counts what one server has used. */
export class Budget {
  readonly maxTokens: number;
  readonly #limits: Required<SamplingLimits>;
  readonly #clock: Clock;
  #tokens = 0;
  #requests = 0;
  /** When the requests of the last minute were made. */
  readonly #recent: number[] = [];
  /** When it was last said why there is no more; there are only so many reasons. */
  readonly #told = new Map<string, number>();

  constructor(limits: SamplingLimits, clock: Clock) {
    const { maxTokens = 4_096, tokens = 100_000, requests = 1_000, requestsPerMinute = 10 } = limits;
    this.#limits = { maxTokens, tokens, requests, requestsPerMinute };
    this.maxTokens = maxTokens;
    this.#clock = clock;
  }

  get left(): { tokens: number; requests: number } {
    const { tokens, requests } = this.#limits;
    return { tokens: Math.max(0, tokens - this.#tokens), requests: Math.max(0, requests - this.#requests) };
  }

  /** Whether a refusal is worth a word: the same within a minute is not. */
  isNews(why: string): boolean {
    const now = this.#clock.now();
    const isNews = now - (this.#told.get(why) ?? Number.NEGATIVE_INFINITY) >= 60_000;
    if (isNews) this.#told.set(why, now);
    return isNews;
  }

  /** Counts a request that may use so many tokens; says what it is too much for, and then counts nothing. */
  take(mayUse: number): string | undefined {
    const { requestsPerMinute, requests, tokens } = this.#limits;
    const now = this.#clock.now();
    while (this.#recent[0] !== undefined && now - this.#recent[0] >= 60_000) this.#recent.shift();
    if (this.#recent.length >= requestsPerMinute) return `${requestsPerMinute} requests in a minute`;
    if (this.#requests >= requests) return `${requests} requests`;
    if (this.#tokens + mayUse > tokens) return `${tokens} tokens`;
    this.#recent.push(now);
    this.#requests += 1;
    // At once, not when the answer is there: requests made side by side share what is left.
    this.#tokens += mayUse;
    return undefined;
  }

  /** What an answer may still have of a wish for so many, beside what its request takes; `held` was counted for it before. */
  grant(wanted: number, inputTokens = 0, held = 0): number {
    return Math.max(1, Math.min(wanted, this.maxTokens, this.left.tokens + held - inputTokens));
  }

  /** Corrects what was counted for a request by what it has used. */
  settle(mayUse: number, used: number): void {
    this.#tokens += used - mayUse;
  }
}

/** Gives each server a budget of its own, the first time it is asked for. */
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
    const budget = budgets.get(server) ?? new Budget({ ...limits, ...said(own) }, clock);
    budgets.set(server, budget);
    return budget;
  };
}

function checkLimits(of: string, { maxTokens, tokens, requests, requestsPerMinute }: SamplingLimits): void {
  checkBounds(of, { maxTokens, tokens, requests, requestsPerMinute });
}

function said(limits: SamplingLimits = {}): SamplingLimits {
  return Object.fromEntries(Object.entries(limits).filter(([, limit]) => limit !== undefined));
}
