import { toError } from "./failures.ts";

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
