import type { FileHandle } from "node:fs/promises";
import { withoutCut } from "./encoding.ts";

/** A part of a file. */
export interface Range {
  /** Position in the file. */
  readonly offset: number;
  readonly bytes: Uint8Array;
  /** Number of the first line, if it is known. */
  readonly from: number | undefined;
  /** Number of lines; the last one may be incomplete. */
  readonly lines: number;
  readonly isAtEnd: boolean;
}

export interface RangeOptions {
  readonly lines: number;
  readonly maxBytes: number;
  /** Size of the whole file. */
  readonly size: number;
  readonly signal: AbortSignal;
}

const chunkBytes = 256 * 1024;
const newline = 10;

/** Returns bytes from an offset; fewer only at the end of the file. */
export type Reader = (offset: number, wanted: number) => Promise<Buffer>;

/** Creates a reader; the start of the file, which is read first, is kept. */
export function createReader(handle: FileHandle, size: number): Reader {
  let start: Buffer | undefined;
  return async (offset, wanted) => {
    if (start && start.length >= size) return start.subarray(offset, offset + wanted);
    const bytes = await readBytes(handle, offset, wanted, size);
    if (offset === 0) start = bytes;
    return bytes;
  };
}

/** Reads bytes from an offset; fewer only at the end of the file. */
export async function readBytes(handle: FileHandle, offset: number, wanted: number, size: number): Promise<Buffer> {
  // At most the size of the file, and one more byte to detect growth.
  const length = Math.min(wanted, Math.max(0, size - offset) + 1);
  const buffer = Buffer.allocUnsafe(length);
  let filled = 0;
  while (filled < length) {
    const { bytesRead } = await handle.read(buffer, filled, length - filled, offset + filled);
    if (bytesRead === 0) break;
    filled += bytesRead;
  }
  return buffer.subarray(0, filled);
}

/** Reads lines starting at a line number; the lines before are scanned but not kept. */
export async function readFromLine(read: Reader, from: number, options: RangeOptions): Promise<Range> {
  let line = 1;
  let offset = 0;
  while (line < from) {
    options.signal.throwIfAborted();
    const chunk = await read(offset, chunkBytes);
    if (chunk.length === 0) return { offset, bytes: chunk, from: line, lines: 0, isAtEnd: true };
    let at = -1;
    while (line < from) {
      const next = chunk.indexOf(newline, at + 1);
      if (next < 0) break;
      at = next;
      line += 1;
    }
    offset += line < from ? chunk.length : at + 1;
  }
  return { ...(await readFromOffset(read, offset, options)), from };
}

/** Reads lines starting at an offset. */
export async function readFromOffset(read: Reader, offset: number, options: RangeOptions): Promise<Range> {
  const { lines: wanted, maxBytes } = options;
  // One extra byte tells whether the file continues.
  const found = await read(offset, maxBytes + 1);
  let bytes: Uint8Array = found.subarray(0, maxBytes);
  let end = 0;
  let lines = 0;
  while (lines < wanted) {
    const next = bytes.indexOf(newline, end);
    if (next < 0) break;
    end = next + 1;
    lines += 1;
  }
  if (lines < wanted && end < bytes.length) {
    const goesOn = found.length > maxBytes;
    // Whole lines if possible, else as much of one line as fits.
    if (!goesOn || end === 0) {
      bytes = goesOn ? withoutCut(bytes) : bytes;
      end = bytes.length;
      lines += 1;
    }
  }
  return {
    offset,
    bytes: bytes.subarray(0, end),
    from: offset === 0 ? 1 : undefined,
    lines,
    isAtEnd: end === found.length,
  };
}

/** Reads the last lines of a file, backwards from its end. */
export async function readLastLines(read: Reader, options: RangeOptions): Promise<Range> {
  const { lines: wanted, maxBytes, size, signal } = options;
  let start = size;
  let found = 0;
  while (start > 0 && size - start < maxBytes) {
    signal.throwIfAborted();
    const length = Math.min(chunkBytes, start, maxBytes - (size - start));
    const chunk = await read(start - length, length);
    let at = chunk.length;
    while (at > 0) {
      const before = chunk.lastIndexOf(newline, at - 1);
      if (before < 0) break;
      // A newline at the end of the file ends the last line and starts no other.
      if (start - length + before !== size - 1) {
        found += 1;
        if (found === wanted) return readFromOffset(read, start - length + before + 1, options);
      }
      at = before;
    }
    start -= length;
  }
  return readFromOffset(read, start, options);
}
