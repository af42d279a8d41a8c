import { mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Context } from "portolan/server";
import { openRoots } from "portolan-server-kit/files";
import { expect, onTestFinished, test } from "vitest";
import { toSettings } from "../options.ts";
import { Workspace } from "../workspace.ts";
import { visitBelow } from "./visit.ts";

const files = 20;

async function makeWorkspace(): Promise<Workspace> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), "portolan-files-")));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  for (let number = 0; number < files; number += 1) await writeFile(join(folder, `${number}`), "");
  return new Workspace(openRoots([folder]), toSettings({ folders: [folder] }));
}

/** Works for longer than a walk may work without a turn. */
function workLong(): void {
  const end = performance.now() + 6;
  while (performance.now() < end);
}

test("a walk lets the event loop run between entries that take long", async () => {
  const workspace = await makeWorkspace();
  let turns = 0;
  const count = () => {
    turns += 1;
    next = setImmediate(count);
  };
  let next = setImmediate(count);
  const seenAt: number[] = [];
  const ctx = { signal: new AbortController().signal } as Context;
  await visitBelow(workspace, workspace.own, ctx, ".", {}, () => {
    workLong();
    seenAt.push(turns);
    return true;
  });
  clearImmediate(next);
  expect(seenAt).toHaveLength(files);
  expect(new Set(seenAt).size).toBe(files);
});

test("a walk that is cancelled ends, although its entries are at hand", async () => {
  const workspace = await makeWorkspace();
  const cancelling = new AbortController();
  let seen = 0;
  const walked = visitBelow(workspace, workspace.own, { signal: cancelling.signal } as Context, ".", {}, () => {
    seen += 1;
    if (seen === 3) setImmediate(() => cancelling.abort(new Error("cancelled")));
    workLong();
    return true;
  });
  await expect(walked).rejects.toThrow("cancelled");
  expect(seen).toBeLessThan(files);
});
