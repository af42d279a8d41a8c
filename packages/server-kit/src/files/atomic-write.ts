import { randomBytes } from "node:crypto";
import { constants as flags, type Stats } from "node:fs";
import { type FileHandle, link, lstat, rename, unlink } from "node:fs/promises";
import { ToolError } from "portolan/server";
import { type Folder, PathChanged } from "./folder.ts";
import { draftPrefix } from "./names.ts";
import { systemCodeOf } from "./system-errors.ts";

/** Error codes of file systems without hard links. */
const noLinks = new Set(["EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS", "EMLINK"]);

/**
 * Writes a file atomically: to a draft beside its place, which is then renamed. Readers see the old file or the new one,
 * never half of it. Throws if the file is no longer the one in `replaces`, or if a new file has appeared.
 */
export async function writeAtomically<T>(
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
      // The draft has been renamed.
    });
  }
}

async function takePlace(folder: Folder, draft: string, name: string, expected: Stats): Promise<void> {
  const now = await lstat(folder.at(name));
  if (now.ino !== expected.ino || now.mtimeMs !== expected.mtimeMs || now.size !== expected.size)
    throw new PathChanged(name);
  await rename(folder.at(draft), folder.at(name));
}

/** Renames an entry to a free name; throws if the name is taken. */
export async function moveToFree(from: Folder, name: string, to: Folder, free: string, path: string): Promise<void> {
  const isFile = (await lstat(from.at(name))).isFile();
  if (isFile) {
    try {
      // rename() would replace an existing file; link() fails instead.
      await link(from.at(name), to.at(free));
      await unlink(from.at(name));
      return;
    } catch (reason) {
      if (systemCodeOf(reason) === "EEXIST") throw alreadyThere(path);
      if (!noLinks.has(systemCodeOf(reason) ?? "")) throw reason;
    }
  }
  if (await statOf(to, free)) throw alreadyThere(path);
  await rename(from.at(name), to.at(free));
}

/** Returns the stats of an entry, without following links; undefined if there is none. */
export async function statOf(folder: Folder, name: string): Promise<Stats | undefined> {
  try {
    return await lstat(folder.at(name));
  } catch (reason) {
    if (systemCodeOf(reason) === "ENOENT") return undefined;
    throw reason;
  }
}

export function alreadyThere(path: string): ToolError {
  return new ToolError(`${path} already exists; choose another name, or set overwrite: true to replace it`);
}
