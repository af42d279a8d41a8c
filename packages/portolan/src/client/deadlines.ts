import { onAbort } from "../async.ts";
import { toError } from "./failures.ts";
import { longestTimerMs, timerGranularityMs } from "./limits.ts";

/** The source of time. Tests replace it. */
export interface Clock {
  /** Milliseconds since some fixed moment, never going back. */
  now(): number;
  /** Calls once, after at least this time. Returns a function that prevents it. */
  after(ms: number, call: () => void): () => void;
}

/** The clock of this machine. */
export const systemClock: Clock = {
  // Whole milliseconds: a fraction would be allocated wherever it is stored.
  now: () => Math.floor(performance.now()),
  after(ms, call) {
    const timer: { unref?(): void } | number = setTimeout(call, Math.min(ms, longestTimerMs));
    // A pending call keeps the process alive by its socket or child, not by its timer.
    if (typeof timer === "object") timer.unref?.();
    return () => clearTimeout(timer as Parameters<typeof clearTimeout>[0]);
  },
};

/** An operation with a deadline. */
export interface Timed {
  /** Time of the clock; may be moved at any moment. */
  dueAt: number;
  /** Called after `dueAt`: the operation ends, or moves its deadline. */
  expire(now: number): void;
}

/** The deadlines of all calls behind one timer: to start, move or end a deadline costs no timer of its own. */
export class Deadlines {
  readonly #clock: Clock;
  readonly #all: { values(): Timed[] };
  #timerAt = Number.POSITIVE_INFINITY;
  #cancelTimer: (() => void) | undefined;

  /** @param all the pending operations; one that has left the list has ended in time */
  constructor(clock: Clock, all: { values(): Timed[] }) {
    this.#clock = clock;
    this.#all = all;
  }

  now(): number {
    return this.#clock.now();
  }

  /** Starts the timer for an operation. Call it again when the deadline moves to an earlier time. */
  watch(timed: Timed): void {
    if (timed.dueAt < this.#timerAt) this.#schedule(timed.dueAt);
  }

  stop(): void {
    this.#cancelTimer?.();
    this.#timerAt = Number.POSITIVE_INFINITY;
  }

  #schedule(at: number): void {
    if (at === Number.POSITIVE_INFINITY) return;
    this.#cancelTimer?.();
    this.#timerAt = at;
    this.#cancelTimer = this.#clock.after(Math.max(timerGranularityMs, at - this.#clock.now()), () => this.#expire());
  }

  #expire(): void {
    this.#cancelTimer = undefined;
    this.#timerAt = Number.POSITIVE_INFINITY;
    const now = this.#clock.now();
    let next = Number.POSITIVE_INFINITY;
    for (const timed of this.#all.values()) {
      if (timed.dueAt > now) next = Math.min(next, timed.dueAt);
      else timed.expire(now);
    }
    if (next < this.#timerAt) this.#schedule(next);
  }
}

/** Resolves after a pause; rejects when the signal aborts before. */
export function pauseFor(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) {
      reject(toError(signal.reason));
      return;
    }
    const stopTimer = clock.after(ms, () => {
      stopWaiting();
      resolve();
    });
    const stopWaiting = onAbort(signal, () => {
      stopTimer();
      reject(toError(signal.reason));
    });
  });
}
