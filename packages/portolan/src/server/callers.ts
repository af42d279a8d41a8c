/** Something that callers use up and give back. Sizes are counted in bytes, everything else in pieces. */
export type CountedResource = "sessions" | "calls" | "streams" | "keptBytes";

/** An event that is counted by the minute. */
export type RatedEvent = "handshakes" | "calls" | "completions";

/** The limit of one caller, and the limit of all callers of this process together. */
export interface CallerLimit {
  readonly perCaller: number;
  readonly total: number;
}

/** What callers may use at once, and how often within one minute. A missing limit is none. */
export interface CallerLimits {
  readonly atOnce: { readonly [resource in CountedResource]?: CallerLimit };
  readonly perMinute: { readonly [event in RatedEvent]?: CallerLimit };
}

/** The limit that a caller has reached: its own, or the one of the whole process. */
export type Exhausted = "caller" | "process";

/** Counts what every caller uses, so that one caller cannot use up what others need. */
export class Callers {
  readonly limits: CallerLimits;
  /** What all callers use together. Callers without a key count here only. */
  readonly total: Caller;
  readonly #known = new Map<string, Caller>();
  #sweptAt = 0;

  constructor(limits: CallerLimits) {
    this.limits = limits;
    this.total = new Caller(this, undefined);
  }

  /** Returns the caller with this key. A caller without a key is bound by the totals only. */
  get(key: string | undefined): Caller {
    if (key === undefined) return this.total;
    let caller = this.#known.get(key);
    if (!caller) {
      this.#sweep();
      caller = new Caller(this, key);
      this.#known.set(key, caller);
    }
    return caller;
  }

  /** Removes callers that use nothing and were not counted in this minute. At most once a minute. */
  #sweep(): void {
    const minute = currentMinute();
    if (minute === this.#sweptAt) return;
    this.#sweptAt = minute;
    for (const [key, caller] of this.#known) if (caller.isIdle(minute)) this.#known.delete(key);
  }
}

/** What one caller uses. */
export class Caller {
  readonly key: string | undefined;
  readonly #callers: Callers;
  readonly #used = { sessions: 0, calls: 0, streams: 0, keptBytes: 0 };
  readonly #counted = { handshakes: 0, calls: 0, completions: 0 };
  #minute = 0;

  constructor(callers: Callers, key: string | undefined) {
    this.#callers = callers;
    this.key = key;
  }

  /** Takes an amount of a resource. Returns the limit that is reached; then nothing is taken. */
  take(resource: CountedResource, amount = 1): Exhausted | undefined {
    const limit = this.#callers.limits.atOnce[resource];
    const { total } = this.#callers;
    if (limit) {
      if (this !== total && this.#used[resource] + amount > limit.perCaller) return "caller";
      if (total.#used[resource] + amount > limit.total) return "process";
    }
    this.#used[resource] += amount;
    if (this !== total) total.#used[resource] += amount;
    return undefined;
  }

  /** Gives back what was taken. */
  release(resource: CountedResource, amount = 1): void {
    this.#used[resource] -= amount;
    const { total } = this.#callers;
    if (this !== total) total.#used[resource] -= amount;
  }

  /** Counts an event of this minute. Returns the limit that is exceeded. */
  count(event: RatedEvent): Exhausted | undefined {
    const limit = this.#callers.limits.perMinute[event];
    if (!limit) return undefined;
    const minute = currentMinute();
    const { total } = this.#callers;
    if (this !== total && this.#countIn(minute, event) > limit.perCaller) return "caller";
    return total.#countIn(minute, event) > limit.total ? "process" : undefined;
  }

  /** Returns whether nothing of this caller has to be remembered. */
  isIdle(minute: number): boolean {
    const { sessions, calls, streams, keptBytes } = this.#used;
    return this.#minute !== minute && sessions + calls + streams + keptBytes === 0;
  }

  #countIn(minute: number, event: RatedEvent): number {
    if (minute !== this.#minute) {
      this.#minute = minute;
      this.#counted.handshakes = 0;
      this.#counted.calls = 0;
      this.#counted.completions = 0;
    }
    this.#counted[event] += 1;
    return this.#counted[event];
  }
}

function currentMinute(): number {
  return Math.floor(Date.now() / 60_000);
}
