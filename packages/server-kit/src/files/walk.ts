import type { Dirent } from "node:fs";
import { opendir } from "node:fs/promises";
import { type Folder, PathChanged } from "./folder.ts";
import { systemCodeOf } from "./system-errors.ts";

export type Kind = "file" | "folder" | "link" | "other";

/** An entry of a folder. */
export interface Entry {
  readonly name: string;
  readonly kind: Kind;
}

/** An entry found on a walk. */
export interface WalkedEntry extends Entry {
  readonly folder: Folder;
  /** The names from the start of the walk to this entry. */
  readonly segments: readonly string[];
}

export interface WalkOptions {
  /** Entries to visit before the walk ends. */
  readonly walked: number;
  readonly depth: number;
  readonly signal: AbortSignal;
  /** False for entries that this walk skips. */
  readonly isShown: (name: string) => boolean;
  /** False for folders that are returned but not entered. */
  readonly isEntered: (name: string) => boolean;
}

/** Entries that a walk left out. */
export interface WalkEnd {
  /** True if the limit of entries was reached. */
  isCut: boolean;
  /** Folders that could not be opened. */
  unreadable: number;
}

/**
 * Walks a folder and everything below it, sorted by name, files before folders. Each folder is held open while it is
 * walked. Links are never followed.
 */
export async function* walk(start: Folder, options: WalkOptions, end: WalkEnd): AsyncGenerator<WalkedEntry> {
  let left = options.walked;
  async function* visit(folder: Folder, segments: readonly string[]): AsyncGenerator<WalkedEntry> {
    const { entries, isCut } = await readEntries(folder, left, options);
    left -= entries.length;
    end.isCut ||= isCut;
    entries.sort((a, b) => rank(a) - rank(b) || compare(a.name, b.name));
    for (const entry of entries) {
      options.signal.throwIfAborted();
      const here = [...segments, entry.name];
      yield { ...entry, folder, segments: here };
      if (entry.kind !== "folder" || here.length >= options.depth || !options.isEntered(entry.name)) continue;
      const inner = await openQuietly(folder, entry.name);
      if (!inner) {
        end.unreadable += 1;
        continue;
      }
      try {
        yield* visit(inner, here);
      } finally {
        await inner.close();
      }
    }
  }
  yield* visit(start, []);
}

async function openQuietly(folder: Folder, name: string): Promise<Folder | undefined> {
  try {
    return await folder.openFolder(name);
  } catch (reason) {
    if (reason instanceof PathChanged || systemCodeOf(reason) !== undefined) return undefined;
    throw reason;
  }
}

async function readEntries(
  folder: Folder,
  most: number,
  { isShown, signal }: WalkOptions,
): Promise<{ entries: Entry[]; isCut: boolean }> {
  const entries: Entry[] = [];
  for await (const entry of entriesOf(folder)) {
    signal.throwIfAborted();
    if (!isShown(entry.name)) continue;
    if (entries.length >= most) return { entries, isCut: true };
    entries.push(entry);
  }
  return { entries, isCut: false };
}

/** Returns the entries of a folder, unsorted, read in small portions. */
export async function* entriesOf(folder: Folder): AsyncGenerator<Entry> {
  await folder.check();
  for await (const dirent of await opendir(folder.at("."), { bufferSize: 1_024 })) {
    yield { name: dirent.name, kind: kindOf(dirent) };
  }
}

/** Returns the first `limit` names after `after`; keeps at most about twice as many in memory. */
export async function pageOf(
  folder: Folder,
  { after, limit, isShown, signal }: PageOptions,
): Promise<{ entries: Entry[]; total: number; isLast: boolean }> {
  let kept: Entry[] = [];
  let total = 0;
  let behind = 0;
  for await (const entry of entriesOf(folder)) {
    signal.throwIfAborted();
    if (!isShown(entry.name)) continue;
    total += 1;
    if (after !== undefined && entry.name <= after) continue;
    behind += 1;
    kept.push(entry);
    if (kept.length >= 2 * limit + 1_024) kept = sortedFirst(kept, limit);
  }
  return { entries: sortedFirst(kept, limit), total, isLast: behind <= limit };
}

export interface PageOptions {
  readonly after: string | undefined;
  readonly limit: number;
  readonly isShown: (name: string) => boolean;
  readonly signal: AbortSignal;
}

function sortedFirst(entries: Entry[], limit: number): Entry[] {
  return entries.sort((a, b) => compare(a.name, b.name)).slice(0, limit);
}

export function kindOf(stats: Pick<Dirent, "isFile" | "isDirectory" | "isSymbolicLink">): Kind {
  if (stats.isFile()) return "file";
  if (stats.isDirectory()) return "folder";
  return stats.isSymbolicLink() ? "link" : "other";
}

function rank({ kind }: Entry): number {
  return kind === "folder" ? 1 : 0;
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
