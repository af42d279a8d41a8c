import { ToolError } from "portolan/server";

/** A connection that is used by one statement after the other. */
export interface Pooled {
  /** Whether it may be used again. */
  readonly isUsable: boolean;
  /** Makes it as good as new; what went wrong shows in `isUsable`. */
  reset(): Promise<void>;
  close(): Promise<void>;
}

export interface PoolOptions<T> {
  readonly max: number;
  readonly maxWaiting: number;
  /** How long a statement waits for its turn. */
  readonly waitMs: number;
  /** How long a connection is kept that nobody uses. */
  readonly idleMs: number;
  readonly open: () => Promise<T>;
}

interface Waiting {
  readonly wake: () => void;
  readonly leave: (reason: unknown) => void;
}

/** A few connections that are opened when they are needed and closed when they are not. */
export class Pool<T extends Pooled> {
  readonly #options: PoolOptions<T>;
  readonly #all = new Set<T>();
  readonly #idle: { readonly item: T; readonly timer: NodeJS.Timeout }[] = [];
  readonly #waiting: Waiting[] = [];
  #taken = 0;
  #isClosed = false;

  constructor(options: PoolOptions<T>) {
    this.#options = options;
  }

  /** Lends a connection to some work, and takes it back when the work is done and the connection is clean. */
  async use<R>(signal: AbortSignal, work: (item: T) => Promise<R>): Promise<R> {
    await this.#turn(signal);
    let item: T | undefined;
    try {
      item = this.#takeIdle() ?? (await this.#open());
      signal.throwIfAborted();
      return await work(item);
    } finally {
      // Nobody waits for the cleaning but who comes next.
      void this.#giveBack(item);
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    for (const { timer } of this.#idle.splice(0)) clearTimeout(timer);
    for (const one of [...this.#waiting]) one.leave(closed());
    await Promise.all([...this.#all].map((item) => this.#discard(item)));
  }

  async #turn(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const { max, maxWaiting, waitMs } = this.#options;
    if (this.#isClosed) throw closed();
    if (this.#taken < max) {
      this.#taken += 1;
      return;
    }
    const busy = () => new ToolError(`All ${max} connections are busy; try again when other statements are done`);
    if (this.#waiting.length >= maxWaiting) throw busy();
    await new Promise<void>((resolve, reject) => {
      const leave = (reason: unknown) => {
        const at = this.#waiting.indexOf(one);
        if (at >= 0) this.#waiting.splice(at, 1);
        settle(() => reject(reason));
      };
      const abort = () => leave(signal.reason);
      const timer = setTimeout(() => leave(busy()), waitMs);
      const settle = (then: () => void) => {
        clearTimeout(timer);
        signal.removeEventListener("abort", abort);
        then();
      };
      const one: Waiting = { wake: () => settle(resolve), leave };
      this.#waiting.push(one);
      signal.addEventListener("abort", abort, { once: true });
    });
  }

  #takeIdle(): T | undefined {
    for (let one = this.#idle.pop(); one; one = this.#idle.pop()) {
      clearTimeout(one.timer);
      if (one.item.isUsable) return one.item;
      void this.#discard(one.item);
    }
    return undefined;
  }

  async #open(): Promise<T> {
    const item = await this.#options.open();
    this.#all.add(item);
    if (this.#isClosed) {
      await this.#discard(item);
      throw closed();
    }
    return item;
  }

  async #giveBack(item: T | undefined): Promise<void> {
    if (item?.isUsable) await item.reset();
    if (item?.isUsable && !this.#isClosed) {
      const timer = setTimeout(() => this.#retire(item), this.#options.idleMs);
      timer.unref();
      this.#idle.push({ item, timer });
    } else if (item) await this.#discard(item);
    // The turn goes to the next one, or is free.
    const next = this.#waiting.shift();
    if (next) next.wake();
    else this.#taken -= 1;
  }

  #retire(item: T): void {
    const at = this.#idle.findIndex((one) => one.item === item);
    if (at < 0) return;
    this.#idle.splice(at, 1);
    void this.#discard(item);
  }

  async #discard(item: T): Promise<void> {
    this.#all.delete(item);
    await item.close();
  }
}

function closed(): ToolError {
  return new ToolError("The database was closed");
}
