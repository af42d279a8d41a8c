import { tooSlow, unreachable } from "./failures.ts";
import type { RetryClock } from "./options.ts";
import type { Provider } from "./provider.ts";

/** One request under watch: it ends when its caller gives up, and when it takes too long. */
export class Watch {
  readonly #provider: Provider;
  readonly #caller: AbortSignal | undefined;
  readonly #controller = new AbortController();
  readonly #stopTotal: () => void;
  readonly #giveUp = (): void => this.#controller.abort(this.#caller?.reason);

  constructor(provider: Provider, caller: AbortSignal | undefined) {
    this.#provider = provider;
    this.#caller = caller;
    caller?.addEventListener("abort", this.#giveUp, { once: true });
    const { clock, totalMs } = provider;
    const late = `was not done after ${totalMs} ms`;
    this.#stopTotal = clock.after(totalMs, () => this.#controller.abort(tooSlow(provider, late)));
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Waits for something the provider does; the time in which nobody waits for it does not count as its silence. */
  async wait<T>(work: Promise<T>): Promise<T> {
    const { clock, idleMs } = this.#provider;
    const silent = `was silent for ${idleMs} ms`;
    const stop = clock.after(idleMs, () => this.#controller.abort(tooSlow(this.#provider, silent)));
    try {
      return await untilAborted(work, this.signal);
    } catch (error) {
      throw this.#explain(error);
    } finally {
      stop();
    }
  }

  throwIfGivenUp(): void {
    this.#caller?.throwIfAborted();
  }

  /** Why there is nothing to wait for any more. */
  #explain(error: unknown): unknown {
    if (this.#caller?.aborted) return this.#caller.reason;
    const { aborted, reason } = this.signal;
    return aborted ? reason : unreachable(this.#provider, error);
  }

  /** Nothing of the request remains. */
  stop(): void {
    this.#caller?.removeEventListener("abort", this.#giveUp);
    this.#stopTotal();
    this.#controller.abort();
  }
}

/** Resolves after a while; rejects when the signal aborts before. */
export function pauseFor(clock: RetryClock, ms: number, signal: AbortSignal | undefined): Promise<void> {
  let stop = () => {};
  const pause = new Promise<void>((resolve) => {
    stop = clock.after(ms, resolve);
  });
  return signal === undefined ? pause : untilAborted(pause, signal).finally(() => stop());
}

/** Also ends the wait for work that knows nothing of the signal. */
function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    const done = () => signal.removeEventListener("abort", abort);
    if (signal.aborted) abort();
    signal.addEventListener("abort", abort, { once: true });
    work.then(resolve, reject).finally(done);
  });
}
