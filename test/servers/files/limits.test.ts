import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { createFiles } from "portolan-files";
import { expect, onTestFinished, test } from "vitest";
import { connectCallers } from "../kit/callers.ts";
import { ask, makeFolder, refused, serve } from "./kit.ts";

test("refuses edits that multiply a file beyond the limit, also in a dry run", async () => {
  const folder = await makeFolder();
  await writeFile(join(folder, "one.txt"), "a");
  const client = await serve({ folders: [folder], limits: { writeBytes: 1_000 } });
  const edits = Array.from({ length: 5 }, () => ({ old: "a", new: "a".repeat(10), all: true }));
  for (const dryRun of [true, false]) {
    const text = await refused(client, "edit", { path: "one.txt", dryRun, edits });
    expect(text).toContain("edit 4: old: the file would have more than 1000 bytes");
  }
  expect(await readFile(join(folder, "one.txt"), "utf8")).toBe("a");
  const within = await ask(client, "edit", { path: "one.txt", edits: edits.slice(0, 3) });
  expect(within).toMatchObject({ replaced: 111, written: true });
});

test("edit writes no file that write would refuse", async () => {
  const folder = await makeFolder();
  await writeFile(join(folder, "one.txt"), "a");
  const client = await serve({ folders: [folder] });
  const edits = [
    { old: "a", new: "b".repeat(2_000_000) },
    { old: "b".repeat(1_000), new: "c".repeat(20_000), all: true },
  ];
  expect(await refused(client, "edit", { path: "one.txt", edits })).toContain("more than 10485760 bytes");
  expect(await readFile(join(folder, "one.txt"), "utf8")).toBe("a");
});

test("refuses an edit of more places than the limit", async () => {
  const folder = await makeFolder();
  await writeFile(join(folder, "one.txt"), "a".repeat(11));
  const client = await serve({ folders: [folder], limits: { replaced: 10 } });
  const edits = [{ old: "a", new: "b", all: true }];
  expect(await refused(client, "edit", { path: "one.txt", edits })).toContain("more than 10 times, more places");
});

test.each([
  ["find", { pattern: "*" }],
  ["search", { pattern: "x", name: "*b" }],
])("%s says that it is incomplete when its time is over", async (tool, args) => {
  const folder = await makeFolder();
  for (let number = 0; number < 50; number += 1) await writeFile(join(folder, `${number}a`), "");
  const client = await serve({ folders: [folder], limits: { searchMs: 0 } });
  const result = await client.callTool(tool, args);
  expect(result.structuredContent).toMatchObject({ isCut: true, why: expect.stringContaining("stopped after 0 ms") });
  expect(JSON.stringify(result.content)).toContain("stopped after 0 ms");
});

/** Returns different URIs of one folder: each bit of the number decides whether a letter is encoded. */
function spellings(folder: string, name: string, count: number): string[] {
  const base = pathToFileURL(folder).href;
  return Array.from({ length: count }, (_, number) => {
    const letters = [...name].map((letter, at) =>
      (number >> at) & 1 ? `%${letter.charCodeAt(0).toString(16)}` : letter,
    );
    return `${base}/${letters.join("")}`;
  });
}

async function makeFolders(names: readonly string[], files: number): Promise<string> {
  const folder = await makeFolder();
  for (const name of names) {
    await mkdir(join(folder, name));
    for (let number = 0; number < files; number += 1) await writeFile(join(folder, name, `${number}`), "");
  }
  return folder;
}

test.each(["2025-11-25", "2026-07-28"] as const)(
  "on %s one folder is watched once, however its URI is spelled, and no more paths than the limit",
  async (revision) => {
    const folder = await makeFolders(["abcdef", "other"], 9);
    const limits = { watchedInAll: 15 };
    const client = await serve({ folders: [folder], limits }, { revision });
    const uris = spellings(folder, "abcdef", 40);
    const watching = await client.watch({ uris });
    expect(watching.acceptedFilter.uris).toHaveLength(40);
    const changes = watching[Symbol.asyncIterator]();
    const heard = new Set<string>();
    await writeFile(join(folder, "abcdef", "1"), "changed");
    while (heard.size < 40) heard.add(JSON.stringify((await changes.next()).value));
    await expect(client.watch({ uris: [pathToFileURL(join(folder, "other")).href] })).rejects.toThrow(
      /other is not watched: this server watches 15 files and folders, the most it may; end other subscriptions/,
    );
    await watching.close();
  },
);

test("one caller cannot use up the watched paths of the others", async () => {
  const folder = await makeFolders(["a", "b", "c"], 9);
  const ending = new AbortController();
  onTestFinished(() => ending.abort());
  const limits = { watchedPerCaller: 15 };
  const { hostile, innocent } = await connectCallers(createFiles({ folders: [folder], limits, signal: ending.signal }));
  const uriOf = (name: string) => pathToFileURL(join(folder, name)).href;
  const first = await hostile.watch({ uris: [uriOf("a")] });
  await expect(hostile.watch({ uris: [uriOf("b"), uriOf("c")] })).rejects.toThrow(
    /subscriptions of this caller watch 15 files and folders/,
  );
  const theirs = await innocent.watch({ uris: [uriOf("b")] });
  expect(theirs.acceptedFilter.uris).toEqual([uriOf("b")]);
  await Promise.all([first.close(), theirs.close()]);
});
