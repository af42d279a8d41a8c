import type { Clock } from "../../client/deadlines.ts";

const shortestPauseMs = 250;

/** Does some work again whenever it is wanted, one at a time and with pauses between: however often it is wanted. */
export class Pace {
  readonly #clock: Clock;
  readonly #work: () => Promise<void>;
  #isBusy = false;
  #isWanted = false;
  #notBefore = 0;
  #stopTimer: (() => void) | undefined;

  /** `work` must not reject. */
  constructor(clock: Clock, work: () => Promise<void>) {
    this.#clock = clock;
    this.#work = work;
  }

  want(): void {
    this.#isWanted = true;
    if (this.#isBusy || this.#stopTimer) return;
    const wait = this.#notBefore - this.#clock.now();
    if (wait <= 0) this.#run();
    else {
      this.#stopTimer = this.#clock.after(wait, () => {
        this.#stopTimer = undefined;
        this.#run();
      });
    }
  }

  stop(): void {
    this.#isWanted = false;
    this.#stopTimer?.();
    this.#stopTimer = undefined;
  }

  async #run(): Promise<void> {
    this.#isBusy = true;
    this.#isWanted = false;
    const begun = this.#clock.now();
    await this.#work();
    const now = this.#clock.now();
    // Whoever takes long is asked less often.
    this.#notBefore = now + Math.max(shortestPauseMs, 4 * (now - begun));
    this.#isBusy = false;
    if (this.#isWanted) this.want();
  }
}
