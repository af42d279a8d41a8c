import { mkdir, readdir, readFile, rename, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type CalendarEvent, parseIcs } from "./ics.ts";

/** At most this many files in a folder. */
export const maxFiles = 10_000;
const maxFileBytes = 1024 * 1024;

/** Writes a file completely or not at all, readable by its owner only. */
export async function writeWhole(folder: string, name: string, content: string | Uint8Array): Promise<string> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const path = join(folder, name);
  await writeFile(`${path}.part`, content, { mode: 0o600, flag: "wx" });
  await rename(`${path}.part`, path);
  return path;
}

/** Returns the names of the files with an ending, sorted. A folder that does not exist is empty. */
export async function namesIn(folder: string, ending: string): Promise<string[]> {
  try {
    const names = await readdir(folder);
    return names.filter((name) => name.endsWith(ending) && !name.startsWith(".")).sort();
  } catch (reason) {
    if ((reason as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw reason;
  }
}

/** Returns a file of a folder as text. Returns undefined if there is none of that name, or if it is too large. */
export async function readIn(folder: string, name: string): Promise<string | undefined> {
  // Only names without separators, and without a dot at their beginning, are files of this folder.
  if (!/^[^./\\][^/\\]*\.(ics|eml)$/.test(name)) return undefined;
  const path = join(folder, name);
  try {
    const { size } = await stat(path);
    return size > maxFileBytes ? undefined : await readFile(path, "utf8");
  } catch (reason) {
    if ((reason as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw reason;
  }
}

/** Returns the events of all calendar files that overlap the days from the first to the last one, sorted by start. */
export async function eventsBetween(folder: string, first: string, last: string): Promise<CalendarEvent[]> {
  const found: CalendarEvent[] = [];
  for (const name of (await namesIn(folder, ".ics")).slice(0, maxFiles)) {
    const text = await readIn(folder, name);
    if (text === undefined) continue;
    found.push(
      ...parseIcs(text).filter(({ startDate, endDate }) => startDate.slice(0, 10) <= last && endDate >= first),
    );
  }
  return found.sort((a, b) => (a.startDate < b.startDate ? -1 : a.startDate > b.startDate ? 1 : 0));
}
