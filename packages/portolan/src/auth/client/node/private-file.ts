import { constants, type Stats } from "node:fs";
import { type FileHandle, lstat, open } from "node:fs/promises";
import { PortolanError } from "../../../errors.ts";

const maxBytes = 16 * 1024 * 1024;

/** The text of a file that only this user can read; undefined when there is no file. */
export async function readPrivate(path: string): Promise<string | undefined> {
  const file = await openUnlinked(path);
  if (!file) return undefined;
  try {
    // Of the open file, so that it cannot be exchanged between the check and the reading.
    checkOwner(path, await file.stat());
    return await file.readFile("utf8");
  } finally {
    await file.close();
  }
}

async function openUnlinked(path: string): Promise<FileHandle | undefined> {
  try {
    // Windows has no such flag, and needs a right to make links.
    if (constants.O_NOFOLLOW === undefined && (await lstat(path)).isSymbolicLink()) throw isLink(path);
    // Not waiting: a pipe in its place would be waited for.
    return await open(path, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT") return undefined;
    if (code === "ELOOP" || code === "EMLINK") throw isLink(path);
    throw error;
  }
}

function checkOwner(path: string, stats: Stats): void {
  if (!stats.isFile()) throw refusal(path, "something that is no file", "name a file, which need not exist yet");
  if (stats.size > maxBytes) throw refusal(path, `${stats.size} bytes`, "name another file");
  const user = process.getuid?.();
  // Where there are no users by number there are no modes either.
  if (user === undefined) return;
  if (stats.uid !== user) throw refusal(path, `one of user ${stats.uid}`, `you are user ${user}`);
  const mode = stats.mode & 0o777;
  if ((mode & 0o077) === 0) return;
  const advice = `chmod 600 ${path}, and log in anew if others may have read it`;
  throw refusal(path, `mode ${mode.toString(8)}`, advice);
}

function isLink(path: string): PortolanError {
  return refusal(path, "a link", "name the file that it leads to");
}

function refusal(path: string, got: string, advice: string): PortolanError {
  const text = `fileStore: ${path}: expected a file that only you can read, got ${got}; ${advice}`;
  return new PortolanError("invalid-argument", text);
}
