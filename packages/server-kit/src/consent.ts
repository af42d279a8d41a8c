import { randomUUID } from "node:crypto";
import { type Context, ToolError } from "portolan/server";

/** Limits of what is remembered about consents. */
export interface ConsentLimits {
  /** How long a consent can be used after its question was asked. Default: 1 hour, as long as the library's questions. */
  readonly lifetimeMs: number;
  /** Consents of one caller. Default: 1,000. */
  readonly perCaller: number;
  /** Callers. Default: 1,000. */
  readonly callers: number;
  /** Bytes of the results of one caller, as JSON. Default: 1 MiB. */
  readonly bytesPerCaller: number;
  /** Bytes of the results of all callers, as JSON. Default: 16 MiB. */
  readonly bytes: number;
}

const defaults: ConsentLimits = {
  lifetimeMs: 60 * 60_000,
  perCaller: 1_000,
  callers: 1_000,
  bytesPerCaller: 1024 * 1024,
  bytes: 16 * 1024 * 1024,
};

/** Identifies a question. The client carries it, sealed with the question, so that each repetition has the same one. */
interface QuestionKey {
  readonly id: string;
  readonly askedAt: number;
}

interface Outcome<T> {
  /** The result; absent if it is no longer kept, or if the effect failed. */
  result?: T;
  /** Why the effect failed, for the model. */
  failure?: string;
}

interface UsedConsent<T> {
  readonly askedAt: number;
  readonly outcome: Promise<Outcome<T>>;
  /** Set when the effect has ended. */
  settled?: Outcome<T>;
  bytes: number;
}

interface CallerConsents<T> {
  readonly used: Map<string, UsedConsent<T>>;
  bytes: number;
  /** A question that was asked no later, and is not remembered, may have been used. */
  forgottenUntil: number;
}

/**
 * Runs effects that need the user's consent, each question at most once in this process. A stateless client answers a
 * question by sending its call again with the answer, and can send that again: a repetition gets the first result, also
 * while the effect still runs. A consent that may have been used and is no longer remembered is refused.
 */
export class ConsentedEffects<T> {
  readonly #limits: ConsentLimits;
  readonly #now: () => number;
  readonly #callers = new Map<string, CallerConsents<T>>();
  #bytes = 0;
  /** Begins with the start of the process: an earlier question may have been used before it. */
  #forgottenUntil: number;

  constructor(limits: Partial<ConsentLimits> = {}, now: () => number = Date.now) {
    this.#limits = { ...defaults, ...limits };
    this.#now = now;
    this.#forgottenUntil = now() - 1;
  }

  /** Asks the user and runs the effect after a yes. Returns undefined after a no. */
  async run(ctx: Context, message: string, effect: () => Promise<T>): Promise<{ readonly result: T } | undefined> {
    const key = await ctx.once("question", (): QuestionKey => ({ id: randomUUID(), askedAt: this.#now() }));
    if (!(await ctx.confirm("agree", message))) return undefined;
    return { result: await this.#runOnce(ctx.principal.key, key, effect) };
  }

  async #runOnce(owner: string, { id, askedAt }: QuestionKey, effect: () => Promise<T>): Promise<T> {
    this.#forgetOld();
    const known = this.#callers.get(owner)?.used.get(id);
    if (known) return repeated(await known.outcome);
    const caller = this.#callerOf(owner);
    if (askedAt <= Math.max(this.#forgottenUntil, caller.forgottenUntil)) {
      throw new ToolError("The user was asked too long ago. Nothing was done; call the tool again to ask anew");
    }
    const running = effect();
    const used: UsedConsent<T> = { askedAt, bytes: 0, outcome: running.then(toOutcome, toFailure) };
    caller.used.set(id, used);
    if (caller.used.size > this.#limits.perCaller) this.#forgetOldest(caller);
    used.outcome.then((outcome) => this.#settle(caller, used, outcome));
    return running;
  }

  #callerOf(owner: string): CallerConsents<T> {
    const known = this.#callers.get(owner);
    if (known) return known;
    if (this.#callers.size >= this.#limits.callers) {
      const [oldest] = this.#callers.keys();
      if (oldest !== undefined) this.#forgetCaller(oldest);
    }
    const caller = { used: new Map(), bytes: 0, forgottenUntil: Number.NEGATIVE_INFINITY };
    this.#callers.set(owner, caller);
    return caller;
  }

  /** Forgets consents that have expired. */
  #forgetOld(): void {
    this.#forgottenUntil = Math.max(this.#forgottenUntil, this.#now() - this.#limits.lifetimeMs);
    for (const [owner, caller] of this.#callers) {
      for (const [id, used] of caller.used) if (used.askedAt <= this.#forgottenUntil) this.#forget(caller, id, used);
      if (caller.used.size === 0 && caller.forgottenUntil <= this.#forgottenUntil) this.#callers.delete(owner);
    }
  }

  #forgetOldest(caller: CallerConsents<T>): void {
    const [oldest] = [...caller.used].sort(([, a], [, b]) => a.askedAt - b.askedAt);
    if (!oldest) return;
    caller.forgottenUntil = Math.max(caller.forgottenUntil, oldest[1].askedAt);
    this.#forget(caller, ...oldest);
  }

  #forgetCaller(owner: string): void {
    const caller = this.#callers.get(owner);
    if (!caller) return;
    const asked = [...caller.used.values()].map(({ askedAt }) => askedAt);
    this.#forgottenUntil = Math.max(this.#forgottenUntil, caller.forgottenUntil, ...asked);
    for (const [id, used] of caller.used) this.#forget(caller, id, used);
    this.#callers.delete(owner);
  }

  #forget(caller: CallerConsents<T>, id: string, used: UsedConsent<T>): void {
    caller.used.delete(id);
    this.#dropResult(caller, used);
  }

  /** Keeps a result within the limits of bytes: drops older ones of the caller, then of the caller that has most. */
  #settle(caller: CallerConsents<T>, used: UsedConsent<T>, outcome: Outcome<T>): void {
    used.settled = outcome;
    if (![...caller.used.values()].includes(used)) return;
    used.bytes = Buffer.byteLength(JSON.stringify(outcome));
    caller.bytes += used.bytes;
    this.#bytes += used.bytes;
    while (caller.bytes > this.#limits.bytesPerCaller) this.#dropOldestResult(caller);
    while (this.#bytes > this.#limits.bytes) {
      const most = [...this.#callers.values()].reduce((a, b) => (b.bytes > a.bytes ? b : a), caller);
      this.#dropOldestResult(most);
    }
  }

  #dropOldestResult(caller: CallerConsents<T>): void {
    const oldest = [...caller.used.values()].find(({ bytes }) => bytes > 0);
    if (oldest) this.#dropResult(caller, oldest);
  }

  #dropResult(caller: CallerConsents<T>, used: UsedConsent<T>): void {
    if (used.settled) delete used.settled.result;
    caller.bytes -= used.bytes;
    this.#bytes -= used.bytes;
    used.bytes = 0;
  }
}

function toOutcome<T>(result: T): Outcome<T> {
  return { result };
}

function toFailure(reason: unknown): Outcome<never> {
  if (reason instanceof ToolError) return { failure: reason.message };
  return { failure: "The first call with this answer of the user failed or was cancelled" };
}

/** Returns the first result for a repetition; throws the first failure. */
function repeated<T>(outcome: Outcome<T>): T {
  if ("result" in outcome) return outcome.result as T;
  const done = "This was done when the user agreed, and its result is no longer kept";
  throw new ToolError(`${outcome.failure ?? done}. Nothing was done again; call the tool again to ask the user anew`);
}

/** Longest text that a user can be expected to read before agreeing, in characters. */
export const maxShownLength = 8_000;

/** Escapes characters that hide or reorder the text around them, for a question to the user. */
export function visible(text: string): string {
  return text.replace(/(?![\n\t])[\p{C}\p{Zl}\p{Zp}]/gu, (char) => `\\u{${char.codePointAt(0)?.toString(16)}}`);
}
