import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readdir, rm, stat, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, onTestFinished, test } from "vitest";
import { storageContract } from "../../testing/storage-contract.ts";
import { createMemoryStorage } from "../memory.ts";
import { folderKeyValue } from "./folder.ts";

async function makeFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "portolan-folder-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  return join(folder, "store");
}

describe("fulfils the key-value part of the storage contract", () => {
  const make = async () => {
    let time = 1_000_000;
    const folder = await makeFolder();
    const open = () => ({ ...createMemoryStorage(), kv: folderKeyValue(folder, { now: () => time }) });
    const passTime = async (ms: number) => {
      time += ms;
    };
    return { storage: open(), other: open(), passTime };
  };
  for (const { name, run } of storageContract(make)) if (name.startsWith("kv:")) test(name, run);
});

test("creates private files and ignores files that are no values", async () => {
  const folder = await makeFolder();
  const kv = folderKeyValue(folder);
  expect(await kv.list("")).toEqual([]);
  await kv.set("a", "secret");
  expect((await stat(folder)).mode & 0o777).toBe(0o700);
  const [name = ""] = await readdir(folder);
  expect((await stat(join(folder, name))).mode & 0o777).toBe(0o600);
  await writeFile(join(folder, name), "{ broken");
  expect(await kv.get("a")).toBeUndefined();
  expect(await kv.list("")).toEqual([]);
  expect(await kv.set("a", "again", { expect: null })).toBe(true);
});

test("deletes expired values while others are written", async () => {
  const folder = await makeFolder();
  let time = 1_000_000;
  const kv = folderKeyValue(folder, { now: () => time });
  await kv.set("kept", "1");
  for (let number = 0; number < 60; number += 1) await kv.set(`expiring ${number}`, "x", { ttlMs: 1_000 });
  await writeFile(join(folder, `${"0".repeat(16)}.tmp`), "left by a process that died");
  const old = new Date(Date.now() - 3_600_000);
  await utimes(join(folder, `${"0".repeat(16)}.tmp`), old, old);
  expect(await readdir(folder)).toHaveLength(62);
  time += 1_001;
  // Another process lists the folder anew.
  const other = folderKeyValue(folder, { now: () => time });
  for (let write = 0; write < 16; write += 1) await other.set("written", String(write), { ttlMs: 1_000 });
  expect((await readdir(folder)).length).toBeLessThanOrEqual(2);
  expect(await other.get("kept")).toBe("1");
  expect(await other.get("written")).toBe("15");
});

test("lists the other values when one is a folder", async () => {
  const folder = await makeFolder();
  const kv = folderKeyValue(folder);
  await kv.set("a", "1");
  await mkdir(join(folder, `${"0".repeat(40)}.json`));
  expect(await kv.list("")).toEqual([{ key: "a", value: "1" }]);
});

test("writes again after the folder could not be made", async () => {
  const folder = await makeFolder();
  const kv = folderKeyValue(join(folder, "below"));
  await writeFile(folder, "in the way");
  await expect(kv.set("a", "1")).rejects.toThrow();
  await rm(folder);
  expect(await kv.set("a", "1")).toBe(true);
});

test("names the folder when a file in it cannot be written", async () => {
  const folder = await makeFolder();
  const module = JSON.stringify(new URL("./folder.ts", import.meta.url).href);
  const program = `const { folderKeyValue } = await import(${module});
    const kv = folderKeyValue(${JSON.stringify(folder)});
    await kv.set("small", "x");
    await kv.set("large", "x".repeat(1_000_000)).catch(({ code, message }) => console.log(code, message));`;
  // The system lets this process write files of 100 KiB only, and reports it as it does a full disk.
  const command = `ulimit -f 100; exec ${process.execPath} --import tsx --input-type=module -e '${program}'`;
  const { stdout } = await promisify(execFile)("bash", ["-c", command]);
  expect(stdout).toContain("EFBIG");
  expect(stdout).toContain(` in ${folder}`);
});

test("lets one of many concurrent writers create a key", async () => {
  const folder = await makeFolder();
  const results = await Promise.all(
    Array.from({ length: 20 }, (_, at) => folderKeyValue(folder).set("key", String(at), { expect: null })),
  );
  expect(results.filter(Boolean)).toHaveLength(1);
  expect((await readdir(folder)).filter((name) => !name.endsWith(".json"))).toEqual([]);
});

test("refuses unknown options", () => {
  const misspelt = { now: Date.now, clock: Date.now };
  expect(() => folderKeyValue("anywhere", misspelt)).toThrow("folderKeyValue: unknown option `clock`");
});
