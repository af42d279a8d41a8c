import type { Clock } from "../client/deadlines.ts";

/** A clock for tests, which stands still until `advance` is called. */
export interface ManualClock extends Clock {
  /** The number of pending timers. */
  readonly pending: number;
  /**
   * Moves the time forward. Timers that are due run in order, each at its own time, and after the promises of the one
   * before have settled.
   */
  advance(ms: number): Promise<void>;
}

/** Creates a clock at zero. */
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
    const index = this.#timers.findIndex(({ dueAt }) => dueAt > timer.dueAt);
    this.#timers.splice(index === -1 ? this.#timers.length : index, 0, timer);
    return () => {
      this.#timers = this.#timers.filter((other) => other !== timer);
    };
  }

  async advance(ms: number): Promise<void> {
    const end = this.#now + ms;
    await macrotask();
    for (let next = this.#timers[0]; next !== undefined && next.dueAt <= end; next = this.#timers[0]) {
      this.#timers.shift();
      this.#now = Math.max(this.#now, next.dueAt);
      next.call();
      await macrotask();
    }
    this.#now = Math.max(this.#now, end);
  }
}

// setImmediate does not wait a millisecond, but not every runtime has it.
const schedule: (call: () => void) => void =
  typeof setImmediate === "function" ? (call) => setImmediate(call) : (call) => setTimeout(call, 0);

/** Resolves in a later macrotask: after all pending microtasks, and after the callbacks scheduled before. */
export function macrotask(): Promise<void> {
  return new Promise((resolve) => schedule(resolve));
}
