import { mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { storageContract } from "../../testing/storage-contract.ts";
import type { LogEntry } from "../storage.ts";
import { createFileStorage, type FileStorage, type FileStorageOptions } from "./file-storage.ts";

function makeFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "portolan-file-storage-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

function open(folder: string, options?: FileStorageOptions): FileStorage {
  const storage = createFileStorage(folder, options);
  onTestFinished(() => storage.close());
  return storage;
}

async function valuesOf(entries: AsyncIterable<LogEntry>): Promise<string[]> {
  const values: string[] = [];
  for await (const { value } of entries) values.push(value);
  return values;
}

/** Returns the path of the journal. */
function journalIn(folder: string): string {
  const names = readdirSync(folder).filter((name) => name.endsWith(".log"));
  expect(names).toHaveLength(1);
  return join(folder, names[0] ?? "");
}

describe("fulfils the storage contract", () => {
  const make = async () => {
    const folder = mkdtempSync(join(tmpdir(), "portolan-file-storage-"));
    const storage = createFileStorage(folder);
    return {
      storage,
      other: storage,
      passTime: (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms + 5)),
      async release() {
        await storage.close();
        rmSync(folder, { recursive: true, force: true });
      },
    };
  };
  for (const { name, run } of storageContract(make)) test(name, run);
});

test("keeps everything over a restart, and gives new ids", async () => {
  const folder = makeFolder();
  const first = open(folder);
  await first.kv.set("a", "1");
  await first.kv.set("b", "1", { ttlMs: 600_000 });
  await first.kv.set("c", "1", { ttlMs: 1 });
  await first.kv.delete("a");
  await first.kv.set("d", "\ud800 ☂ 🗺\n");
  await first.log.append("l", "1");
  await first.log.append("l", "2", { keep: 2, ttlMs: 600_000 });
  const last = await first.log.append("l", "3", { keep: 2 });
  await first.log.append("gone", "1");
  await first.log.delete("gone");
  await first.log.append("short", "1", { ttlMs: 1 });
  await first.close();
  const second = open(folder);
  expect(await second.kv.list("")).toEqual([
    { key: "b", value: "1" },
    { key: "d", value: "\ud800 ☂ 🗺\n" },
  ]);
  expect(await valuesOf(second.log.after("l", ""))).toEqual(["2", "3"]);
  expect(await valuesOf(second.log.after("gone", ""))).toEqual([]);
  expect(await valuesOf(second.log.after("short", ""))).toEqual([]);
  expect(Number(await second.log.append("l", "4"))).toBeGreaterThan(Number(last));
  expect(await valuesOf(second.log.after("l", last))).toEqual(["4"]);
});

test("keeps the entries of a log whose expiry was moved, and drops those of one that began anew", async () => {
  const folder = makeFolder();
  const first = open(folder);
  await first.log.append("moved", "1", { ttlMs: 300 });
  await first.log.append("moved", "2", { ttlMs: 600_000 });
  await first.log.append("anew", "1", { ttlMs: 20 });
  await expect.poll(() => valuesOf(first.log.after("anew", ""))).toEqual([]);
  await first.log.append("anew", "2");
  await first.close();
  await new Promise((resolve) => setTimeout(resolve, 300));
  const second = open(folder);
  expect(await valuesOf(second.log.after("moved", ""))).toEqual(["1", "2"]);
  expect(await valuesOf(second.log.after("anew", ""))).toEqual(["2"]);
});

test.each<[string, (storage: FileStorage) => Promise<unknown>, (storage: FileStorage) => Promise<unknown>, unknown]>([
  ["a value", ({ kv }) => kv.set("last", "☂".repeat(20)), ({ kv }) => kv.get("last"), "☂".repeat(20)],
  ["a deletion", ({ kv }) => kv.delete("first"), ({ kv }) => kv.get("first"), undefined],
  ["an entry", ({ log }) => log.append("l", "2"), ({ log }) => valuesOf(log.after("l", "")), ["1", "2"]],
])("survives a crash at every byte of the last record: %s", async (_, write, read, written) => {
  const folder = makeFolder();
  const storage = open(folder);
  await storage.kv.set("first", "1");
  await storage.log.append("l", "1");
  const before = await read(storage);
  const start = statSync(journalIn(folder)).size;
  await write(storage);
  await storage.close();
  const name = journalIn(folder);
  const bytes = readFileSync(name);
  expect(bytes.length).toBeGreaterThan(start + 10);
  for (let length = start; length <= bytes.length; length += 1) {
    writeFileSync(name, bytes.subarray(0, length));
    const reports: unknown[] = [];
    const again = createFileStorage(folder, { onError: (error) => reports.push(error) });
    expect([length, await read(again)]).toEqual([length, length === bytes.length ? written : before]);
    expect(reports).toHaveLength(length === start || length === bytes.length ? 0 : 1);
    // What is written next is there after the next start.
    await again.kv.set("next", String(length));
    await again.close();
    const later = createFileStorage(folder);
    expect(await later.kv.get("next")).toBe(String(length));
    await later.close();
    rmSync(journalIn(folder));
  }
});

test("drops a record whose bytes have changed", async () => {
  const folder = makeFolder();
  const storage = open(folder);
  await storage.kv.set("a", "1");
  await storage.kv.set("b", "22222");
  await storage.close();
  const name = journalIn(folder);
  writeFileSync(name, readFileSync(name, "utf8").replace("22222", "22223"));
  expect(await open(folder).kv.list("")).toEqual([{ key: "a", value: "1" }]);
});

test("ignores what a crash during a compaction left", async () => {
  const folder = makeFolder();
  const storage = open(folder);
  await storage.kv.set("a", "new");
  await storage.close();
  writeFileSync(join(folder, "journal.tmp"), "half a snapshot");
  writeFileSync(join(folder, "journal-000000.log"), "an old journal");
  const again = open(folder);
  expect(await again.kv.get("a")).toBe("new");
  expect(readdirSync(folder).sort()).toEqual([expect.stringMatching(/^journal-\d{6}\.log$/), "lock"]);
});

test("replaces a journal that has grown, while it is written, and loses nothing", async () => {
  const folder = makeFolder();
  const storage = open(folder);
  const value = "x".repeat(20_000);
  for (let round = 0; round < 40; round += 1) {
    const writes = Array.from({ length: 30 }, (_, n) => storage.kv.set(`k${n}`, `${round} ${value}`));
    const entries = Array.from({ length: 5 }, (_, n) => storage.log.append("l", `${round}/${n}`, { keep: 50 }));
    await Promise.all([...writes, ...entries]);
  }
  const expected = await valuesOf(storage.log.after("l", ""));
  await storage.close();
  // All writes together are 24 MB.
  expect(statSync(journalIn(folder)).size).toBeLessThan(12_000_000);
  const again = open(folder);
  expect(await again.kv.list("k")).toHaveLength(30);
  for (const { value: text } of await again.kv.list("k")) expect(text.startsWith("39 ")).toBe(true);
  expect(await valuesOf(again.log.after("l", ""))).toEqual(expected);
  expect(expected).toHaveLength(50);
});

test("refuses a folder that another storage uses, and takes it when that is closed", async () => {
  const folder = makeFolder();
  const first = open(folder);
  await first.kv.set("a", "1");
  const second = open(folder, { patienceMs: 20 });
  await expect(second.ready()).rejects.toThrow(`process ${process.pid} of host`);
  await first.close();
  expect(await second.kv.get("a")).toBe("1");
});

test("writes nothing after another process took over the folder", async () => {
  const folder = makeFolder();
  const storage = open(folder);
  await storage.kv.set("a", "1");
  const name = journalIn(folder);
  renameSync(name, `${name}.moved`);
  for (let attempt = 0; attempt < 2; attempt += 1) {
    await expect(storage.kv.set("a", "2")).rejects.toThrow("another process has taken over the folder");
  }
  expect(readdirSync(folder).filter((file) => file.endsWith(".log"))).toEqual([]);
});

test("keeps its limits, also over a restart", async () => {
  const folder = makeFolder();
  const first = open(folder, { maxEntries: 2 });
  await first.kv.set("a", "1");
  await first.kv.set("b", "1");
  await expect(first.kv.set("c", "1")).rejects.toMatchObject({ code: "limit-reached" });
  await first.close();
  const second = open(folder, { maxEntries: 1 });
  expect(await second.kv.list("")).toHaveLength(2);
  await expect(second.kv.set("c", "1")).rejects.toMatchObject({ code: "limit-reached" });
});

test("refuses what cannot wait for the disk, and does not keep it in memory either", async () => {
  const { kv, log } = open(makeFolder());
  const large = "x".repeat(20 * 1024 * 1024);
  const results = await Promise.allSettled(["a", "b", "c", "d"].map((key) => kv.set(key, large)));
  expect(results.map(({ status }) => status)).toEqual(["fulfilled", "fulfilled", "rejected", "rejected"]);
  expect(results[2]).toMatchObject({ reason: { code: "limit-reached" } });
  expect((await kv.list("")).map(({ key }) => key)).toEqual(["a", "b"]);
  await log.append("l", "works on");
});

test("ends readers that wait when it is closed, and refuses calls then", async () => {
  const storage = open(makeFolder());
  const entries = storage.log.after("a", "", { follow: true })[Symbol.asyncIterator]();
  const next = entries.next();
  await storage.kv.set("a", "1");
  await Promise.all([storage.close(), storage.close()]);
  expect((await next).done).toBe(true);
  await expect(storage.kv.get("a")).rejects.toMatchObject({ code: "store-failed" });
});

test("refuses options that it does not know, and wrong ones", () => {
  const misspelt = { patience: 1 } as FileStorageOptions;
  expect(() => createFileStorage("x", misspelt)).toThrow("createFileStorage: unknown option `patience`");
  expect(() => createFileStorage("x", { maxEntries: -1 })).toThrow("maxEntries: expected a number from 0 on");
  expect(() => createFileStorage("")).toThrow("expected the path of a folder");
});
