import { mkdir, mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openRoots } from "portolan-server-kit/files";
import { expect, onTestFinished, test } from "vitest";
import { type Limits, toSettings } from "../options.ts";
import { Workspace } from "../workspace.ts";
import type { FileChange } from "./watcher.ts";

/** Paths below each folder, with the folder itself. */
const pathsOfFolder = 4;

async function makeWorkspace(limits: Partial<Limits> = {}) {
  const folder = await realpath(await mkdtemp(join(tmpdir(), "portolan-files-")));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  for (const name of ["a", "b", "c"]) {
    await mkdir(join(folder, name));
    for (let number = 1; number < pathsOfFolder; number += 1) await writeFile(join(folder, name, `${number}`), "");
  }
  const ending = new AbortController();
  onTestFinished(() => ending.abort());
  const roots = openRoots([folder]);
  const { watchers, own } = new Workspace(roots, toSettings({ folders: [folder], limits, signal: ending.signal }));
  const hold = (name: string, caller?: string, hear: (change: FileChange) => void = () => {}) =>
    watchers.hold({ jail: own, root: roots[0]!, real: join(folder, name) }, caller, hear);
  return { folder, watchers, hold };
}

test("all holders of one path share a watcher, which stops with the last of them", async () => {
  const { folder, watchers, hold } = await makeWorkspace();
  const heard = new Set<number>();
  const releases = await Promise.all(
    Array.from({ length: 40 }, (_, index) => hold("a", undefined, () => heard.add(index))),
  );
  expect(watchers.watched).toBe(pathsOfFolder);
  await writeFile(join(folder, "a", "1"), "changed");
  await expect.poll(() => heard.size).toBe(40);
  for (const release of releases.slice(1)) release();
  expect(watchers.watched).toBe(pathsOfFolder);
  releases[0]?.();
  expect(watchers.watched).toBe(0);
});

test("refuses a watcher beyond the paths of all callers, and counts none of its paths", async () => {
  const { watchers, hold } = await makeWorkspace({ watchedInAll: 2 * pathsOfFolder + 1 });
  const release = await hold("a");
  await hold("b");
  await expect(hold("c")).rejects.toThrow(/c is not watched: this server watches 9 files and folders, the most it may/);
  expect(watchers.watched).toBe(2 * pathsOfFolder);
  release();
  await hold("c");
  expect(watchers.watched).toBe(2 * pathsOfFolder);
});

test("refuses a watcher beyond the paths of one caller, and serves the others", async () => {
  const { watchers, hold } = await makeWorkspace({ watchedPerCaller: pathsOfFolder + 1 });
  const release = await hold("a", "hostile");
  await expect(hold("b", "hostile")).rejects.toThrow(/subscriptions of this caller watch 5 files and folders/);
  await hold("b", "innocent");
  // A path that is watched already costs nothing.
  const shared = await hold("b", "hostile");
  expect(watchers.watched).toBe(2 * pathsOfFolder);
  release();
  await hold("c", "hostile");
  shared();
});

test("the paths of a caller that leaves count for the caller that stays", async () => {
  const { hold } = await makeWorkspace({ watchedPerCaller: pathsOfFolder });
  const release = await hold("a", "first");
  await hold("a", "second");
  release();
  await hold("b", "first");
  await expect(hold("c", "second")).rejects.toThrow(/subscriptions of this caller/);
});
