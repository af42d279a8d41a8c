import { closeSync, constants, fstatSync, openSync, readSync } from "node:fs";
import { Failure } from "./failure.ts";

/** A configuration file. The host reads no longer one. */
export const maxConfigurationBytes: number = 4 * 1024 * 1024;

/** The beginning of a file, and whether there is more. */
interface Beginning {
  readonly bytes: Buffer;
  readonly isWhole: boolean;
}

/**
 * Reads at most `maxBytes` of a file in a folder that a stranger can have filled, such as a cloned repository. Fails for
 * a pipe, which may wait for ever, and for a device, which may have no end. Undefined if there is no file.
 */
export function readBeginning(path: string, maxBytes: number): Beginning | undefined {
  const file = openIfPresent(path);
  if (file === undefined) return undefined;
  try {
    const found = fstatSync(file);
    if (!found.isFile()) throw new Failure("usage", `${path}: expected a file, got a folder, pipe or device`);
    // The size can change, and some files report none, so one byte more than allowed is tried.
    const bytes = Buffer.alloc(Math.min(maxBytes, Math.max(found.size, smallestRead)) + 1);
    let length = 0;
    for (let count = -1; count !== 0 && length < bytes.length; length += count) {
      count = readSync(file, bytes, length, bytes.length - length, null);
    }
    return {
      bytes: bytes.subarray(0, Math.min(length, maxBytes)),
      isWhole: length <= maxBytes && length < bytes.length,
    };
  } finally {
    closeSync(file);
  }
}

const smallestRead = 64 * 1024;

/** Reads a whole file in a folder that a stranger can have filled. Fails if it is longer. */
export function readRegularFile(path: string, maxBytes: number): Buffer | undefined {
  const found = readBeginning(path, maxBytes);
  if (found && !found.isWhole) throw new Failure("usage", `${path}: expected at most ${maxBytes} bytes, got more`);
  return found?.bytes;
}

function openIfPresent(path: string): number | undefined {
  try {
    // Opening a pipe would wait for a writer. Windows has no such flag, and no such pipes.
    return openSync(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") return undefined;
    throw new Failure("usage", `${path} cannot be opened (${code}); check its permissions`, { cause });
  }
}
