import { createHash } from "node:crypto";
import { type FileHandle, open, readdir, readFile, rename, rm } from "node:fs/promises";
import { basename, dirname } from "node:path";
import { holdFileLock, type LockOptions } from "portolan/storage/node";
import { maxLogLineBytes, readChunkBytes } from "../../limits.ts";
import type { ActivityHead, ActivityReading, ActivityText } from "../sinks.ts";

/** Reads the current log and its head without changing them. */
export async function readFiles(
  files: ActivityFiles,
  newestFirst: boolean,
  lockOptions?: LockOptions,
): Promise<ActivityReading> {
  const release = await lockIfAllowed(files.lock, lockOptions);
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

/** Readers without permission to lock may see an unfinished block. */
async function lockIfAllowed(path: string, options: LockOptions | undefined): Promise<() => void> {
  try {
    return await holdFileLock(path, options);
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

/** Rotated files keep their names, so they are opened one by one. The live file was opened under the lock. */
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

/** Reads complete lines from the end; the lines of one text are in the order of writing. */
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

/** Different bytes must become different texts. Invalid UTF-8 is read as Latin-1, which matches no sealed block. */
function decode(bytes: Buffer): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return bytes.toString("latin1");
  }
}

/** The position of the next block. */
export interface LogPosition {
  readonly head: ActivityHead;
  /** Number of rotated files. */
  readonly rotated: number;
  /** The end of the last block in the live file. */
  readonly bytes: number;
}

/** The files of one log. */
export interface ActivityFiles {
  readonly log: string;
  readonly head: string;
  readonly lock: string;
  /** Receives the incomplete lines of killed writers. */
  readonly unfinished: string;
}

/** Returns the names of a log's files. Rotated ones are `<file>.1`, `<file>.2`…, the oldest first. */
export function pathsOfLog(path: string): ActivityFiles {
  return { log: path, head: `${path}.head`, lock: `${path}.lock`, unfinished: `${path}.torn` };
}

/** Reads the position that was stored with the last block. */
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

/** Stores the position atomically. */
export async function writePosition(files: ActivityFiles, position: LogPosition): Promise<void> {
  // One name is enough under the lock; a leftover of a killed writer is overwritten.
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

/** Has its own checksum, because no seal covers the numbers of files and bytes. */
function toText({ head, rotated, bytes }: LogPosition): string {
  const { seal, block, seq } = head;
  const text = `{"seal":"${seal}","block":${block},"seq":${seq},"aside":${rotated},"bytes":${bytes},`;
  return `${text}"check":"${createHash("sha256").update(text).digest("base64url").slice(0, 11)}"}\n`;
}

/** Returns the highest number of a rotated file. */
export async function countRotated(files: ActivityFiles): Promise<number> {
  const prefix = `${basename(files.log)}.`;
  let count = 0;
  for (const name of await readdir(dirname(files.log))) {
    const number = name.startsWith(prefix) ? name.slice(prefix.length) : "";
    if (/^[1-9]\d{0,8}$/.test(number)) count = Math.max(count, Number(number));
  }
  return count;
}

/** True if the error says that the file does not exist. */
export function isMissing(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "ENOENT";
}
