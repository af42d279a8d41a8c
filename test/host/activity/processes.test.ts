import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, statSync } from "node:fs";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { seededRandom } from "portolan/testing";
import { verifyActivityFile } from "portolan-host";
import { expect, test } from "vitest";
import { entriesOf, freshFile, namesIn, writeBlocks } from "./kit.ts";

const writer = fileURLToPath(new URL("./writer.mjs", import.meta.url));

interface WriterProcess {
  readonly child: ChildProcess;
  /** The names of the entries that the process reported as written before it exited. */
  readonly written: Promise<string[]>;
  readonly stderr: Promise<string>;
  /** Resolves when `count` entries are written or the process exits. */
  until(count: number): Promise<void>;
}

function startWriter(file: string, prefix: string, count: number, maxBytes: number, limit = ""): WriterProcess {
  const node = [process.execPath, writer, file, prefix, String(count), String(maxBytes)];
  const child = spawn("sh", ["-c", `${limit} exec "$@"`, "sh", ...node], { stdio: ["ignore", "pipe", "pipe"] });
  let stdout = "";
  const exited = once(child, "exit");
  const stderr = text(child.stderr);
  child.stdout.setEncoding("utf8").on("data", (more: string) => {
    stdout += more;
  });
  const written = once(child, "close").then(() => stdout.split("\n").filter((line) => line !== ""));
  const until = async (wanted: number) => {
    while (stdout.split("\n").length <= wanted && child.exitCode === null && child.signalCode === null) {
      await Promise.race([once(child.stdout, "data"), exited]);
    }
  };
  return { child, written, stderr, until };
}

test("four processes write at once, lose no entry, and their blocks form one chain", async () => {
  const file = freshFile();
  const writers = Array.from({ length: 4 }, (_, index) => startWriter(file, `w${index}`, 60, 20_000));
  const written = (await Promise.all(writers.map((one) => one.written))).flat();
  expect((await Promise.all(writers.map((one) => one.stderr))).join("")).toBe("");
  expect(written.length).toBe(240);
  expect(await verifyActivityFile(file)).toMatchObject({ ok: true, entries: 240, blocks: 80 });
  const entries = await entriesOf(file);
  expect(entries.map(({ name }) => name).sort()).toEqual([...written].sort());
  expect(entries.map(({ seq }) => seq)).toEqual(entries.map((_, index) => index + 1));
  expect(statSync(`${file}.1`).size).toBeGreaterThan(0);
}, 60_000);

test("a log keeps every reported entry and verifies after its writers are killed at random moments", async () => {
  const file = freshFile();
  const random = seededRandom(11);
  const written: string[] = [];
  for (let round = 0; round < 12; round++) {
    const { child, written: names, until } = startWriter(file, `r${round}`, 3_000, 8_000);
    await until(1 + Math.floor(random() * 30));
    // Waits a random time, so that the kill hits the middle of a block and not only its end.
    for (let turn = Math.floor(random() * 200); turn > 0; turn--) await new Promise(setImmediate);
    child.kill("SIGKILL");
    written.push(...(await names));
    const verdict = await verifyActivityFile(file);
    if (!verdict.ok) expect(verdict).toMatchObject({ isTorn: true });
    await writeBlocks(file, [`after ${round}`]);
    expect(await verifyActivityFile(file)).toMatchObject({ ok: true });
  }
  const names = new Set(await namesIn(file));
  expect(written.filter((name) => !names.has(name))).toEqual([]);
  expect(written.length).toBeGreaterThan(12);
}, 60_000);

test("a full file system is reported, and the log stays complete", async () => {
  const file = freshFile();
  // The process may not write files larger than 16 KiB; the block that exceeds this is half written.
  const { child, written, stderr } = startWriter(file, "full", 300, 1_000_000, "ulimit -f 32;");
  const names = await written;
  expect(child.exitCode).toBe(1);
  expect(await stderr).toMatch(/EFBIG[\s\S]*store-failed/);
  expect(names.length).toBeGreaterThan(10);
  expect(await verifyActivityFile(file)).toMatchObject({ ok: true, entries: names.length });
  expect(await namesIn(file)).toEqual(names);
  expect(readFileSync(file, "utf8").endsWith("\n")).toBe(true);
});
