import { createHash } from "node:crypto";
import { open, readdir, readFile, rename, rm } from "node:fs/promises";
import { basename, dirname } from "node:path";
import type { ActivityHead } from "../sink.ts";

/** Where the next block of a log goes. */
export interface ActivityPlace {
  readonly head: ActivityHead;
  /** How many files were put aside. */
  readonly aside: number;
  /** Where the last block ends in the file that is being written. */
  readonly bytes: number;
}

/** The files of one log. */
export interface ActivityFiles {
  readonly log: string;
  readonly head: string;
  readonly lock: string;
  /** What was unfinished when its writer ended. */
  readonly torn: string;
}

/** The names of a log's files; those put aside are `<file>.1`, `<file>.2`…, the oldest first. */
export function filesOf(path: string): ActivityFiles {
  return { log: path, head: `${path}.head`, lock: `${path}.lock`, torn: `${path}.torn` };
}

/** The place that was kept when the last block was written. */
export async function readPlace(files: ActivityFiles): Promise<ActivityPlace | "missing" | "unreadable"> {
  const text = await readFile(files.head, "utf8").catch((error: unknown) => {
    if (isMissing(error)) return undefined;
    throw error;
  });
  if (text === undefined) return "missing";
  const shape = /^\{"seal":"([\w-]{43})","block":(\d{1,15}),"seq":(\d{1,15}),"aside":(\d{1,9}),"bytes":(\d{1,15}),/;
  const [, seal, block, seq, aside, bytes] = text.match(shape) ?? [];
  if (seal === undefined) return "unreadable";
  const place = { head: { seal, block: Number(block), seq: Number(seq) }, aside: Number(aside), bytes: Number(bytes) };
  return text === toText(place) ? place : "unreadable";
}

/** Keeps the place, all of it or the one before. */
export async function writePlace(files: ActivityFiles, place: ActivityPlace): Promise<void> {
  // One name is enough under the lock; what a writer that was killed left there is written over.
  const draft = `${files.head}.new`;
  const file = await open(draft, "w", 0o600);
  try {
    await file.writeFile(toText(place));
  } finally {
    await file.close();
  }
  try {
    await rename(draft, files.head);
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
}

/** With a check of its own, for the numbers of files and bytes are in no seal. */
function toText({ head, aside, bytes }: ActivityPlace): string {
  const { seal, block, seq } = head;
  const text = `{"seal":"${seal}","block":${block},"seq":${seq},"aside":${aside},"bytes":${bytes},`;
  return `${text}"check":"${createHash("sha256").update(text).digest("base64url").slice(0, 11)}"}\n`;
}

/** How many files were put aside, by their names. */
export async function countAside(files: ActivityFiles): Promise<number> {
  const prefix = `${basename(files.log)}.`;
  let count = 0;
  for (const name of await readdir(dirname(files.log))) {
    const number = name.startsWith(prefix) ? name.slice(prefix.length) : "";
    if (/^[1-9]\d{0,8}$/.test(number)) count = Math.max(count, Number(number));
  }
  return count;
}

/** Whether an error says that there is no such file. */
export function isMissing(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "ENOENT";
}
