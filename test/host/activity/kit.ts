import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type ActivityEntry, type ActivityFileOptions, openActivityFile } from "portolan-host";
import { onTestFinished } from "vitest";

/** Returns a path for a log in a new folder. */
export function freshFile(): string {
  const folder = mkdtempSync(join(tmpdir(), "portolan-activity-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return join(folder, "activity.ndjson");
}

/** Writes one block with one call for each name. */
export async function writeBlocks(
  file: string,
  names: readonly string[],
  options?: ActivityFileOptions,
): Promise<void> {
  const log = await openActivityFile(file, options);
  for (const name of names) {
    log.record({ kind: "call", server: "files", name });
    await log.flush();
  }
  await log.close();
}

/** Returns all entries of a log. */
export async function entriesOf(file: string, newestFirst = false): Promise<ActivityEntry[]> {
  await using log = await openActivityFile(file);
  const entries: ActivityEntry[] = [];
  for await (const entry of log.query({ newestFirst })) entries.push(entry);
  return entries;
}

/** Returns the names of the calls in a log. */
export async function namesIn(file: string, newestFirst = false): Promise<string[]> {
  const entries = await entriesOf(file, newestFirst);
  return entries.flatMap(({ kind, name }) => (kind === "call" ? [name ?? ""] : []));
}
