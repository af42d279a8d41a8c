export function median(numbers) {
  if (numbers.length === 0) return Number.NaN;
  const sorted = [...numbers].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/** Values by implementation and repetition; each is compared only with raw of the same repetition. */
export class Samples {
  /** @type {Map<string, Map<number, number>>} */
  #byName = new Map();

  add(name, repetition, value) {
    if (!this.#byName.has(name)) this.#byName.set(name, new Map());
    this.#byName.get(name).set(repetition, value);
  }

  names() {
    return [...this.#byName.keys()];
  }

  value(name) {
    return median([...(this.#byName.get(name)?.values() ?? [])]);
  }

  ratio(name, base = "raw") {
    return this.#against(name, base, (value, other) => value / other);
  }

  difference(name, base = "raw") {
    return this.#against(name, base, (value, other) => value - other);
  }

  #against(name, base, compare) {
    const others = this.#byName.get(base) ?? new Map();
    const pairs = [...(this.#byName.get(name) ?? [])].filter(([repetition]) => others.has(repetition));
    return median(pairs.map(([repetition, value]) => compare(value, others.get(repetition))));
  }
}
