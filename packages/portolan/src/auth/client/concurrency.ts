import { PortolanError } from "../../errors.ts";
import type { Storage } from "../../storage/storage.ts";
import { defaultPatienceMs, leaseMs, leaseRenewalMs, longestPauseMs, shortestPauseMs } from "./limits.ts";

/** Runs work under the same key one after the other, in order of arrival, within one process. */
export class KeyedMutex {
  readonly #last = new Map<string, Promise<void>>();

  async run<T>(key: string, work: () => Promise<T>): Promise<T> {
    const before = this.#last.get(key) ?? Promise.resolve();
    const mine = before.then(work);
    const settled = mine.then(nothing, nothing);
    this.#last.set(key, settled);
    try {
      return await mine;
    } finally {
      if (this.#last.get(key) === settled) this.#last.delete(key);
    }
  }
}

function nothing(): void {}

/** One piece of work with several waiters. It is aborted when the last waiter leaves. */
export class SharedPromise<T> {
  /** Resolves when the work has settled, either way. */
  readonly settled: Promise<void>;
  readonly #result: Promise<T>;
  readonly #controller = new AbortController();
  #waiters = 0;
  #isSettled = false;

  constructor(work: (signal: AbortSignal) => Promise<T>) {
    this.#result = work(this.#controller.signal);
    const settle = () => {
      this.#isSettled = true;
    };
    this.settled = this.#result.then(settle, settle);
  }

  /** True when every waiter left before the work had settled; then there is no result to wait for. */
  get isAborted(): boolean {
    return this.#controller.signal.aborted;
  }

  /** Waits for the result, or until `signal` aborts. */
  async join(signal: AbortSignal): Promise<T> {
    signal.throwIfAborted();
    this.#waiters += 1;
    let leave = () => {};
    const left = new Promise<never>((_, reject) => {
      leave = () => reject(signal.reason);
      signal.addEventListener("abort", leave, { once: true });
    });
    try {
      return await Promise.race([this.#result, left]);
    } finally {
      signal.removeEventListener("abort", leave);
      this.#waiters -= 1;
      if (this.#waiters === 0 && !this.#isSettled) this.#controller.abort(signal.reason);
    }
  }
}

/** Times of a lease: how long it holds, how often the holder renews it, how long others wait for it. */
export interface LeaseLimits {
  readonly leaseMs: number;
  readonly renewMs: number;
  readonly patienceMs: number;
}

const defaultLimits: LeaseLimits = { leaseMs, renewMs: leaseRenewalMs, patienceMs: defaultPatienceMs };
/** The value of a lease that was released: storage cannot delete a key only if it is unchanged, but it can replace it. */
const free = "";

/** Runs work while this process holds the lease `key`, which all processes with the same storage share. */
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
  if (!(await take())) await waitForLease(take, storage, key, limits.patienceMs);

  // A failed renewal does not disturb the work: the next one is tried anyway.
  const renew = () => void kv.set(key, holder, { ttlMs, expect: holder }).catch(() => {});
  const renewing = setInterval(renew, renewMs);
  (renewing as { unref?(): void }).unref?.();
  try {
    return await work();
  } finally {
    clearInterval(renewing);
    await release(storage, key, holder, ttlMs);
  }
}

/** Releases a lease. A failure is ignored: the result of the work matters more, and the lease expires by itself. */
async function release({ kv, bus }: Storage, key: string, holder: string, ttlMs: number): Promise<void> {
  try {
    if (await kv.set(key, free, { ttlMs, expect: holder })) await bus.publish(key, "free");
  } catch {}
}

async function waitForLease(
  take: () => Promise<boolean>,
  { bus }: Storage,
  key: string,
  patienceMs: number,
): Promise<void> {
  const endsAt = performance.now() + patienceMs;
  let isFree = false;
  let wake: () => void = () => {};
  const onFree = () => {
    isFree = true;
    wake();
  };
  const unsubscribe = await bus.subscribe(key, onFree, onFree);
  try {
    // The bus only shortens the pauses: a holder that died publishes nothing.
    for (let pauseMs = shortestPauseMs; !(await take()); pauseMs = Math.min(pauseMs * 2, longestPauseMs)) {
      if (performance.now() >= endsAt) throw leaseTimeout(key, patienceMs);
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

function leaseTimeout(key: string, patienceMs: number): PortolanError {
  const text = `Credential store: the lease ${JSON.stringify(key)} was not free within ${patienceMs} ms`;
  return new PortolanError("timeout", `${text}; another process still holds it`);
}
