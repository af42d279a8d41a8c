/** Work that several wait for: it is given up when none of them does any more. */
export class Flight<T> {
  /** Resolves when the work is over, however it ended. */
  readonly ended: Promise<void>;
  readonly #result: Promise<T>;
  readonly #controller = new AbortController();
  #waiting = 0;
  #isOver = false;

  constructor(work: (signal: AbortSignal) => Promise<T>) {
    this.#result = work(this.#controller.signal);
    const end = () => {
      this.#isOver = true;
    };
    this.ended = this.#result.then(end, end);
  }

  /** Whether nobody waited any more before it was over: there is nothing to wait for. */
  get isGivenUp(): boolean {
    return this.#controller.signal.aborted;
  }

  /** Waits for the result, until `signal` aborts. */
  async join(signal: AbortSignal): Promise<T> {
    signal.throwIfAborted();
    this.#waiting += 1;
    let leave = () => {};
    const left = new Promise<never>((_, reject) => {
      leave = () => reject(signal.reason);
      signal.addEventListener("abort", leave, { once: true });
    });
    try {
      return await Promise.race([this.#result, left]);
    } finally {
      signal.removeEventListener("abort", leave);
      this.#waiting -= 1;
      if (this.#waiting === 0 && !this.#isOver) this.#controller.abort(signal.reason);
    }
  }
}
