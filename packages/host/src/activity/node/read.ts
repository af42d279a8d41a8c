import { createHash } from "node:crypto";
import { type FileHandle, open, readdir, readFile, rename, rm } from "node:fs/promises";
import { basename, dirname } from "node:path";
import { holdFileLock } from "portolan/storage/node";
import { maxLogLineBytes, readChunkBytes } from "../../limits.ts";
import type { ActivityHead, ActivityReading, ActivityText } from "../sinks.ts";

/** The log as it is at this moment, and its head; neither is touched. */
export async function readFiles(files: ActivityFiles, newestFirst: boolean): Promise<ActivityReading> {
  const release = await lockIfAllowed(files.lock);
  try {
    const position = await readPosition(files);
    const rotated = await countRotated(files);
    const live = await openIfThere(files.log);
    const size = live === undefined ? 0 : (await live.stat()).size;
    const texts = newestFirst ? backward(files.log, rotated, live, size) : forward(files.log, rotated, live, size);
    return { head: typeof position === "string" ? position : position.head, texts };
  } catch (error) {
    if (isMissing(error)) return { head: "missing", texts: forward(files.log, 0, undefined, 0) };
    throw error;
  } finally {
    release();
  }
}

/** Whoever may only read sees what is there, be it in the middle of a block. */
async function lockIfAllowed(path: string): Promise<() => void> {
  try {
    return await holdFileLock(path);
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    if (code === "EACCES" || code === "EROFS" || code === "EPERM" || code === "ENOENT") return () => undefined;
    throw error;
  }
}

async function openIfThere(path: string): Promise<FileHandle | undefined> {
  try {
    return await open(path, "r");
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

/** Files put aside keep their names, so they are opened one by one; the last one was opened under the lock. */
async function* forward(log: string, rotated: number, live: FileHandle | undefined, size: number): Texts {
  try {
    for (let number = 1; number <= rotated; number++) {
      const file = await openIfThere(`${log}.${number}`);
      if (file)
        yield* closing(file, async () => chunksOf(file, `${basename(log)}.${number}`, (await file.stat()).size));
    }
    if (live) yield* chunksOf(live, basename(log), size);
  } finally {
    await live?.close();
  }
}

async function* backward(log: string, rotated: number, live: FileHandle | undefined, size: number): Texts {
  try {
    if (live) yield* chunksBack(live, basename(log), size);
    for (let number = rotated; number >= 1; number--) {
      const file = await openIfThere(`${log}.${number}`);
      if (file)
        yield* closing(file, async () => chunksBack(file, `${basename(log)}.${number}`, (await file.stat()).size));
    }
  } finally {
    await live?.close();
  }
}

type Texts = AsyncGenerator<ActivityText>;

async function* closing(file: FileHandle, texts: () => Promise<Texts>): Texts {
  try {
    yield* await texts();
  } finally {
    await file.close();
  }
}

async function* chunksOf(file: FileHandle, part: string, size: number): Texts {
  let left: Buffer = Buffer.alloc(0);
  for (let at = 0; at < size; ) {
    const chunk = await readChunk(file, at, Math.min(readChunkBytes, size - at));
    if (chunk.length === 0) break;
    at += chunk.length;
    const bytes = Buffer.concat([left, chunk]);
    const end = bytes.length > maxLogLineBytes ? bytes.length : bytes.lastIndexOf(10) + 1;
    if (end > 0) yield { part, text: decode(bytes.subarray(0, end)) };
    left = bytes.subarray(end);
  }
  if (left.length > 0) yield { part, text: decode(left) };
}

/** Whole lines from the end on; within one text they are in the order of writing. */
async function* chunksBack(file: FileHandle, part: string, size: number): Texts {
  let left: Buffer = Buffer.alloc(0);
  for (let at = size; at > 0; ) {
    const length = Math.min(readChunkBytes, at);
    at -= length;
    const bytes = Buffer.concat([await readChunk(file, at, length), left]);
    const isTooLong = bytes.length > maxLogLineBytes;
    const start = at === 0 || isTooLong ? 0 : bytes.indexOf(10) + 1;
    if (at !== 0 && start === 0 && !isTooLong) {
      left = bytes;
      continue;
    }
    yield { part, text: decode(bytes.subarray(start)) };
    left = bytes.subarray(0, start);
  }
}

async function readChunk(file: FileHandle, at: number, length: number): Promise<Buffer> {
  const bytes = Buffer.alloc(length);
  const { bytesRead } = await file.read(bytes, 0, length, at);
  return bytes.subarray(0, bytesRead);
}

/** Equal texts for equal bytes only: what is no UTF-8 is read in a way in which no block of ours can be read. */
function decode(bytes: Buffer): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return bytes.toString("latin1");
  }
}

/** Where the next block of a log goes. */
export interface LogPosition {
  readonly head: ActivityHead;
  /** How many files were put aside. */
  readonly rotated: number;
  /** Where the last block ends in the file that is being written. */
  readonly bytes: number;
}

/** The files of one log. */
export interface ActivityFiles {
  readonly log: string;
  readonly head: string;
  readonly lock: string;
  /** What was unfinished when its writer ended. */
  readonly unfinished: string;
}

/** The names of a log's files; those put aside are `<file>.1`, `<file>.2`…, the oldest first. */
export function filesOf(path: string): ActivityFiles {
  return { log: path, head: `${path}.head`, lock: `${path}.lock`, unfinished: `${path}.torn` };
}

/** The place that was kept when the last block was written. */
export async function readPosition(files: ActivityFiles): Promise<LogPosition | "missing" | "unreadable"> {
  const text = await readFile(files.head, "utf8").catch((error: unknown) => {
    if (isMissing(error)) return undefined;
    throw error;
  });
  if (text === undefined) return "missing";
  const shape = /^\{"seal":"([\w-]{43})","block":(\d{1,15}),"seq":(\d{1,15}),"aside":(\d{1,9}),"bytes":(\d{1,15}),/;
  const [, seal, block, seq, rotated, bytes] = text.match(shape) ?? [];
  if (seal === undefined) return "unreadable";
  const position = {
    head: { seal, block: Number(block), seq: Number(seq) },
    rotated: Number(rotated),
    bytes: Number(bytes),
  };
  return text === toText(position) ? position : "unreadable";
}

/** Keeps the place, all of it or the one before. */
export async function writePosition(files: ActivityFiles, position: LogPosition): Promise<void> {
  // One name is enough under the lock; what a writer that was killed left there is written over.
  const draft = `${files.head}.new`;
  const file = await open(draft, "w", 0o600);
  try {
    await file.writeFile(toText(position));
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
function toText({ head, rotated, bytes }: LogPosition): string {
  const { seal, block, seq } = head;
  const text = `{"seal":"${seal}","block":${block},"seq":${seq},"aside":${rotated},"bytes":${bytes},`;
  return `${text}"check":"${createHash("sha256").update(text).digest("base64url").slice(0, 11)}"}\n`;
}

/** How many files were put aside, by their names. */
export async function countRotated(files: ActivityFiles): Promise<number> {
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
