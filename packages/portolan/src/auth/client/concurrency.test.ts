import { expect, onTestFinished, test, vi } from "vitest";
import { createMemoryStorage } from "../../storage/memory.ts";
import type { Storage } from "../../storage/storage.ts";
import { Flight, type LeaseLimits, withLease } from "./concurrency.ts";

const limits: LeaseLimits = { leaseMs: 30_000, renewMs: 10_000, patienceMs: 60_000 };

/** A storage of which a test turns the clock, and a promise that is kept on demand. */
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

/** Resolves when somebody has found the lease taken and listens for its end. */
function whenAwaited(storage: Storage): { readonly storage: Storage; readonly awaited: Promise<void> } {
  const { opened, open } = createGate();
  const subscribe: Storage["bus"]["subscribe"] = async (...args) => {
    const unsubscribe = await storage.bus.subscribe(...args);
    open();
    return unsubscribe;
  };
  return { storage: { ...storage, bus: { ...storage.bus, subscribe } }, awaited: opened };
}

test("one that waits is woken by the bus when the lease is given back", async () => {
  // No pause ever ends by itself here.
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

test("one that waits gets the lease of a holder that died, when its time is over", async () => {
  const { storage, pass } = setUp();
  await storage.kv.set("a", "somebody who died", { ttlMs: 30_000 });
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

test("a lease is renewed while the work runs", async () => {
  const { storage, pass } = setUp();
  const work = async () => {
    const holder = await storage.kv.get("a");
    expect(holder).toBeTruthy();
    // Twice as long as it holds, and it is still held: each step waits until the renewal was seen.
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

/** The next value that is written over `key`. */
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

test("whoever lost the lease hears its own result, and leaves the new holder alone", async () => {
  const { storage, pass } = setUp();
  const result = await withLease(storage, "a", async () => {
    pass(30_000);
    await storage.kv.set("a", "the next holder", { expect: null });
    return "done";
  });
  expect(result).toBe("done");
  expect(await storage.kv.get("a")).toBe("the next holder");
});

test("waiting ends with an error that names the lease", async () => {
  const { storage } = setUp();
  await storage.kv.set("credentials:lease:key", "a holder that lives on");
  const waiting = withLease(storage, "credentials:lease:key", async () => "never", { ...limits, patienceMs: 30 });
  await expect(waiting).rejects.toMatchObject({ name: "PortolanError", code: "timeout" });
  await expect(waiting).rejects.toThrow("credentials:lease:key");
});

test("work is not lost when the lease cannot be given back", async () => {
  const { storage } = setUp();
  const result = await withLease(storage, "a", async () => {
    storage.kv.set = () => Promise.reject(new Error("The storage is gone"));
    return "done";
  });
  expect(result).toBe("done");
});

const waiter = () => new AbortController();

test("all who wait hear of one result", async () => {
  let runs = 0;
  const flight = new Flight(async () => {
    runs += 1;
    return "result";
  });
  expect(await Promise.all([flight.join(waiter().signal), flight.join(waiter().signal)])).toEqual(["result", "result"]);
  expect(runs).toBe(1);
});

test("one who leaves takes nothing from the others", async () => {
  let resolve: (value: string) => void = () => {};
  const promise = new Promise<string>((settle) => {
    resolve = settle;
  });
  let given: AbortSignal | undefined;
  const flight = new Flight((signal) => {
    given = signal;
    return promise;
  });
  const leaving = waiter();
  const left = flight.join(leaving.signal);
  const stayed = flight.join(waiter().signal);
  leaving.abort(new Error("no time"));
  await expect(left).rejects.toThrow("no time");
  expect(given?.aborted).toBe(false);
  resolve("result");
  expect(await stayed).toBe("result");
});

test("work that nobody waits for any more is given up", async () => {
  let given: AbortSignal | undefined;
  const flight = new Flight((signal) => {
    given = signal;
    return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
  });
  const both = [waiter(), waiter()];
  const joined = both.map(({ signal }) => flight.join(signal));
  for (const one of both) one.abort(new Error("gone"));
  for (const one of joined) await expect(one).rejects.toThrow("gone");
  expect(given?.aborted).toBe(true);
  await flight.ended;
});

test("who has left before does not wait", async () => {
  const flight = new Flight(async () => "result");
  await expect(flight.join(AbortSignal.abort(new Error("gone")))).rejects.toThrow("gone");
});
