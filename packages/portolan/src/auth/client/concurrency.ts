import { PortolanError } from "../../errors.ts";
import type { Storage } from "../../storage/storage.ts";

/** How long a lease holds, how often it is renewed, and how long others wait for it. */
export interface LeaseLimits {
  readonly leaseMs: number;
  readonly renewMs: number;
  readonly patienceMs: number;
}

const defaultLimits: LeaseLimits = { leaseMs: 30_000, renewMs: 10_000, patienceMs: 60_000 };
const shortestPauseMs = 25;
const longestPauseMs = 1_000;
/** What a lease that was given back holds: a key cannot be deleted only if it is still ours, but it can be replaced. */
const free = "";

/** Runs work while this process holds the lease that all who share the storage know by `key`. */
export async function withLease<T>(
  storage: Storage,
  key: string,
  work: () => Promise<T>,
  given: Partial<LeaseLimits> = {},
): Promise<T> {
  const limits = { ...defaultLimits, ...given };
  const { kv } = storage;
  const { leaseMs: ttlMs, renewMs } = limits;
  const holder = crypto.randomUUID();
  const take = async () =>
    (await kv.set(key, holder, { ttlMs, expect: null })) || (await kv.set(key, holder, { ttlMs, expect: free }));
  if (!(await take())) await waitFor(take, storage, key, limits.patienceMs);

  // A renewal that fails is tried again with the next; the work is not disturbed by it.
  const renew = () => void kv.set(key, holder, { ttlMs, expect: holder }).catch(() => {});
  const renewing = setInterval(renew, renewMs);
  (renewing as { unref?(): void }).unref?.();
  try {
    return await work();
  } finally {
    clearInterval(renewing);
    await giveBack(storage, key, holder, ttlMs);
  }
}

/** What the work gave is worth more than the lease, which ends by itself when it cannot be given back. */
async function giveBack({ kv, bus }: Storage, key: string, holder: string, ttlMs: number): Promise<void> {
  try {
    if (await kv.set(key, free, { ttlMs, expect: holder })) await bus.publish(key, "free");
  } catch {}
}

async function waitFor(take: () => Promise<boolean>, { bus }: Storage, key: string, patienceMs: number): Promise<void> {
  const endsAt = Date.now() + patienceMs;
  let isFree = false;
  let wake: () => void = () => {};
  const hear = () => {
    isFree = true;
    wake();
  };
  const unsubscribe = await bus.subscribe(key, hear, hear);
  try {
    // The bus only shortens the pauses: a holder that died says nothing.
    for (let pauseMs = shortestPauseMs; !(await take()); pauseMs = Math.min(pauseMs * 2, longestPauseMs)) {
      if (Date.now() >= endsAt) throw outOfPatience(key, patienceMs);
      if (!isFree) {
        await new Promise<void>((resolve) => {
          wake = resolve;
          setTimeout(resolve, pauseMs);
        });
      }
      isFree = false;
    }
  } finally {
    await unsubscribe();
  }
}

function outOfPatience(key: string, patienceMs: number): PortolanError {
  const text = `Credential store: the lease ${JSON.stringify(key)} was not free within ${patienceMs} ms`;
  return new PortolanError("timeout", `${text}; another process still works under it`);
}

/** Lets work under the same key run one after the other, in the order it came, within one process. */
export class Turns {
  readonly #last = new Map<string, Promise<void>>();

  async take<T>(key: string, work: () => Promise<T>): Promise<T> {
    const before = this.#last.get(key) ?? Promise.resolve();
    const mine = before.then(work);
    const over = mine.then(nothing, nothing);
    this.#last.set(key, over);
    try {
      return await mine;
    } finally {
      if (this.#last.get(key) === over) this.#last.delete(key);
    }
  }
}

function nothing(): void {}

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
