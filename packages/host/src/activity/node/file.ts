import { mkdir, open, readFile, rename, stat, truncate } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { holdFileLock, type LockOptions } from "portolan/storage/node";
import { maxLogFileBytes } from "../../limits.ts";
import type { ActivityFileOptions, ActivityVerdict } from "../log.ts";
import {
  type ActivityBlock,
  type ActivityHead,
  type ActivityReading,
  type ActivitySink,
  emptyHead,
  isSealOf,
  parseSeal,
  type Seal,
  sealBody,
} from "../sinks.ts";
import { verifyActivity } from "../verify.ts";
import {
  type ActivityFiles,
  countRotated,
  isMissing,
  type LogPosition,
  pathsOfLog,
  readFiles,
  readPosition,
  writePosition,
} from "./read.ts";

/** Options of `fileSink`. */
export type FileSinkOptions = Pick<ActivityFileOptions, "maxBytes" | "onWait">;

/** Opens a log in a file: lines of JSON, and its head in a second file, for any number of processes. */
export async function fileSink(path: string, options: FileSinkOptions = {}): Promise<ActivitySink> {
  const files = pathsOfLog(resolve(path));
  await mkdir(dirname(files.log), { recursive: true, mode: 0o700 });
  const sink = new FileSink(files, options);
  await sink.recover();
  return sink;
}

/** Verifies the log in a file as it is, without a repair. */
export async function verifyFile(path: string, contains?: string): Promise<ActivityVerdict> {
  return verifyActivity(await readFiles(pathsOfLog(resolve(path)), false), true, contains);
}

class FileSink implements ActivitySink {
  readonly isLinear = true;
  readonly #files: ActivityFiles;
  readonly #maxBytes: number;
  readonly #lockOptions: LockOptions | undefined;
  #queue: Promise<void> = Promise.resolve();
  /** The end after our last block, and the file that contains it. */
  #last: { readonly position: LogPosition; readonly inode: number } | undefined;

  constructor(files: ActivityFiles, { maxBytes = maxLogFileBytes, onWait }: FileSinkOptions) {
    this.#files = files;
    this.#maxBytes = maxBytes;
    this.#lockOptions = onWait && { onWait };
  }

  recover(): Promise<void> {
    return this.#withLock(async () => {
      await recover(this.#files);
    });
  }

  append(build: (head: ActivityHead) => Promise<ActivityBlock>): Promise<void> {
    return this.#withLock(async () => {
      const position = await this.#findEnd();
      const { bytes, head } = await build(position.head);
      const { rotated, bytes: start } = await this.#rotateIfFull(position, bytes.length);
      try {
        const inode = await appendTo(this.#files.log, bytes);
        const next = { head, rotated, bytes: start + bytes.length };
        await writePosition(this.#files, next);
        this.#last = { position: next, inode };
      } catch (error) {
        this.#last = undefined;
        // All or nothing: the block is written again. If even this fails, the next writer repairs it.
        await truncate(this.#files.log, start).catch(() => undefined);
        throw error;
      }
    });
  }

  read(newestFirst: boolean): Promise<ActivityReading> {
    return readFiles(this.#files, newestFirst, this.#lockOptions);
  }

  async close(): Promise<void> {
    await this.#queue.catch(() => undefined);
  }

  /** Returns the position of the next block: after our own last one, unless another process has written since. */
  async #findEnd(): Promise<LogPosition> {
    const last = this.#last;
    if (last) {
      const found = await stat(this.#files.log).catch(() => undefined);
      if (found?.ino === last.inode && found.size === last.position.bytes) return last.position;
    }
    return recover(this.#files);
  }

  /**
   * Renames a full file to the next number. The name is free, because only the holder of the lock creates such names.
   */
  async #rotateIfFull(position: LogPosition, bytes: number): Promise<LogPosition> {
    if (position.bytes === 0 || position.bytes + bytes <= this.#maxBytes) return position;
    const rotated = position.rotated + 1;
    await rename(this.#files.log, `${this.#files.log}.${rotated}`);
    return { ...position, rotated, bytes: 0 };
  }

  /** Runs work one after the other, in this and all other processes. */
  #withLock(work: () => Promise<void>): Promise<void> {
    const run = async () => {
      const release = await holdFileLock(this.#files.lock, this.#lockOptions);
      try {
        await work();
      } finally {
        release();
      }
    };
    this.#queue = this.#queue.then(run, run);
    return this.#queue;
  }
}

/**
 * Finds the real end of the log; call it under the lock. The stored position may be one block behind if its writer was
 * killed. Complete entries of an unfinished block are sealed, the rest is moved to `<file>.torn`.
 */
export async function recover(files: ActivityFiles): Promise<LogPosition> {
  const kept = await readPosition(files);
  // Unchanged: nothing follows the last seal, and no file was rotated since.
  if (typeof kept === "object" && kept.bytes > 0 && (await sizeOf(files.log)) === kept.bytes) return kept;
  const position = typeof kept === "string" ? await findLastSeal(files) : kept;
  const rotated = await countRotated(files);
  const { tail, ...found } = await advance(files, position, rotated);
  const isHeadLost = typeof kept === "string" && found.head.block > 1;
  if (tail.length === 0 && !isHeadLost) return found;
  return repair(files, found, tail, isHeadLost ? { head: kept } : {});
}

interface Advanced extends LogPosition {
  /** The bytes after the last seal. */
  readonly tail: Buffer;
}

/** Without a stored position: finds the last seal of the newest file that has one. */
async function findLastSeal(files: ActivityFiles): Promise<LogPosition> {
  const rotated = await countRotated(files);
  for (const number of [rotated, rotated - 1]) {
    const bytes = await readFrom(number === rotated ? files.log : `${files.log}.${rotated}`, 0);
    for (const { text, end } of linesOf(bytes).reverse()) {
      const seal = text === undefined ? undefined : parseSeal(text);
      if (seal) return { head: headOf(seal), rotated: number, bytes: end };
    }
    if (rotated === 0) break;
  }
  return { head: emptyHead, rotated, bytes: 0 };
}

/** Advances over complete blocks, and over files that were rotated since the position was stored. */
async function advance(files: ActivityFiles, from: LogPosition, rotated: number): Promise<Advanced> {
  let { head } = from;
  for (let number = from.rotated, bytes = from.bytes; ; number++, bytes = 0) {
    const isLive = number >= rotated;
    const path = isLive ? files.log : `${files.log}.${number + 1}`;
    const size = await sizeOf(path);
    // The file was truncated. The chain continues from the stored head, so that the gap stays visible.
    const start = size < bytes ? await lastLineEnd(path) : bytes;
    const rest = await readFrom(path, start);
    let end = 0;
    for (const line of linesOf(rest)) {
      const seal = line.text === undefined ? undefined : parseSeal(line.text);
      if (seal === undefined || line.text === undefined) continue;
      const body = rest.subarray(end, line.start).toString("utf8");
      // A seal that does not match stays; `verify` reports it.
      if (seal.previous === head.seal && (await isSealOf(line.text, seal, body))) head = headOf(seal);
      end = line.end;
    }
    if (isLive) return { head, rotated: number, bytes: start + end, tail: rest.subarray(end) };
  }
}

/** Seals the complete entries of a tail together with an entry about the repair, and moves the rest away. */
async function repair(
  files: ActivityFiles,
  position: LogPosition,
  tail: Buffer,
  why: { readonly head?: string },
): Promise<LogPosition> {
  let entries = 0;
  let end = 0;
  for (const line of linesOf(tail)) {
    if (!line.text?.startsWith(`{"seq":${position.head.seq + entries + 1},`) || !isJson(line.text)) break;
    entries += 1;
    end = line.end;
  }
  const unfinished = tail.subarray(end);
  if (unfinished.length > 0) {
    await appendTo(files.unfinished, unfinished);
    await truncate(files.log, position.bytes + end);
  }
  const whole = tail.subarray(0, end);
  const entry = { kind: "error", name: "activity-mended", entries, bytesMoved: unfinished.length, ...why };
  const note = JSON.stringify({ seq: position.head.seq + entries + 1, at: new Date().toISOString(), ...entry });
  const block = await sealBody([whole, Buffer.from(`${note}\n`)], entries + 1, position.head, "mend");
  await appendTo(files.log, block.bytes.subarray(whole.length));
  const mended = { head: block.head, rotated: position.rotated, bytes: position.bytes + block.bytes.length };
  await writePosition(files, mended);
  return mended;
}

/** Appends bytes to a file that only its owner can read, and flushes them to the disk. Returns the inode. */
export async function appendTo(path: string, bytes: Uint8Array): Promise<number> {
  const file = await open(path, "a", 0o600);
  try {
    await file.writeFile(bytes);
    await file.datasync();
    return (await file.stat()).ino;
  } finally {
    await file.close();
  }
}

interface Line {
  readonly start: number;
  /** Position after the line feed. */
  readonly end: number;
  /** Undefined if it is not valid UTF-8. */
  readonly text: string | undefined;
}

/** Returns the complete lines. */
function linesOf(bytes: Buffer): Line[] {
  const lines: Line[] = [];
  let start = 0;
  for (let at = bytes.indexOf(10); at !== -1; at = bytes.indexOf(10, start)) {
    lines.push({ start, end: at + 1, text: decode(bytes.subarray(start, at)) });
    start = at + 1;
  }
  return lines;
}

function decode(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

async function lastLineEnd(path: string): Promise<number> {
  return (await readFrom(path, 0)).lastIndexOf(10) + 1;
}

async function sizeOf(path: string): Promise<number> {
  try {
    return (await stat(path)).size;
  } catch (error) {
    if (isMissing(error)) return 0;
    throw error;
  }
}

async function readFrom(path: string, start: number): Promise<Buffer> {
  if ((await sizeOf(path)) <= start) return Buffer.alloc(0);
  if (start === 0) return readFile(path);
  const file = await open(path, "r");
  try {
    const bytes = Buffer.alloc((await file.stat()).size - start);
    const { bytesRead } = await file.read(bytes, 0, bytes.length, start);
    return bytes.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
}

function headOf({ seal, block, seq }: Seal): ActivityHead {
  return { seal, block, seq };
}
