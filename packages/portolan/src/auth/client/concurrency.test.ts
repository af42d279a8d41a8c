import { expect, onTestFinished, test, vi } from "vitest";
import { createMemoryStorage } from "../../storage/memory.ts";
import type { Storage } from "../../storage/storage.ts";
import { KeyedMutex, type LeaseLimits, SharedPromise, withLease } from "./concurrency.ts";

const limits: LeaseLimits = { leaseMs: 30_000, renewMs: 10_000, patienceMs: 60_000 };

/** A storage with a clock that the test advances. */
function setUp() {
  let time = 1_000;
  const storage = createMemoryStorage({ now: () => time });
  return {
    storage,
    pass: (ms: number) => {
      time += ms;
    },
  };
}

function createGate(): { readonly opened: Promise<void>; open(): void } {
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open: () => open() };
}

/** Resolves when a waiter has found the lease taken and listens for its release. */
function whenAwaited(storage: Storage): { readonly storage: Storage; readonly awaited: Promise<void> } {
  const { opened, open } = createGate();
  const subscribe: Storage["bus"]["subscribe"] = async (...args) => {
    const unsubscribe = await storage.bus.subscribe(...args);
    open();
    return unsubscribe;
  };
  return { storage: { ...storage, bus: { ...storage.bus, subscribe } }, awaited: opened };
}

test("wakes a waiter by the bus when the lease is released", async () => {
  // With fake timers no pause ends by itself.
  vi.useFakeTimers({ toFake: ["setTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  const { storage } = setUp();
  const [working, gate] = [createGate(), createGate()];
  const first = withLease(storage, "a", async () => {
    working.open();
    await gate.opened;
  });
  await working.opened;
  const watched = whenAwaited(storage);
  const second = withLease(watched.storage, "a", async () => "second", limits);
  await watched.awaited;
  gate.open();
  await first;
  expect(await second).toBe("second");
});

test("gives the lease of a dead holder to a waiter after it expires", async () => {
  const { storage, pass } = setUp();
  await storage.kv.set("a", "a holder that died", { ttlMs: 30_000 });
  const watched = whenAwaited(storage);
  let hasRun = false;
  const waiting = withLease(watched.storage, "a", async () => {
    hasRun = true;
  });
  await watched.awaited;
  pass(29_999);
  await storage.kv.get("a");
  expect(hasRun).toBe(false);
  pass(1);
  await waiting;
  expect(hasRun).toBe(true);
});

test("renews the lease while the work runs", async () => {
  const { storage, pass } = setUp();
  const work = async () => {
    const holder = await storage.kv.get("a");
    expect(holder).toBeTruthy();
    // Together twice the time of the lease; each step waits until the lease was renewed.
    for (let step = 0; step < 8; step += 1) {
      pass(25);
      const { promise, renewed } = renewal(storage, "a");
      await promise;
      expect(renewed()).toBe(holder);
    }
    expect(await storage.kv.get("a")).toBe(holder);
  };
  await withLease(storage, "a", work, { leaseMs: 100, renewMs: 5, patienceMs: 1_000 });
});

/** Waits for the next value that is written to `key`. */
function renewal({ kv }: Storage, key: string): { promise: Promise<void>; renewed: () => string | undefined } {
  const original = kv.set.bind(kv);
  let written: string | undefined;
  const promise = new Promise<void>((resolve) => {
    kv.set = async (name, value, options) => {
      const isWritten = await original(name, value, options);
      if (name === key && isWritten) {
        written = value;
        kv.set = original;
        resolve();
      }
      return isWritten;
    };
  });
  return { promise, renewed: () => written };
}

test("returns the result after a lost lease and leaves the new holder its lease", async () => {
  const { storage, pass } = setUp();
  const result = await withLease(storage, "a", async () => {
    pass(30_000);
    await storage.kv.set("a", "the next holder", { expect: null });
    return "done";
  });
  expect(result).toBe("done");
  expect(await storage.kv.get("a")).toBe("the next holder");
});

test("rejects with code timeout and the name of the lease", async () => {
  const { storage } = setUp();
  await storage.kv.set("credentials:lease:key", "a holder that lives on");
  const waiting = withLease(storage, "credentials:lease:key", async () => "never", { ...limits, patienceMs: 30 });
  await expect(waiting).rejects.toMatchObject({ name: "PortolanError", code: "timeout" });
  await expect(waiting).rejects.toThrow("credentials:lease:key");
});

test("returns the result when the lease cannot be released", async () => {
  const { storage } = setUp();
  const result = await withLease(storage, "a", async () => {
    storage.kv.set = () => Promise.reject(new Error("The storage is gone"));
    return "done";
  });
  expect(result).toBe("done");
});

const waiter = () => new AbortController();

test("gives one result to all waiters", async () => {
  let runs = 0;
  const shared = new SharedPromise(async () => {
    runs += 1;
    return "result";
  });
  expect(await Promise.all([shared.join(waiter().signal), shared.join(waiter().signal)])).toEqual(["result", "result"]);
  expect(runs).toBe(1);
});

test("keeps the work running when one of two waiters leaves", async () => {
  let resolve: (value: string) => void = () => {};
  const promise = new Promise<string>((settle) => {
    resolve = settle;
  });
  let given: AbortSignal | undefined;
  const shared = new SharedPromise((signal) => {
    given = signal;
    return promise;
  });
  const leaving = waiter();
  const left = shared.join(leaving.signal);
  const stayed = shared.join(waiter().signal);
  leaving.abort(new Error("no time"));
  await expect(left).rejects.toThrow("no time");
  expect(given?.aborted).toBe(false);
  resolve("result");
  expect(await stayed).toBe("result");
});

test("aborts the work when the last waiter leaves", async () => {
  let given: AbortSignal | undefined;
  const shared = new SharedPromise((signal) => {
    given = signal;
    return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
  });
  const both = [waiter(), waiter()];
  const joined = both.map(({ signal }) => shared.join(signal));
  for (const one of both) one.abort(new Error("gone"));
  for (const one of joined) await expect(one).rejects.toThrow("gone");
  expect(given?.aborted).toBe(true);
  await shared.settled;
});

test("rejects at once for an aborted signal", async () => {
  const shared = new SharedPromise(async () => "result");
  await expect(shared.join(AbortSignal.abort(new Error("gone")))).rejects.toThrow("gone");
});

test("runs work under one key in order, and work under another key at the same time", async () => {
  const mutex = new KeyedMutex();
  const order: string[] = [];
  const gate = createGate();
  const first = mutex.run("a", async () => {
    await gate.opened;
    order.push("first");
    throw new Error("failed");
  });
  const second = mutex.run("a", async () => order.push("second"));
  await mutex.run("b", async () => order.push("other key"));
  gate.open();
  await expect(first).rejects.toThrow("failed");
  await second;
  expect(order).toEqual(["other key", "first", "second"]);
});
