import { checkBounds } from "./bounds.ts";
import { waitFor } from "./wait-for.ts";

/** Lets so many through at a time; the others wait in line. */
export class Gate {
  #free: number;
  #line: (() => void)[] = [];

  constructor(width: number) {
    checkBounds("", { startsAtOnce: width }, 1);
    this.#free = width;
  }

  /** Does the work when it is its turn; who gives up leaves the line. */
  async pass<T>(work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    if (this.#free > 0) this.#free -= 1;
    else await this.#turn(signal);
    try {
      return await work();
    } finally {
      const next = this.#line.shift();
      // Whoever leaves hands its place on, so that nobody slips in between.
      if (next) next();
      else this.#free += 1;
    }
  }

  async #turn(signal: AbortSignal | undefined): Promise<void> {
    let come: () => void = () => {};
    const turn = new Promise<void>((resolve) => {
      come = resolve;
    });
    this.#line.push(come);
    try {
      await waitFor(turn, signal);
    } catch (reason) {
      this.#line = this.#line.filter((other) => other !== come);
      throw reason;
    }
  }
}
