import { ToolError } from "portolan/server";

/** A pooled connection; one statement uses it at a time. */
export interface Pooled {
  /** False when the connection must be discarded. */
  readonly isUsable: boolean;
  /** Cleans up after a statement; on failure it sets `isUsable` to false instead of throwing. */
  reset(): Promise<void>;
  close(): Promise<void>;
}

export interface PoolOptions<T> {
  readonly max: number;
  readonly maxWaiting: number;
  /** How long a statement waits for a connection. */
  readonly waitMs: number;
  /** How long an unused connection stays open. */
  readonly idleMs: number;
  readonly open: () => Promise<T>;
}

interface Waiter {
  readonly wake: () => void;
  readonly leave: (reason: unknown) => void;
}

/** A connection pool: opens connections on demand and closes idle ones. */
export class Pool<T extends Pooled> {
  readonly #options: PoolOptions<T>;
  readonly #all = new Set<T>();
  readonly #idle: { readonly item: T; readonly timer: NodeJS.Timeout }[] = [];
  readonly #waiting: Waiter[] = [];
  #taken = 0;
  #isClosed = false;

  constructor(options: PoolOptions<T>) {
    this.#options = options;
  }

  /** Runs `work` with a connection; the connection is reset before the next caller gets it. */
  async use<R>(signal: AbortSignal, work: (item: T) => Promise<R>): Promise<R> {
    await this.#turn(signal);
    let item: T | undefined;
    try {
      item = this.#takeIdle() ?? (await this.#open());
      signal.throwIfAborted();
      return await work(item);
    } finally {
      // Not awaited: only the next caller has to wait for the reset.
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
      const one: Waiter = { wake: () => settle(resolve), leave };
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
    // Hand the slot to the next waiter, or free it.
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
  return new ToolError("The database is closed");
}
