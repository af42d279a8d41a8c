import { ToolError } from "portolan/server";
import { itemToRefuse, type QueuedItem } from "portolan-server-kit";

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

type CallerKey = QueuedItem["caller"];

interface Waiter extends QueuedItem {
  readonly wake: () => void;
  readonly leave: (reason: unknown) => void;
}

/**
 * A connection pool: opens connections on demand and closes idle ones. Callers share it: one caller never has all
 * connections, a free one goes to the caller that has fewest, and a full queue refuses the caller that waits most often.
 */
export class Pool<T extends Pooled> {
  readonly #options: PoolOptions<T>;
  readonly #all = new Set<T>();
  readonly #idle: { readonly item: T; readonly timer: NodeJS.Timeout }[] = [];
  readonly #waiting: Waiter[] = [];
  readonly #running = new Map<CallerKey, number>();
  #taken = 0;
  #isClosed = false;

  constructor(options: PoolOptions<T>) {
    this.#options = options;
  }

  /** Runs `work` with a connection; the connection is reset before the next caller gets it. */
  async use<R>(signal: AbortSignal, work: (item: T) => Promise<R>, caller?: string): Promise<R> {
    await this.#turn(signal, caller);
    let item: T | undefined;
    try {
      item = this.#takeIdle() ?? (await this.#open());
      signal.throwIfAborted();
      return await work(item);
    } finally {
      // Not awaited: only the next caller has to wait for the reset.
      void this.#giveBack(item, caller);
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    for (const { timer } of this.#idle.splice(0)) clearTimeout(timer);
    for (const one of [...this.#waiting]) one.leave(closed());
    await Promise.all([...this.#all].map((item) => this.#discard(item)));
  }

  async #turn(signal: AbortSignal, caller: CallerKey): Promise<void> {
    signal.throwIfAborted();
    const { waitMs } = this.#options;
    if (this.#isClosed) throw closed();
    if (this.#taken < this.#options.max && this.#mayRun(caller)) {
      this.#take(caller);
      return;
    }
    this.#makeRoom(caller);
    await new Promise<void>((resolve, reject) => {
      const leave = (reason: unknown) => {
        const at = this.#waiting.indexOf(one);
        if (at >= 0) this.#waiting.splice(at, 1);
        settle(() => reject(reason));
      };
      const abort = () => leave(signal.reason);
      const timer = setTimeout(() => leave(this.#busy(caller)), waitMs);
      const settle = (then: () => void) => {
        clearTimeout(timer);
        signal.removeEventListener("abort", abort);
        then();
      };
      const one: Waiter = { caller, wake: () => settle(resolve), leave };
      this.#waiting.push(one);
      signal.addEventListener("abort", abort, { once: true });
    });
  }

  /** One connection is left for others, unless there is only one or callers cannot be told apart. */
  #mayRun(caller: CallerKey): boolean {
    return caller === undefined || this.#runningOf(caller) < Math.max(1, this.#options.max - 1);
  }

  #runningOf(caller: CallerKey): number {
    return this.#running.get(caller) ?? 0;
  }

  #take(caller: CallerKey): void {
    this.#taken += 1;
    this.#running.set(caller, this.#runningOf(caller) + 1);
  }

  #release(caller: CallerKey): void {
    this.#taken -= 1;
    const left = this.#runningOf(caller) - 1;
    if (left > 0) this.#running.set(caller, left);
    else this.#running.delete(caller);
  }

  /** Makes room in a full queue: refuses the newest waiter of the caller that has most, or throws if that is this one. */
  #makeRoom(caller: CallerKey): void {
    if (this.#waiting.length < this.#options.maxWaiting) return;
    const refused = itemToRefuse(this.#waiting, caller);
    if (!refused) throw this.#busy(caller);
    refused.leave(this.#busy(refused.caller));
  }

  #busy(caller: CallerKey): ToolError {
    const which = this.#mayRun(caller) ? `All ${this.#options.max} connections` : "Your connections";
    return new ToolError(`${which} are busy; try again when other statements are done`);
  }

  /** Gives free connections to the waiting callers that have fewest, in the order in which they came. */
  #wakeNext(): void {
    while (this.#taken < this.#options.max) {
      let next: Waiter | undefined;
      for (const one of this.#waiting) {
        if (!this.#mayRun(one.caller)) continue;
        if (!next || this.#runningOf(one.caller) < this.#runningOf(next.caller)) next = one;
      }
      if (!next) return;
      this.#waiting.splice(this.#waiting.indexOf(next), 1);
      this.#take(next.caller);
      next.wake();
    }
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

  async #giveBack(item: T | undefined, caller: CallerKey): Promise<void> {
    try {
      await this.#putAway(item);
    } finally {
      this.#release(caller);
      this.#wakeNext();
    }
  }

  async #putAway(item: T | undefined): Promise<void> {
    if (item?.isUsable) await item.reset();
    if (item?.isUsable && !this.#isClosed) {
      const timer = setTimeout(() => this.#retire(item), this.#options.idleMs);
      timer.unref();
      this.#idle.push({ item, timer });
    } else if (item) await this.#discard(item);
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
