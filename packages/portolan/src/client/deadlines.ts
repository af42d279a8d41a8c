import type { Clock } from "./clock.ts";

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
