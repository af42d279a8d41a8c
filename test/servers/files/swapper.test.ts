import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { CallToolResult } from "portolan";
import type { TestClient } from "portolan/testing";
import { expect, onTestFinished, test } from "vitest";
import { Jail, openRoots } from "../../../packages/server-kit/src/files/index.ts";
import { makeFolder, serve } from "./kit.ts";

const secret = "SECRET";
const filesBehindDoor = 4;

/** A served folder beside one that must stay out of reach; both contain files of the same names. */
async function makePrey(): Promise<{ served: string; outside: string }> {
  const base = await makeFolder();
  const [served, outside] = [join(base, "served"), join(base, "outside")];
  await mkdir(join(served, "door"), { recursive: true });
  await mkdir(join(outside, "deep"), { recursive: true });
  await writeFile(join(served, "file.txt"), "inside");
  await writeFile(join(outside, "only-outside.txt"), secret);
  await writeFile(join(outside, "deep", "file.txt"), secret);
  for (let number = 0; number < filesBehindDoor; number += 1) {
    await writeFile(join(served, "door", `${number}.txt`), "inside");
    await writeFile(join(outside, `${number}.txt`), secret);
  }
  await writeFile(join(outside, "file.txt"), secret);
  return { served, outside };
}

function startSwapper(served: string, outside: string): ChildProcess {
  const swapper = fork(join(import.meta.dirname, "swapper.mjs"), [served, outside]);
  onTestFinished(() => {
    swapper.kill("SIGKILL");
  });
  return swapper;
}

async function swapsOf(swapper: ChildProcess): Promise<number> {
  const told = once(swapper, "message");
  swapper.send("how many");
  const [{ swaps }] = await told;
  return swaps;
}

/** Snapshot of everything outside, to compare. */
async function contentsOf(outside: string): Promise<string[]> {
  const names = await readdir(outside, { recursive: true });
  const contents = names.map((name) => readFile(join(outside, name), "utf8").catch(() => "folder"));
  return (await Promise.all(contents)).map((content, at) => `${names[at]}: ${content}`).sort();
}

/** Calls a tool repeatedly and in parallel; counts successes and failures. */
async function storm(
  client: TestClient,
  calls: number,
  next: (number: number) => [tool: string, args: Record<string, unknown>],
): Promise<{ done: number; refused: number; escaped: string[] }> {
  const seen = { done: 0, refused: 0, escaped: [] as string[] };
  let started = 0;
  const work = async () => {
    while (started < calls) {
      const [tool, args] = next(started++);
      const result: CallToolResult = await client.callTool(tool, args);
      if (result.isError) seen.refused += 1;
      else seen.done += 1;
      const text = JSON.stringify(result);
      if (text.includes(secret) || text.includes("only-outside")) seen.escaped.push(`${tool}: ${text}`);
    }
  };
  await Promise.all(Array.from({ length: 8 }, work));
  return seen;
}

/** Opens and reads repeatedly and in parallel through the jail, where the races are. */
async function openings(jail: Jail, times: number): Promise<{ opened: number; refused: number; escaped: number }> {
  const seen = { opened: 0, refused: 0, escaped: 0 };
  let started = 0;
  const work = async () => {
    while (started < times) {
      const number = started++;
      try {
        const path = number % 2 === 0 ? "file.txt" : `door/${number % filesBehindDoor}.txt`;
        const { handle } = await jail.openFile(path);
        const { buffer, bytesRead } = await handle.read({ buffer: Buffer.alloc(secret.length) });
        await handle.close();
        seen.opened += 1;
        if (buffer.subarray(0, bytesRead).toString() === secret) seen.escaped += 1;
      } catch {
        seen.refused += 1;
      }
    }
  };
  await Promise.all(Array.from({ length: 8 }, work));
  return seen;
}

test.each([
  ["descriptor", 75_000],
  ["comparison", 5_000],
] as const)(
  "with %s, %d openings during link swaps reach nothing outside",
  { timeout: 120_000 },
  async (holding, times) => {
    const { served, outside } = await makePrey();
    const swapper = startSwapper(served, outside);
    const jail = new Jail(openRoots([served]), { hidden: false, holding });
    const { opened, refused, escaped } = await openings(jail, times);
    expect(escaped).toBe(0);
    expect(Math.min(opened, refused)).toBeGreaterThan(0);
    expect(opened + refused).toBe(times);
    // The number of swaps depends on the machine; without any, the test would prove nothing.
    expect(await swapsOf(swapper)).toBeGreaterThan(times / 150);
  },
);

test("25,000 calls during link swaps neither read nor change anything outside", {
  timeout: 120_000,
}, async () => {
  const { served, outside } = await makePrey();
  const before = await contentsOf(outside);
  const client = await serve({ folders: [served] }, { revision: "2025-11-25" });
  const swapper = startSwapper(served, outside);

  const storms = [
    await storm(client, 11_000, (number) => [
      "read",
      { path: number % 2 === 0 ? "file.txt" : `door/${number % filesBehindDoor}.txt` },
    ]),
    await storm(client, 4_000, () => ["list", { path: "door" }]),
    await storm(client, 1_000, () => ["search", { path: "door", pattern: "inside", context: 1 }]),
    await storm(client, 4_000, (number) => [
      "write",
      { path: `door/${number % filesBehindDoor}.txt`, text: "inside", overwrite: true },
    ]),
    await storm(client, 3_000, (number) => {
      const path = `door/made-${number % 100}.txt`;
      if (number % 3 === 0) return ["write", { path, text: "inside" }];
      return number % 3 === 1 ? ["edit", { path, edits: [{ old: "inside", new: "inside" }] }] : ["remove", { path }];
    }),
    await storm(client, 2_000, (number) => {
      const [a, b] = ["door/moved.txt", "file-moved.txt"];
      if (number % 4 === 0) return ["copy", { from: "file.txt", to: a, overwrite: true }];
      return number % 2 === 0 ? ["move", { from: a, to: b, overwrite: true }] : ["move", { from: b, to: a }];
    }),
  ];

  expect(storms.flatMap(({ escaped }) => escaped)).toEqual([]);
  expect(await contentsOf(outside)).toEqual(before);
  // There was a race: many swaps, and each kind of call both succeeded and failed.
  expect(await swapsOf(swapper)).toBeGreaterThan(500);
  for (const { done, refused } of storms) expect(Math.min(done, refused)).toBeGreaterThan(0);
});
