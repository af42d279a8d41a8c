import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { createMemoryStorage } from "../storage/memory.ts";
import type { Storage } from "../storage/storage.ts";
import { reportIntervalMs } from "../throttle.ts";
import type { ErrorReport } from "./define/definition.ts";
import { createServer, runtimeOf } from "./define/server.ts";
import { storageNoticeMs, storageTimeoutMs } from "./limits.ts";
import { isStorageFailure, reportedStorage } from "./reported-storage.ts";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

function watched(change: (memory: Storage) => Partial<Storage>) {
  const reported: Error[] = [];
  const about: ErrorReport[] = [];
  const server = createServer(
    { name: "s", version: "1" },
    {
      onError: (error, origin) => {
        reported.push(error as Error);
        about.push(origin);
      },
    },
  );
  const memory = createMemoryStorage();
  const storage = { ...memory, ...change(memory) };
  return { reported, about, runtime: runtimeOf(server), storage, watched: reportedStorage(runtimeOf(server), storage) };
}

test("an operation that hangs is reported once, and those that follow it are not", async () => {
  const {
    reported,
    runtime,
    storage,
    watched: kept,
  } = watched(({ kv }) => ({
    kv: { ...kv, get: () => new Promise(() => {}) },
  }));
  expect(reportedStorage(runtime, storage)).toBe(kept);
  kept.kv.get("a").catch(() => {});
  await vi.advanceTimersByTimeAsync(storageNoticeMs - 1);
  expect(reported).toEqual([]);
  await vi.advanceTimersByTimeAsync(1);
  kept.kv.get("b").catch(() => {});
  await vi.advanceTimersByTimeAsync(10 * storageNoticeMs);
  expect(reported).toMatchObject([{ code: "store-failed" }]);
  expect(reported[0]?.message).toMatch(/^The storage has not answered kv\.get for 5 s; check that it is up/);
});

/** A storage whose `kv.get` waits until the test lets it go on. */
function hanging() {
  let waiting: ((value: undefined) => void)[] = [];
  let isHanging = true;
  const all = watched(({ kv }) => ({
    kv: {
      ...kv,
      get: () => (isHanging ? new Promise((resolve) => waiting.push(resolve)) : Promise.resolve(undefined)),
    },
  }));
  return {
    ...all,
    hang: () => {
      isHanging = true;
    },
    answer: async () => {
      isHanging = false;
      for (const resolve of waiting) resolve(undefined);
      waiting = [];
      await vi.advanceTimersByTimeAsync(0);
    },
    /** Forgets the operations that wait, which never end then. */
    lose: () => {
      isHanging = false;
      waiting = [];
    },
    messages: () => all.reported.map(({ message }) => message),
  };
}

test("each hang of a storage is reported, and its end with its length", async () => {
  const { watched: kept, hang, answer, messages } = hanging();
  kept.kv.get("a").catch(() => {});
  await vi.advanceTimersByTimeAsync(7_000);
  await answer();
  const first = [
    "The storage has not answered kv.get for 5 s; check that it is up and reachable. Requests that need it wait, and fail after 15 s",
    "The storage answers again after 7.0 s",
  ];
  expect(messages()).toEqual(first);
  await vi.advanceTimersByTimeAsync(2 * reportIntervalMs);
  hang();
  kept.kv.get("b").catch(() => {});
  await vi.advanceTimersByTimeAsync(9_000);
  await answer();
  expect(messages().slice(2)).toEqual([first[0], "The storage answers again after 9.0 s"]);
});

test("hangs that follow each other are reported once a minute, with their number", async () => {
  const { watched: kept, hang, answer, messages } = hanging();
  for (let hangs = 0; hangs < 5; hangs += 1) {
    hang();
    kept.kv.get("a").catch(() => {});
    await vi.advanceTimersByTimeAsync(storageNoticeMs);
    await answer();
  }
  expect(messages()).toHaveLength(2);
  await vi.advanceTimersByTimeAsync(reportIntervalMs);
  expect(messages()).toHaveLength(4);
  expect(messages()[2]).toMatch(/ \(4 times since the last report\)$/);
});

test("a hang ends with the first later answer, although lost operations never end", async () => {
  const { watched: kept, lose, messages } = hanging();
  kept.kv.get("a").catch(() => {});
  await vi.advanceTimersByTimeAsync(storageNoticeMs);
  lose();
  await kept.kv.get("b");
  expect(messages()).toHaveLength(2);
  await vi.advanceTimersByTimeAsync(10 * storageNoticeMs);
  expect(messages()).toHaveLength(2);
});

test("an operation that never ends fails after a while, and is reported as a hang only", async () => {
  const { watched: kept, lose, messages } = hanging();
  const [first, second] = [kept.kv.get("a"), kept.kv.get("b")].map((read) => read.catch((cause) => cause));
  await vi.advanceTimersByTimeAsync(storageTimeoutMs);
  for (const failed of [await first, await second]) {
    expect(failed).toMatchObject({ code: "store-failed", message: "The storage has not answered kv.get within 15 s" });
    expect(isStorageFailure(failed)).toBe(true);
  }
  expect(messages()).toHaveLength(1);
  lose();
  await kept.kv.get("c");
  expect(messages()[1]).toBe("The storage answers again after 15.0 s");
});

test("an operation that never ends fails although others end all the time", async () => {
  const { watched: kept, lose } = hanging();
  const lost = kept.kv.get("a").catch((cause) => cause);
  lose();
  for (let second = 0; second < storageTimeoutMs / 1_000; second += 1) {
    await kept.kv.get("b");
    await vi.advanceTimersByTimeAsync(1_000);
  }
  expect(await lost).toMatchObject({ code: "store-failed" });
});

test("reading a log fails after a while, but not following it", async () => {
  const next = () => new Promise<never>(() => {});
  const after = () => ({ [Symbol.asyncIterator]: () => ({ next, return: next }) });
  const { watched: kept } = watched(({ log }) => ({ log: { ...log, after, append: log.append, delete: log.delete } }));
  const ended: string[] = [];
  const read = (name: string, entries: AsyncIterator<unknown>) => entries.next().catch(() => ended.push(name));
  void read("read", kept.log.after("a", "")[Symbol.asyncIterator]());
  const following = kept.log.after("a", "", { follow: true })[Symbol.asyncIterator]();
  void read("follow", following);
  following.return?.().catch(() => ended.push("return"));
  await vi.advanceTimersByTimeAsync(10 * storageTimeoutMs);
  expect(ended.sort()).toEqual(["read", "return"]);
});

test("a subscription that begins after it has failed is ended", async () => {
  let begin = (_stop: () => Promise<void>) => {};
  const subscribe = () => new Promise<() => Promise<void>>((resolve) => (begin = resolve));
  const { watched: kept } = watched(({ bus }) => ({ bus: { publish: bus.publish, subscribe } }));
  const failed = kept.bus.subscribe("topic", vi.fn(), vi.fn()).catch((cause) => cause);
  await vi.advanceTimersByTimeAsync(storageTimeoutMs);
  expect(await failed).toMatchObject({ code: "store-failed" });
  const stop = vi.fn(async () => {});
  begin(stop);
  await vi.advanceTimersByTimeAsync(0);
  expect(stop).toHaveBeenCalledOnce();
});

test("failures of a storage are reported once a minute for each operation, with their number and latest origin", async () => {
  const {
    reported,
    about,
    runtime,
    watched: kept,
  } = watched(({ kv }) => ({
    kv: { ...kv, get: (key) => Promise.reject(new Error(`no ${key}`)), set: () => Promise.reject(new Error("no")) },
  }));
  for (let call = 0; call < 100; call += 1) {
    await kept.kv.get(`key ${call}`).catch((cause) => runtime.report(cause, { principal: `p${call}` }));
    await kept.kv.set("a", "1").catch((cause) => runtime.report(cause));
  }
  expect(reported.map(({ message }) => message)).toEqual([
    "The storage failed (kv.get): no key 0",
    "The storage failed (kv.set): no",
  ]);
  runtime.report(new Error("another error"));
  expect(reported).toHaveLength(3);
  await vi.advanceTimersByTimeAsync(reportIntervalMs);
  expect(reported[3]?.message).toBe("The storage failed (kv.get): no key 99");
  expect(about[3]).toEqual({ principal: "p99", count: 99, reference: expect.any(String) });
  expect(reported).toHaveLength(5);
});

describe("the end of failures", () => {
  /** A storage whose operations fail until the test says otherwise. */
  function failing() {
    const broken = new Set(["get", "set"]);
    const through = <T>(name: string, work: () => Promise<T>) =>
      broken.has(name) ? Promise.reject(new Error("away")) : work();
    const all = watched(({ kv }) => ({
      kv: {
        ...kv,
        get: (key) => through("get", () => kv.get(key)),
        set: (key, value, options) => through("set", () => kv.set(key, value, options)),
      },
    }));
    const use = async () => {
      for (const work of [() => all.watched.kv.get("a"), () => all.watched.kv.set("a", "1")]) {
        await work().catch((cause) => all.runtime.report(cause));
      }
    };
    return { broken, use, ends: () => all.reported.map(({ message }) => message).filter((text) => /again/.test(text)) };
  }

  test("is reported with their length", async () => {
    const { broken, use, ends } = failing();
    await use();
    await vi.advanceTimersByTimeAsync(6_000);
    broken.clear();
    await use();
    await use();
    expect(ends()).toEqual(["The storage answers again after 6.0 s"]);
  });

  test("is not reported if they were short", async () => {
    const { broken, use, ends } = failing();
    await use();
    await vi.advanceTimersByTimeAsync(storageNoticeMs - 1);
    broken.clear();
    await use();
    expect(ends()).toEqual([]);
  });

  test("is not reported while writes fail and reads do not, as in a storage that is full", async () => {
    const { broken, use, ends } = failing();
    await use();
    await vi.advanceTimersByTimeAsync(6_000);
    broken.delete("get");
    await use();
    expect(ends()).toEqual([]);
    broken.clear();
    await use();
    expect(ends()).toHaveLength(1);
  });
});

test("operations that end in time are not reported, and no timer stays", async () => {
  const { reported, watched: kept } = watched(() => ({}));
  await kept.kv.set("a", "1");
  expect(await kept.kv.get("a")).toBe("1");
  await vi.advanceTimersByTimeAsync(storageNoticeMs);
  expect(reported).toEqual([]);
  expect(vi.getTimerCount()).toBe(0);
});

test("errors of the library keep their code", async () => {
  const { watched: kept } = watched(() => ({}));
  const after = kept.log.after("a", "no id")[Symbol.asyncIterator]().next();
  await expect(after).rejects.toMatchObject({ code: "invalid-argument" });
});
