import { randomBytes } from "node:crypto";
import { constants as flags, type Stats } from "node:fs";
import { type FileHandle, link, lstat, rename, unlink } from "node:fs/promises";
import { ToolError } from "portolan/server";
import { Changed, type Folder } from "../jail/folder.ts";
import { draftPrefix } from "../jail/names.ts";
import { codeOf } from "./system-errors.ts";

/** Codes by which file systems say that they have no hard links. */
const noLinks = new Set(["EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS", "EMLINK"]);

/**
 * Puts a file into a held folder. It is written beside its place and moved there, so that readers see the old file or
 * the new one and never half of it, and a file that came meanwhile is not lost: `replaces` is what may be replaced.
 */
export async function put<T>(
  folder: Folder,
  name: string,
  path: string,
  replaces: Stats | undefined,
  fill: (handle: FileHandle) => Promise<T>,
): Promise<T> {
  const draft = `${draftPrefix}${randomBytes(9).toString("base64url")}`;
  const handle = await folder.openFile(draft, flags.O_WRONLY | flags.O_CREAT | flags.O_EXCL, 0o666);
  try {
    let filled: T;
    try {
      filled = await fill(handle);
      if (replaces) await handle.chmod(replaces.mode & 0o777);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await folder.check();
    if (replaces) await takePlace(folder, draft, name, replaces);
    else await moveToFree(folder, draft, folder, name, path);
    return filled;
  } finally {
    await unlink(folder.at(draft)).catch(() => {
      // It has its name already.
    });
  }
}

async function takePlace(folder: Folder, draft: string, name: string, expected: Stats): Promise<void> {
  const now = await lstat(folder.at(name));
  if (now.ino !== expected.ino || now.mtimeMs !== expected.mtimeMs || now.size !== expected.size)
    throw new Changed(name);
  await rename(folder.at(draft), folder.at(name));
}

/** Gives a file a name that nobody has; throws if somebody does. */
export async function moveToFree(from: Folder, name: string, to: Folder, free: string, path: string): Promise<void> {
  const isFile = (await lstat(from.at(name))).isFile();
  if (isFile) {
    try {
      // A rename would replace what is there; a second name for the file is refused.
      await link(from.at(name), to.at(free));
      await unlink(from.at(name));
      return;
    } catch (reason) {
      if (codeOf(reason) === "EEXIST") throw alreadyThere(path);
      if (!noLinks.has(codeOf(reason) ?? "")) throw reason;
    }
  }
  if (await statOf(to, free)) throw alreadyThere(path);
  await rename(from.at(name), to.at(free));
}

/** What is at a name, if anything; links are not followed. */
export async function statOf(folder: Folder, name: string): Promise<Stats | undefined> {
  try {
    return await lstat(folder.at(name));
  } catch (reason) {
    if (codeOf(reason) === "ENOENT") return undefined;
    throw reason;
  }
}

export function alreadyThere(path: string): ToolError {
  return new ToolError(`${path} is there already; choose another name, or say overwrite: true to replace it`);
}
