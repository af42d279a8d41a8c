/** Numbers that follow from a seed alone, so that a history can be run again. */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = (seed * 0x9e3779b1) >>> 0;
  }

  /** A number from 0 to 1, without 1. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = this.#state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  /** A whole number from `least` to `most`. */
  whole(least: number, most: number): number {
    return least + Math.floor(this.next() * (most - least + 1));
  }

  pick<T>(values: readonly T[]): T {
    return values[this.whole(0, values.length - 1)] as T;
  }

  /** One of the names, each as often as its weight says. */
  weighted<Name extends string>(weights: { readonly [name in Name]: number }): Name {
    const entries = Object.entries(weights) as [Name, number][];
    let rest = this.next() * entries.reduce((sum, [, weight]) => sum + weight, 0);
    for (const [name, weight] of entries) {
      rest -= weight;
      if (rest < 0) return name;
    }
    return (entries.at(-1) as [Name, number])[0];
  }
}

export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
