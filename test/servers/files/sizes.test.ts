import { execFileSync } from "node:child_process";
import { mkdir, open, readFile, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { connect } from "portolan/client";
import { expect, onTestFinished, test } from "vitest";
import { ask, makeFolder, processWith, program } from "./kit.ts";

const gigabyte = 1024 ** 3;
const entries = 100_000;
/** Memory limit for the server in kilobytes; far less than one of the files. */
const mostMemory = 300_000;

/** Starts the program in its own process, to measure its memory. */
async function start(folder: string, ...flags: string[]) {
  const client = await connect({ command: process.execPath, args: [program, ...flags, folder] });
  onTestFinished(() => client.close());
  const pid = await processWith(folder);
  const memory = async () => Number(/VmHWM:\s+(\d+)/.exec(await readFile(`/proc/${pid}/status`, "utf8"))?.[1]);
  return { client, memory };
}

test("reads, searches and copies a file of 1 GB in little memory", { timeout: 120_000 }, async () => {
  const folder = await makeFolder();
  await writeFile(join(folder, "sparse.bin"), "");
  await truncate(join(folder, "sparse.bin"), gigabyte);
  const line = `${"x".repeat(1_023)}\n`;
  const handle = await open(join(folder, "log.txt"), "w");
  const block = line.repeat(64 * 1_024);
  for (let part = 0; part < 16; part += 1) await handle.write(block);
  await handle.write("the last line\n");
  await handle.close();
  const { client, memory } = await start(folder);

  const end = await client.callTool("read", { path: "sparse.bin", offset: gigabyte - 4 });
  expect(end.content[1]).toMatchObject({ resource: { blob: "AAAAAA==" } });
  expect(await ask(client, "read", { path: "sparse.bin", bytes: 10 })).toMatchObject({
    size: gigabyte,
    nextOffset: 10,
  });
  const lines = 16 * 64 * 1_024;
  expect(await ask(client, "read", { path: "log.txt", from: lines + 1 })).toMatchObject({
    text: "the last line\n",
    from: lines + 1,
  });
  expect(await ask(client, "read", { path: "log.txt", from: -1 })).toMatchObject({ text: "the last line\n" });
  expect(await ask(client, "read", { path: "log.txt", from: 500_000, lines: 2 })).toMatchObject({
    lines: 2,
    text: line + line,
  });
  expect(await ask(client, "search", { pattern: "last", path: "log.txt" })).toMatchObject({
    matches: [{ line: lines + 1 }],
  });
  const { isError, content } = await client.callTool("edit", { path: "log.txt", edits: [{ old: "last", new: "x" }] });
  expect({ isError, content }).toMatchObject({
    isError: true,
    content: [{ text: expect.stringContaining("the limit for an edit") }],
  });
  await expect(client.readResource(pathToFileURL(join(folder, "log.txt")).href)).rejects.toThrow(/the tool read/);
  expect(await memory()).toBeLessThan(mostMemory);
});

test("lists and walks a folder of 100,000 entries in little memory", {
  timeout: 120_000,
}, async () => {
  const folder = await makeFolder();
  await mkdir(join(folder, "many"));
  execFileSync("sh", ["-c", `cd many && seq -w 0 ${entries - 1} | xargs touch`], { cwd: folder });
  const { client, memory } = await start(folder);

  const page = await ask<{ entries: { name: string }[]; next: string }>(client, "list", { path: "many", limit: 1_000 });
  expect(page).toMatchObject({ total: entries, next: "00999" });
  expect(await ask(client, "list", { path: "many", after: "99997" })).toMatchObject({
    entries: [{ name: "99998" }, { name: "99999" }],
  });
  expect(await ask(client, "find", { pattern: "9999?" })).toMatchObject({
    entries: { length: 10 },
    walked: entries + 1,
  });
  expect(await ask(client, "tree")).toMatchObject({ entries: { length: 500 }, isCut: true });
  expect(await client.listResources()).toHaveLength(1_001);
  const { contents } = await client.readResource(pathToFileURL(join(folder, "many")).href);
  expect(contents).toMatchObject([{ text: expect.stringContaining("# 99000 more") }]);
  const ref = { type: "ref/resource", uri: `${pathToFileURL(folder).href}/{+path}` } as const;
  expect(await client.complete(ref, { name: "path", value: "many/1" })).toMatchObject({
    values: { length: 100 },
    hasMore: true,
  });
  expect(await memory()).toBeLessThan(mostMemory);
});

test("stops a cancelled call and keeps working", async () => {
  const folder = await makeFolder();
  await writeFile(join(folder, "large.txt"), "");
  await truncate(join(folder, "large.txt"), 3 * gigabyte);
  const { client } = await start(folder);
  const ending = new AbortController();
  const copying = client.callTool(
    "copy",
    { from: "large.txt", to: "copy.txt" },
    { signal: ending.signal, onProgress: () => ending.abort() },
  );
  await expect(copying).rejects.toThrow();
  await expect.poll(async () => JSON.stringify(await ask(client, "list"))).not.toContain("copy");
});
