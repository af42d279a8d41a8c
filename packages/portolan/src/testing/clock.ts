import type { Clock } from "../client/deadlines.ts";

/** A clock that stands still until it is told to go on. */
export interface ManualClock extends Clock {
  /** How many calls are still to come. */
  readonly pending: number;
  /**
   * Lets time pass: whatever becomes due runs in order, each at its own moment and when all that followed from the one
   * before has settled.
   */
  advance(ms: number): Promise<void>;
}

/** A clock for tests, at zero. */
export function createClock(): ManualClock {
  return new TestClock();
}

interface Timer {
  readonly dueAt: number;
  readonly call: () => void;
}

class TestClock implements ManualClock {
  #now = 0;
  #timers: Timer[] = [];

  get pending(): number {
    return this.#timers.length;
  }

  now(): number {
    return this.#now;
  }

  after(ms: number, call: () => void): () => void {
    const timer = { dueAt: this.#now + Math.max(0, ms), call };
    const place = this.#timers.findIndex(({ dueAt }) => dueAt > timer.dueAt);
    this.#timers.splice(place === -1 ? this.#timers.length : place, 0, timer);
    return () => {
      this.#timers = this.#timers.filter((other) => other !== timer);
    };
  }

  async advance(ms: number): Promise<void> {
    const end = this.#now + ms;
    await turn();
    for (let next = this.#timers[0]; next !== undefined && next.dueAt <= end; next = this.#timers[0]) {
      this.#timers.shift();
      this.#now = Math.max(this.#now, next.dueAt);
      next.call();
      await turn();
    }
    this.#now = Math.max(this.#now, end);
  }
}

// Not every runtime has setImmediate; it is the one that does not wait a millisecond.
const schedule: (call: () => void) => void =
  typeof setImmediate === "function" ? (call) => setImmediate(call) : (call) => setTimeout(call, 0);

/** Resolves when every promise that could settle has, and whatever was scheduled before has run. */
export function turn(): Promise<void> {
  return new Promise((resolve) => schedule(resolve));
}
