import { spawn, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { holdFileLock, type LockLimits } from "./file-lock.ts";

const limits: LockLimits = { heartbeatMs: 5, staleMs: 500, patienceMs: 20_000 };

function setUp(): { readonly folder: string; readonly path: string } {
  const folder = mkdtempSync(join(tmpdir(), "portolan-lock-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return { folder, path: join(folder, "a.lock") };
}

test("takes a free lock and removes it on release, which may be repeated", async () => {
  const { folder, path } = setUp();
  const release = await holdFileLock(path, limits);
  expect(readdirSync(folder)).toEqual(["a.lock"]);
  release();
  release();
  expect(readdirSync(folder)).toEqual([]);
});

test("does not take over a lock with a heartbeat", async () => {
  const { path } = setUp();
  const release = await holdFileLock(path, limits);
  const text = readFileSync(path, "utf8");
  utimesSync(path, 1, 1);
  await expect.poll(() => statSync(path).mtimeMs).toBeGreaterThan(1_000);
  await expect(holdFileLock(path, { ...limits, patienceMs: 1_200 })).rejects.toMatchObject({ code: "timeout" });
  expect(readFileSync(path, "utf8")).toBe(text);
  release();
});

test.each([
  ["one of another machine", JSON.stringify({ pid: 1, machine: "elsewhere", token: "x" })],
  [
    "one with the id of a process of this machine",
    JSON.stringify({ pid: process.pid, machine: "elsewhere", token: "x" }),
  ],
  ["one that cannot be parsed", "nonsense"],
  ["an empty one", ""],
])("takes over a lock without a heartbeat: %s", async (_, text) => {
  const { folder, path } = setUp();
  writeFileSync(path, text);
  const release = await holdFileLock(path, limits);
  expect(readFileSync(path, "utf8")).not.toBe(text);
  release();
  expect(readdirSync(folder)).toEqual([]);
});

/** Takes the lock once, to read what this process writes into it. */
async function ownText(): Promise<{ [member: string]: unknown }> {
  const { path } = setUp();
  const release = await holdFileLock(path, limits);
  const text = readFileSync(path, "utf8");
  release();
  return JSON.parse(text);
}

/** Limits under which only a lock that is dead at first sight can be taken. */
const atOnce: LockLimits = { heartbeatMs: 1_000, staleMs: 1_000_000, patienceMs: 0 };

test.each<[string, () => Promise<{ [member: string]: unknown }>]>([
  ["an earlier boot of this machine", async () => ({ boot: "00000000-0000-4000-8000-000000000000" })],
  [
    "a process that has ended",
    async () => {
      const child = spawn(process.execPath, ["--version"], { stdio: "ignore" });
      await once(child, "exit");
      return { pid: child.pid };
    },
  ],
  ["a process whose id another one has now", async () => ({ started: "1" })],
])("takes over at once the lock of %s, and removes what it left", async (_, change) => {
  const { folder, path } = setUp();
  const left = JSON.stringify({ ...(await ownText()), ...(await change()) });
  for (const end of ["", `.${"a".repeat(16)}`, `.${"b".repeat(32)}.0`]) writeFileSync(`${path}${end}`, left);
  const release = await holdFileLock(path, atOnce);
  expect(readdirSync(folder)).toEqual(["a.lock"]);
  release();
  expect(readdirSync(folder)).toEqual([]);
});

test("takes over at once the lock of another machine that was not renewed for long", async () => {
  const { path } = setUp();
  writeFileSync(path, JSON.stringify({ ...(await ownText()), host: "elsewhere" }));
  await expect(holdFileLock(path, atOnce)).rejects.toMatchObject({ code: "timeout" });
  const longAgo = Date.now() / 1_000 - 2_000;
  utimesSync(path, longAgo, longAgo);
  const release = await holdFileLock(path, atOnce);
  release();
});

test("leaves files beside the lock that are not its own or belong to a running process", async () => {
  const { folder, path } = setUp();
  const own = await ownText();
  writeFileSync(path, JSON.stringify({ ...own, started: "1" }));
  const others = ["a.lock.txt", `a.lock.${"c".repeat(16)}`, `b.lock.${"d".repeat(16)}`];
  for (const name of others) writeFileSync(join(folder, name), JSON.stringify(own));
  const release = await holdFileLock(path, atOnce);
  release();
  expect(readdirSync(folder).sort()).toEqual(others.sort());
});

test("tells once who holds a lock that is not free soon", async () => {
  const { path } = setUp();
  const notices: string[] = [];
  const release = await holdFileLock(path, limits);
  const onWait = (notice: string) => {
    notices.push(notice);
    release();
  };
  const next = await holdFileLock(path, { ...limits, staleMs: 1_000_000, onWait });
  next();
  expect(notices).toEqual([
    expect.stringMatching(`^Waiting for the lock file .*a\\.lock, which process ${process.pid} of host`),
  ]);
});

test("names a holder without the control characters of its file", async () => {
  const { path } = setUp();
  writeFileSync(path, JSON.stringify({ pid: 7, host: "\u001b[2Jevil\u202e", token: "x" }));
  await expect(holdFileLock(path, { ...limits, patienceMs: 0 })).rejects.toThrow(
    "process 7 of host ?[2Jevil? holds it",
  );
});

test("gives a dead lock to one process at a time", async () => {
  const { folder, path } = setUp();
  writeFileSync(path, "a dead lock");
  let inside = 0;
  const work = async () => {
    const release = await holdFileLock(path, limits);
    inside += 1;
    expect(inside).toBe(1);
    await new Promise(setImmediate);
    inside -= 1;
    release();
  };
  await Promise.all(Array.from({ length: 20 }, work));
  expect(readdirSync(folder)).toEqual([]);
});

test("does not release the lock of the process that took over", async () => {
  const { path } = setUp();
  const still = { ...limits, heartbeatMs: 1_000_000 };
  const releaseFirst = await holdFileLock(path, still);
  const releaseSecond = await holdFileLock(path, still);
  const text = readFileSync(path, "utf8");
  releaseFirst();
  expect(readFileSync(path, "utf8")).toBe(text);
  releaseSecond();
});

test("ignores the claim of a process that died while taking over", async () => {
  const { folder, path } = setUp();
  writeFileSync(path, "a dead lock");
  const id = createHash("sha256").update("a dead lock").digest("hex").slice(0, 32);
  for (const number of [0, 1]) writeFileSync(`${path}.${id}.${number}`, "a dead claim");
  const release = await holdFileLock(path, { ...limits, staleMs: 100 });
  expect(readFileSync(path, "utf8")).not.toBe("a dead lock");
  release();
  expect(readdirSync(folder)).toEqual([]);
});

test("rejects after the patience with the path of the lock file", async () => {
  const { path } = setUp();
  const release = await holdFileLock(path, limits);
  await expect(holdFileLock(path, { ...limits, patienceMs: 20 })).rejects.toThrow(path);
  release();
});

/** A namespace of its own, in which any user may mount a file system; it ends with its process. */
const namespace = ["unshare", "--map-root-user", "--mount"];
const mayMount = spawnSync(namespace[0] ?? "", [...namespace.slice(1), "true"]).status === 0;

/** Runs a program that holds the lock `path` in a small file system, with the function `fill`. Returns its lines. */
function onSmallDisk(options: string, program: string): string[] {
  const { folder } = setUp();
  const module = JSON.stringify(new URL("./file-lock.ts", import.meta.url).href);
  const text = `import { appendFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
    const { holdFileLock } = await import(${module});
    const folder = process.argv[1], path = folder + "/a.lock";
    const show = () => console.log("left:", ...readdirSync(folder).filter((name) => !name.startsWith("filler")));
    const fill = (write) => { try { for (let n = 0; n < 100_000; n += 1) write(n); } catch ({ code }) { console.log(code); } };
    const release = await holdFileLock(path, { heartbeatMs: 1_000_000, staleMs: 1_000_000 });
    ${program}`;
  const mount = 'mount -t tmpfs -o "$1" none "$0" && exec "$2" --import tsx --input-type=module -e "$3" "$0"';
  const command = [...namespace, "bash", "-c", mount, folder, options, process.execPath, text];
  const { stdout, stderr } = spawnSync(command[0] ?? "", command.slice(1), { encoding: "utf8", timeout: 30_000 });
  return stderr === "" ? stdout.trimEnd().split("\n") : [stderr];
}

test.runIf(mayMount)("removes the lock on release although the disk is full", () => {
  const program = 'fill(() => appendFileSync(folder + "/filler", "x".repeat(4_096))); show(); release(); show();';
  expect(onSmallDisk("size=64k", program)).toEqual(["ENOSPC", "left: a.lock", "left:"]);
});

test.runIf(mayMount)("removes the lock as soon as there is room again, if there was none for a link on release", () => {
  const program = `fill((n) => writeFileSync(folder + "/filler" + n, "")); release(); show(); rmSync(folder + "/filler0");
    while (readdirSync(folder).includes("a.lock")) await new Promise((resolve) => setTimeout(resolve, 10));
    show();`;
  expect(onSmallDisk("size=64k,nr_inodes=20", program)).toEqual(["ENOSPC", "left: a.lock", "left:"]);
});

test.each([
  ["a link to nothing", (path: string) => symlinkSync(`${path}.none`, path), "got a link"],
  ["a long file", (path: string) => writeFileSync(path, "x".repeat(5_000)), "got more than 4096 bytes"],
  ["a link to an endless device", (path: string) => symlinkSync("/dev/zero", path), "got a link"],
  ["a pipe", (path: string) => void spawnSync("mkfifo", [path]), "got a folder, pipe or device"],
  ["a folder", (path: string) => void mkdirSync(path), "got a folder, pipe or device"],
])("fails at once where the lock is %s, and leaves it there", async (_, put, reason) => {
  const { folder, path } = setUp();
  put(path);
  await expect(holdFileLock(path, limits)).rejects.toThrow(`${path}: expected a lock file, ${reason}; delete it`);
  expect(readdirSync(folder)).toEqual(["a.lock"]);
});
