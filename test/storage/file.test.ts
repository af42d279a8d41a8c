import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createFileStorage } from "portolan/storage/node";
import { expect, onTestFinished, test } from "vitest";
import { pathTo } from "../examples/example.ts";
import { begin } from "../http/peer.ts";
import { freePort } from "../kit/free-port.ts";

function makeFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "portolan-file-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Runs a program, and hands out each line of its output. */
function run(command: string, args: readonly string[], heard: (line: string) => void, env = {}): ChildProcess {
  const child = spawn(command, args, { stdio: ["ignore", "pipe", "inherit"], env: { ...process.env, ...env } });
  onTestFinished(() => void child.kill("SIGKILL"));
  let rest = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    const lines = (rest + text).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) heard(line);
  });
  return child;
}

async function kill(child: ChildProcess): Promise<void> {
  const exited = once(child, "exit");
  child.kill("SIGKILL");
  await exited;
}

test.each([
  ["small records", 0, 200],
  ["large records, whose journal is replaced", 100_000, 150],
])("has everything that was acknowledged before a kill: %s", async (_, size, writes) => {
  const folder = makeFolder();
  for (let round = 0; round < 3; round += 1) {
    let last = -1;
    const child = run(process.execPath, [pathTo("test/storage/file-writer.mjs"), folder, String(size)], (line) => {
      last = Number(line);
    });
    await expect.poll(() => last, { timeout: 40_000, interval: 1 }).toBeGreaterThan(writes + round * 7);
    await kill(child);
    const storage = createFileStorage(folder, { maxEntries: 1_000_000 });
    for (let number = 0; number <= last; number += 1) {
      expect((await storage.kv.get(`k${number}`))?.startsWith(String(number))).toBe(true);
    }
    const logged: string[] = [];
    for await (const { value } of storage.log.after("l", "")) logged.push(value);
    const own = logged.slice(logged.lastIndexOf("0"));
    expect(own.slice(0, last + 1)).toEqual(Array.from({ length: last + 1 }, (_, number) => String(number)));
    await storage.close();
  }
});

/** Shells count the limit in blocks of 512 or 1,024 bytes. */
function blockBytes(): number {
  const script = `trap '' XFSZ; ulimit -f 1; head -c 4096 /dev/zero > "$0"; wc -c < "$0"`;
  return Number(spawnSync("sh", ["-c", script, join(makeFolder(), "probe")], { encoding: "utf8" }).stdout);
}

test("says that the disk is full, and works again when there is room", async () => {
  const folder = makeFolder();
  const lines: string[] = [];
  const shell = `trap '' XFSZ; ulimit -f ${(256 * 1_024) / blockBytes()}; exec "$0" "$@"`;
  const program = [process.execPath, pathTo("test/storage/file-writer.mjs"), folder, "20000"];
  const child = run("sh", ["-c", shell, ...program], (line) => lines.push(line));
  await expect.poll(() => lines, { timeout: 30_000 }).toContain("works again");
  await kill(child);
  expect(lines.find((line) => line.startsWith("failed"))).toMatch(/EFBIG.*The write may have happened/);
  const storage = createFileStorage(folder);
  onTestFinished(() => storage.close());
  expect(await storage.kv.get("after")).toBe("the disk had room again");
});

test("a session of an HTTP server survives that the server is killed and started again", async () => {
  const folder = makeFolder();
  const port = await freePort();
  const start = async () => {
    const lines: string[] = [];
    const env = { FOLDER: folder, PORT: String(port) };
    const child = run(process.execPath, [pathTo("test/storage/file-server.mjs")], (line) => lines.push(line), env);
    await expect.poll(() => lines.length, { timeout: 30_000 }).toBe(1);
    return { child, url: lines[0] ?? "" };
  };
  const first = await start();
  const peer = await begin(first.url, "2025-11-25");
  const roll = async (id: number) => (await peer.call("roll", { dice: 1 }, id)).status;
  expect(await roll(1)).toBe(200);
  await kill(first.child);
  await start();
  expect(await roll(2)).toBe(200);
});
