import { HttpFailure } from "./failure.ts";
import type { Traffic } from "./requests.ts";

const firstDelayMs = 1_000;
const shortestDelayMs = 500;
const longestDelayMs = 60_000;
const growth = 1.6;

/** The pauses between attempts to reach a server: as long as it asks for, and ever longer while they fail. */
export class Backoff {
  readonly #traffic: Traffic;
  /** How many attempts have failed in a row. */
  failures: number;
  /** The pause that the server's stream asked for. */
  retryMs: number | undefined;
  #stop: (() => void) | undefined;

  constructor(traffic: Traffic, failures = 0, retryMs?: number) {
    this.#traffic = traffic;
    this.failures = failures;
    this.retryMs = retryMs;
  }

  get isWaiting(): boolean {
    return this.#stop !== undefined;
  }

  /** Calls after the next pause, which is at least as long as the last failure asks for. */
  wait(reason: Error | undefined, call: () => void): void {
    const { clock, sender } = this.#traffic;
    const base = Math.max(this.retryMs ?? firstDelayMs, shortestDelayMs);
    const grown = Math.max(base, Math.min(base * growth ** this.failures, longestDelayMs));
    const asked = reason instanceof HttpFailure ? (reason.retryAfterMs ?? 0) : 0;
    // Clients that lost their server together do not come back together.
    const delay = Math.max(grown, asked) * (1 + Math.random() / 10);
    const release = sender.transport.hold();
    const stopTimer = clock.after(delay, () => {
      this.stop();
      call();
    });
    this.#stop = () => {
      release();
      stopTimer();
    };
  }

  stop(): void {
    this.#stop?.();
    this.#stop = undefined;
  }
}
