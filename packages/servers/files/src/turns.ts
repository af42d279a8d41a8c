/** Lets one piece of work after the other touch the same thing. */
export class Turns {
  readonly #last = new Map<string, Promise<unknown>>();

  /** Runs `work` after all earlier work on the same key has ended, however it ended. */
  async take<T>(key: string, work: () => Promise<T>): Promise<T> {
    const before = this.#last.get(key) ?? Promise.resolve();
    const mine = before.then(work, work);
    const settled = mine.catch(() => {});
    this.#last.set(key, settled);
    try {
      return await mine;
    } finally {
      if (this.#last.get(key) === settled) this.#last.delete(key);
    }
  }
}
