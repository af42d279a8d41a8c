import type { RpcError, RpcRequest } from "../jsonrpc/message.ts";
import { limitExceeded } from "../protocol/errors.ts";
import type { SharedUse } from "./http/processes/shared-use.ts";

/** Something that callers use up and give back. Sizes are counted in bytes, everything else in pieces. */
export type CountedResource =
  | "sessions"
  | "calls"
  | "streams"
  | "storingStreams"
  | "subscriptions"
  | "keptBytes"
  | "eventBytes";

/** Something that is counted by the minute: events, and the characters of bodies. */
export type RatedEvent = "handshakes" | "calls" | "completions" | "bodyBytes";

/** The limit of one caller, and the limit of all callers of this process together. */
export interface CallerLimit {
  readonly perCaller: number;
  /** Default: none. */
  readonly total?: number;
}

/** The amounts that callers may use at once, and the events that they may cause within one minute. A missing limit is none. */
export interface CallerLimits {
  /** A part that is loaded late adds its own. */
  readonly atOnce: { [resource in CountedResource]?: CallerLimit };
  readonly perMinute: { readonly [event in RatedEvent]?: CallerLimit };
}

/** The limit that a caller has reached: its own, or the one of the whole process. */
export type Exhausted = "caller" | "process";

/** The name of a limit, as refusals are reported. */
export type LimitName = CountedResource | `${RatedEvent}PerMinute`;

/** A refused request, as far as it is known. */
export interface RefusedRequest {
  /** The key of the caller. */
  readonly caller: string | undefined;
  readonly limit?: LimitName | "connections" | "bodyBytes" | "bodyMs";
  readonly exhausted?: Exhausted;
  readonly status?: number;
  readonly request?: RpcRequest | undefined;
  /** A sentence for the operator. Absent for a limit, whose name says it. */
  readonly reason?: string;
}

/** Minutes for which a caller that uses nothing is remembered: longer than a request takes to arrive. */
const rememberedMinutes = 3;

/** Counts what every caller uses, so that one caller cannot use up what others need. */
export class Callers {
  readonly limits: CallerLimits;
  /** The use of all callers together. Callers without a key count here only. */
  readonly total: Caller;
  /** Callers that cannot be told apart. Together they have the totals at once, and the calls per minute of one caller. */
  readonly shared: Caller;
  /** Receives each refused request. Undefined if the operator does not want to know. */
  onRefused: ((refused: RefusedRequest) => void) | undefined;
  /** Counts across the processes that share a storage. Undefined if there are none. */
  declare across?: SharedUse;
  readonly #known = new Map<string, Caller>();
  #sweptAt = 0;

  constructor(limits: CallerLimits) {
    this.limits = limits;
    this.total = new Caller(this, undefined);
    this.shared = new Caller(this, undefined);
  }

  /** Returns the caller with this key. A caller without a key is bound by the totals only. */
  get(key: string | undefined): Caller {
    if (key === undefined) return this.total;
    const minute = currentMinute();
    let caller = this.#known.get(key);
    if (!caller) {
      this.#sweep(minute);
      caller = new Caller(this, key);
      this.#known.set(key, caller);
    }
    caller.seenAt = minute;
    return caller;
  }

  /** Returns the callers that are known now. */
  known(): Iterable<Caller> {
    return this.#known.values();
  }

  /** Removes callers that use nothing and were not seen lately. At most once a minute. */
  #sweep(minute: number): void {
    if (minute === this.#sweptAt) return;
    this.#sweptAt = minute;
    for (const [key, caller] of this.#known) if (caller.isIdle(minute)) this.#known.delete(key);
  }
}

/** One caller, and the part of the server that it uses. */
export class Caller {
  readonly key: string | undefined;
  /** The minute in which the caller was last looked up. */
  seenAt = 0;
  readonly callers: Callers;
  /** The amounts in use. Hot paths read and write them directly, because a call would cost too much. */
  readonly used: { [resource in CountedResource]: number } = {
    sessions: 0,
    calls: 0,
    streams: 0,
    storingStreams: 0,
    subscriptions: 0,
    keptBytes: 0,
    eventBytes: 0,
  };
  /** The sum of what is used, whatever it is. */
  #inUse = 0;
  #counted = noEvents();
  #minute = 0;

  constructor(callers: Callers, key: string | undefined) {
    this.callers = callers;
    this.key = key;
  }

  /** Returns the limit that one more amount would exceed; undefined if there is room for it. */
  exhausts(resource: CountedResource, amount = 1): Exhausted | undefined {
    const limit = this.callers.limits.atOnce[resource];
    if (!limit) return undefined;
    if (this.key !== undefined && this.used[resource] + amount > limit.perCaller) return "caller";
    const { total = Number.POSITIVE_INFINITY } = limit;
    return this.callers.total.used[resource] + amount > total ? "process" : undefined;
  }

  /** Takes an amount of a resource. Returns the limit that is reached; then nothing is taken. */
  take(resource: CountedResource, amount = 1): Exhausted | undefined {
    const exhausted = this.exhausts(resource, amount);
    if (exhausted) return exhausted;
    this.#add(resource, amount);
    return undefined;
  }

  /** Gives back what was taken. */
  release(resource: CountedResource, amount = 1): void {
    this.#add(resource, -amount);
  }

  /** Counts an event of this minute. Returns the limit that is exceeded. */
  count(event: RatedEvent, amount = 1): Exhausted | undefined {
    const limit = this.callers.limits.perMinute[event];
    if (!limit) return undefined;
    const { total, shared } = this.callers;
    const isLimited = this.key !== undefined || (this === shared && event !== "handshakes");
    // Callers of this machine are not rated, and need no clock.
    if (!isLimited && limit.total === undefined) return undefined;
    const minute = currentMinute();
    if (isLimited && this.#countIn(minute, event, amount) > limit.perCaller) return "caller";
    return limit.total !== undefined && total.#countIn(minute, event, amount) > limit.total ? "process" : undefined;
  }

  /** Tells the operator of something that was refused. */
  refused(refused: Omit<RefusedRequest, "caller">): void {
    this.callers.onRefused?.({ caller: this.key, ...refused });
  }

  /**
   * Returns the error for a request that would use more of a resource than there is.
   *
   * @param consequence says what became of the request, if that is not obvious
   */
  beyond(resource: CountedResource, exhausted: Exhausted, consequence?: string, request?: RpcRequest): RpcError {
    this.refused({ limit: resource, exhausted, request });
    const limit = this.callers.limits.atOnce[resource];
    return refusal(exhausted, limit, `${resource === "keptBytes" ? "kept bytes" : resource} at once`, 5, consequence);
  }

  /** Returns the error for an event that happens too often. */
  tooOften(event: RatedEvent, exhausted: Exhausted, request?: RpcRequest): RpcError {
    this.refused({ limit: `${event}PerMinute`, exhausted, request });
    const limit = this.callers.limits.perMinute[event];
    const what = event === "bodyBytes" ? "bytes of requests" : event;
    return refusal(exhausted, limit, `${what} per minute`, 60 - (Math.floor(performance.now() / 1_000) % 60));
  }

  /** Returns whether nothing of this caller has to be remembered. */
  isIdle(minute: number): boolean {
    return minute - this.seenAt >= rememberedMinutes && this.#inUse === 0;
  }

  #add(resource: CountedResource, amount: number): void {
    const { total } = this.callers;
    this.used[resource] += amount;
    this.#inUse += amount;
    if (this !== total) total.used[resource] += amount;
  }

  #countIn(minute: number, event: RatedEvent, amount: number): number {
    if (minute !== this.#minute) {
      this.#minute = minute;
      this.#counted = noEvents();
    }
    this.#counted[event] += amount;
    return this.#counted[event];
  }
}

function noEvents(): { [event in RatedEvent]: number } {
  return { handshakes: 0, calls: 0, completions: 0, bodyBytes: 0 };
}

function refusal(
  exhausted: Exhausted,
  limit: CallerLimit | undefined,
  what: string,
  retryAfterSeconds: number,
  consequence = `retry in ${retryAfterSeconds} s`,
): RpcError {
  const owner =
    exhausted === "caller" ? `this caller may have ${limit?.perCaller}` : `all callers may have ${limit?.total}`;
  return limitExceeded(`Limit reached: ${owner} ${what}; ${consequence}`, exhausted, retryAfterSeconds);
}

function currentMinute(): number {
  return Math.floor(performance.now() / 60_000);
}
