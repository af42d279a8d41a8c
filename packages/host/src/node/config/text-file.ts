import { constants } from "node:fs";
import { open } from "node:fs/promises";
import { PortolanError } from "portolan";
import { limits } from "../../config/limits.ts";

/** The text of a file and how it may be accessed; undefined where there is none. */
export interface TextFile {
  readonly text: string;
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
}

/** Reads a file that others may have put there: never a pipe or a device, never more than the bound. */
export async function readTextFile(path: string): Promise<TextFile | undefined> {
  // Opening a pipe would wait for somebody who writes to it.
  const handle = await open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0)).catch((error: unknown) => {
    if (isMissing(error)) return undefined;
    throw unreadable(path, "it could not be opened", error);
  });
  if (!handle) return undefined;
  try {
    const found = await handle.stat();
    const { mode, uid, gid } = found;
    if (!found.isFile()) throw unreadable(path, "expected a file", undefined);
    return { text: decode(await readBytes(handle, path), path), mode: mode & 0o7777, uid, gid };
  } finally {
    await handle.close();
  }
}

type Handle = Awaited<ReturnType<typeof open>>;

/** Counted while it is read: its size may change, and some files have none. */
async function readBytes(handle: Handle, path: string): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for (;;) {
    const { bytesRead, buffer } = await handle.read(new Uint8Array(64 * 1024), 0, 64 * 1024);
    if (bytesRead === 0) return Buffer.concat(chunks);
    length += bytesRead;
    if (length > limits.fileBytes) throw tooLarge(path);
    chunks.push(buffer.subarray(0, bytesRead));
  }
}

/** Strictly, and with its mark of byte order: what is written back has to be what was read. */
function decode(bytes: Uint8Array, path: string): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (error) {
    throw unreadable(path, "expected UTF-8; save it as that", error);
  }
}

function isMissing(error: unknown): boolean {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  return code === "ENOENT" || code === "ENOTDIR";
}

function tooLarge(path: string): PortolanError {
  return new PortolanError("limit-reached", `${path}: expected at most ${limits.fileBytes} bytes, got more`);
}

function unreadable(path: string, reason: string, cause: unknown): PortolanError {
  return new PortolanError("invalid-argument", `${path}: ${reason}`, { cause });
}
