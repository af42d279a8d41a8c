import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync, utimesSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { holdFileLock } from "portolan/storage/node";
import { seededRandom } from "portolan/testing";
import { expect, test } from "vitest";
import { add, freshFile, namesIn, openTestStore } from "./kit.ts";

const writer = fileURLToPath(new URL("./writer.mjs", import.meta.url));

interface Writing {
  readonly child: ChildProcess;
  /** Resolves at the end to the acknowledged names. */
  readonly acknowledged: Promise<string[]>;
  /** Resolves when this many names were acknowledged, or at the end. */
  until(count: number): Promise<void>;
}

function startWriter(file: string, prefix: string, count: number, compactBytes: number): Writing {
  const child = spawn(process.execPath, [writer, file, prefix, String(count), String(compactBytes)], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  let seen = "";
  const exited = once(child, "exit");
  const complained = text(child.stderr);
  child.stdout.setEncoding("utf8").on("data", (more: string) => {
    seen += more;
  });
  const acknowledged = once(child, "close").then(async () => {
    expect(await complained).toBe("");
    return seen.split("\n").filter((line) => line !== "");
  });
  const until = async (wanted: number) => {
    while (seen.split("\n").length <= wanted && child.exitCode === null && child.signalCode === null) {
      await Promise.race([once(child.stdout, "data"), exited]);
    }
  };
  return { child, acknowledged, until };
}

test("ten concurrent writers lose nothing, also during compaction", async () => {
  const file = freshFile();
  const writers = Array.from({ length: 10 }, (_, index) => startWriter(file, `w${index}`, 30, 4_000));
  const acknowledged = (await Promise.all(writers.map((one) => one.acknowledged))).flat();
  expect(acknowledged.length).toBe(300);
  const store = openTestStore(file);
  const graph = store.read("default");
  expect([...graph.names].sort()).toEqual([...acknowledged].sort());
  expect([...graph.entities.values()].every(({ observations }) => observations.size === 1)).toBe(true);
  expect(store.state().damage).toEqual([]);
  // The number of the first line shows that the file was replaced.
  expect(Number.parseInt(readFileSync(file, "utf8"), 10)).toBeGreaterThan(0);
  expect(readdirSync(dirname(file)).filter((name) => name.endsWith(".new"))).toEqual([]);
}, 60_000);

test("keeps everything that was acknowledged when writers are killed at random", async () => {
  const file = freshFile();
  const random = seededRandom(7);
  const acknowledged: string[] = [];
  for (let round = 0; round < 15; round += 1) {
    const writers = [0, 1].map((index) => startWriter(file, `r${round}-${index}`, 1_000, 3_000));
    // After a few writes and a few turns of the event loop, in any state.
    await writers[0]!.until(1 + Math.floor(random() * 8));
    for (let turns = Math.floor(random() * 30); turns > 0; turns -= 1) await new Promise(setImmediate);
    for (const { child } of writers) child.kill("SIGKILL");
    for (const one of writers) acknowledged.push(...(await one.acknowledged));
    const store = openTestStore(file);
    const known = new Set(namesIn(store));
    expect(acknowledged.filter((name) => !known.has(name))).toEqual([]);
    expect(store.state().damage).toEqual([]);
    await add(store, `after-${round}`);
    acknowledged.push(`after-${round}`);
    await store.close();
  }
  expect(acknowledged.length).toBeGreaterThan(30);
}, 120_000);

test("sees writes of other processes at once and notifies subscribers", async () => {
  const file = freshFile();
  const store = openTestStore(file);
  const heard: string[] = [];
  let wake = () => {};
  store.onChange(({ entities }) => {
    for (const names of entities.values()) heard.push(...names);
    wake();
  });
  const { acknowledged } = startWriter(file, "other", 5, 1e9);
  while (new Set(heard).size < 5) await new Promise<void>((resolve) => (wake = resolve));
  expect([...new Set(heard)].sort()).toEqual(await acknowledged);
  expect(namesIn(store)).toEqual(await acknowledged);
});

test("a waiting writer continues when the holder of the lock is killed", async () => {
  const file = freshFile();
  const store = openTestStore(file);
  await add(store, "first");
  const holder = spawn(process.execPath, [
    ...["--input-type=module", "-e"],
    `import { holdFileLock } from "portolan/storage/node"; await holdFileLock(${JSON.stringify(`${file}.lock`)}); console.log("held"); setInterval(() => {}, 1e6)`,
  ]);
  await once(holder.stdout, "data");
  const added = add(store, "second");
  holder.kill("SIGKILL");
  await added;
  expect(namesIn(store)).toEqual(["first", "second"]);
  expect(existsSync(`${file}.lock`)).toBe(false);
});

/** Leaves a lock beside a file, as a killed process would, with other members. */
async function leaveLock(file: string, members: object): Promise<string> {
  const lock = `${file}.lock`;
  const release = await holdFileLock(lock);
  const own = JSON.parse(readFileSync(lock, "utf8"));
  release();
  writeFileSync(lock, JSON.stringify({ ...own, ...members }));
  return lock;
}

test("a lock of an earlier boot, or an old one of another container, does not delay a change", async () => {
  const file = freshFile();
  const store = openTestStore(file, { lockWaitMs: 0 });
  await leaveLock(file, { boot: "00000000-0000-4000-8000-000000000000" });
  await add(store, "after the boot");
  const lock = await leaveLock(file, { host: "another-container", space: "pid:[1]" });
  const longAgo = Date.now() / 1_000 - 60;
  utimesSync(lock, longAgo, longAgo);
  await add(store, "after the container");
  expect(namesIn(store)).toEqual(["after the boot", "after the container"]);
  expect(readdirSync(dirname(file))).toEqual(["memory.log"]);
});

test("a change that waits for a lock says who holds it", async () => {
  const file = freshFile();
  const store = openTestStore(file);
  const release = await holdFileLock(`${file}.lock`);
  const added = add(store, "one");
  while (store.problems.length === 0) await new Promise(setImmediate);
  release();
  await added;
  expect(store.problems).toEqual([expect.stringContaining(`which process ${process.pid} of host`)]);
});
