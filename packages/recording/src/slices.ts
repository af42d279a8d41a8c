import { sliceMs } from "./limits.ts";

/** Divides long work, so that the process answers others meanwhile. */
export class Slices {
  #since = performance.now();

  /** Lets others pass if this slice is over. Call it after each small piece of work. */
  async pause(): Promise<void> {
    if (performance.now() - this.#since < sliceMs) return;
    await new Promise<void>((resolve) => setImmediate(resolve));
    this.#since = performance.now();
  }
}
