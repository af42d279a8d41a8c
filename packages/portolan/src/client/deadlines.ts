import { toError } from "./failures.ts";

/** Something that must end in time. */
export interface Timed {
  /** When it is due, by the clock; may be moved on at any time. */
  dueAt: number;
  /** Called when it is overdue: it ends, or moves its time on. */
  expire(now: number): void;
}

/** Timers are no finer than this, so that many deadlines need few of them. */
const coarsenessMs = 10;

/** The deadlines of all calls behind one timer: starting, moving and ending one costs no timer of its own. */
export class Deadlines {
  readonly #clock: Clock;
  readonly #all: { values(): Timed[] };
  #timerAt = Number.POSITIVE_INFINITY;
  #cancelTimer: (() => void) | undefined;

  /** @param all what is under way; whoever is no longer there has ended in time */
  constructor(clock: Clock, all: { values(): Timed[] }) {
    this.#clock = clock;
    this.#all = all;
  }

  now(): number {
    return this.#clock.now();
  }

  /** Makes sure that something is looked at when it is due; call it again when it is due earlier than it was. */
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
    this.#cancelTimer = this.#clock.after(Math.max(coarsenessMs, at - this.#clock.now()), () => this.#look());
  }

  #look(): void {
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

/** Where time comes from; tests bring their own. */
export interface Clock {
  /** Milliseconds since some fixed moment, never going back. */
  now(): number;
  /** Calls once, after at least so long; returns how to prevent it. */
  after(ms: number, call: () => void): () => void;
}

/** The clock of this machine. */
export const systemClock: Clock = {
  // Whole milliseconds: a fraction would cost an allocation wherever it is kept.
  now: () => Math.floor(performance.now()),
  after(ms, call) {
    const timer: { unref?(): void } | number = setTimeout(call, ms);
    // What waits holds the process by its socket or child, not by its clock.
    if (typeof timer === "object") timer.unref?.();
    return () => clearTimeout(timer as Parameters<typeof clearTimeout>[0]);
  },
};

/** Resolves after a while; rejects when the signal aborts before. */
export function pauseFor(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = clock.after(ms, () => {
      signal.removeEventListener("abort", abort);
      resolve();
    });
    const abort = () => {
      stop();
      reject(toError(signal.reason));
    };
    if (signal.aborted) abort();
    else signal.addEventListener("abort", abort, { once: true });
  });
}
