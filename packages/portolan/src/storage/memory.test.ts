import { describe, expect, test } from "vitest";
import { storageContract } from "../testing/storage-contract.ts";
import { createMemoryStorage } from "./memory.ts";

describe("fulfils the storage contract", () => {
  const make = async () => {
    const clock = createClock();
    const storage = createMemoryStorage({ now: clock.now });
    return { storage, other: storage, passTime: async (ms: number) => clock.pass(ms) };
  };
  for (const { name, run } of storageContract(make)) test(name, run);
});

test("refuses new keys when full, and still updates existing ones", async () => {
  const { kv } = createMemoryStorage({ maxEntries: 2 });
  await kv.set("a", "1");
  await kv.set("b", "1");
  await expect(kv.set("c", "1")).rejects.toMatchObject({ code: "limit-reached" });
  expect(await kv.set("b", "2")).toBe(true);
  expect(await kv.set("c", "1", { expect: "0" })).toBe(false);
  await kv.delete("a");
  expect(await kv.set("c", "1")).toBe(true);
});

test("removes expired keys before it refuses new ones", async () => {
  const clock = createClock();
  const { kv } = createMemoryStorage({ maxEntries: 3, now: clock.now });
  await kv.set("a", "1", { ttlMs: 10 });
  await kv.set("b", "1", { ttlMs: 20 });
  await kv.set("c", "1");
  clock.pass(10);
  await kv.set("d", "1");
  await expect(kv.set("e", "1")).rejects.toMatchObject({ code: "limit-reached" });
  clock.pass(10);
  await kv.set("e", "1");
  expect((await kv.list("")).map(({ key }) => key)).toEqual(["c", "d", "e"]);
});

test("bounds all logs together, and lets a log with `keep` continue", async () => {
  const { log } = createMemoryStorage({ maxLogEntries: 3 });
  await log.append("a", "1");
  await log.append("a", "2");
  await log.append("b", "1", { keep: 1 });
  await expect(log.append("a", "3")).rejects.toMatchObject({ code: "limit-reached" });
  await expect(log.append("c", "1", { keep: 1 })).rejects.toMatchObject({ code: "limit-reached" });
  await log.append("b", "2", { keep: 1 });
  await log.delete("a");
  await log.append("c", "1");
  await log.append("c", "2");
  await expect(log.append("c", "3")).rejects.toMatchObject({ code: "limit-reached" });
});

test("removes expired logs before it refuses entries", async () => {
  const clock = createClock();
  const { log } = createMemoryStorage({ maxLogEntries: 2, now: clock.now });
  await log.append("a", "1", { ttlMs: 10 });
  await log.append("a", "2", { ttlMs: 10 });
  await expect(log.append("b", "1")).rejects.toMatchObject({ code: "limit-reached" });
  clock.pass(10);
  await log.append("b", "1");
  await log.append("b", "2");
  await expect(log.append("b", "3")).rejects.toMatchObject({ code: "limit-reached" });
});

test("lets a slow follower skip entries that `keep` removed", async () => {
  const { log } = createMemoryStorage({ maxLogEntries: 2 });
  const entries = log.after("a", "", { follow: true })[Symbol.asyncIterator]();
  for (let value = 0; value < 100; value += 1) await log.append("a", String(value), { keep: 2 });
  expect((await entries.next()).value?.value).toBe("98");
  expect((await entries.next()).value?.value).toBe("99");
  await entries.return?.();
});

test("does not call a subscriber again while it publishes", async () => {
  const { bus } = createMemoryStorage();
  const trace: string[] = [];
  await new Promise<void>((resolve) => {
    const receive = (value: string) => {
      trace.push(`start ${value}`);
      if (value === "1") void bus.publish("a", "2");
      trace.push(`end ${value}`);
      if (value === "2") resolve();
    };
    void bus.subscribe("a", receive, () => {}).then(() => bus.publish("a", "1"));
  });
  expect(trace).toEqual(["start 1", "end 1", "start 2", "end 2"]);
});

test("refuses unknown options", () => {
  const misspelt = { maxEntrys: 1, now: Date.now };
  expect(() => createMemoryStorage(misspelt)).toThrow("unknown option `maxEntrys`; did you mean `maxEntries`?");
});

function createClock(): { now: () => number; pass(ms: number): void } {
  let time = 1_000;
  return {
    now: () => time,
    pass(ms) {
      time += ms;
    },
  };
}

test("counts the characters of keys and values, and frees those that are deleted, replaced or expired", async () => {
  const clock = { now: 0 };
  const { kv } = createMemoryStorage({ maxChars: 10, now: () => clock.now });
  await kv.set("a", "1234");
  await kv.set("b", "5678", { ttlMs: 1_000 });
  await expect(kv.set("c", "")).rejects.toThrow("at most 100000 keys and 10 characters");
  await expect(kv.set("a", "12345")).rejects.toThrow("10 characters");
  await kv.set("a", "1");
  await kv.set("c", "12");
  await expect(kv.set("d", "1")).rejects.toThrow("10 characters");
  await kv.delete("c");
  await kv.set("d", "12");
  clock.now = 2_000;
  await kv.set("e", "1234");
  expect(await kv.get("b")).toBeUndefined();
});
