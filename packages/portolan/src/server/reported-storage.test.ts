import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createMemoryStorage } from "../storage/memory.ts";
import type { Storage } from "../storage/storage.ts";
import { createServer, runtimeOf } from "./define/server.ts";
import { storageNoticeMs } from "./limits.ts";
import { reportedStorage } from "./reported-storage.ts";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

function watched(change: (memory: Storage) => Partial<Storage>) {
  const reported: Error[] = [];
  const server = createServer(
    { name: "s", version: "1" },
    {
      onError: (error) => {
        reported.push(error as Error);
      },
    },
  );
  const memory = createMemoryStorage();
  const storage = { ...memory, ...change(memory) };
  return { reported, runtime: runtimeOf(server), storage, watched: reportedStorage(runtimeOf(server), storage) };
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
  void kept.kv.get("a");
  await vi.advanceTimersByTimeAsync(storageNoticeMs - 1);
  expect(reported).toEqual([]);
  await vi.advanceTimersByTimeAsync(1);
  void kept.kv.get("b");
  await vi.advanceTimersByTimeAsync(10 * storageNoticeMs);
  expect(reported).toMatchObject([{ code: "store-failed" }]);
  expect(reported[0]?.message).toMatch(/^The storage has not answered kv\.get for 5 s; check that it is up/);
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
