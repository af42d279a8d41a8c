import { randomBytes } from "node:crypto";
import { mkdir, open, readlink, realpath, rename, rm } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { holdFileLock, type LockLimits } from "portolan/storage/node";
import { type EditOptions, editConfig } from "../../config/edit.ts";
import type { ServerEntry } from "../../options.ts";
import { readTextFile, type TextFile } from "./read.ts";

/** How a server is written. */
export interface WriteOptions extends Omit<EditOptions, "file"> {
  readonly lock?: Partial<LockLimits>;
}

/**
 * Adds, replaces or removes one server in a file, as it was written before any variable was put in. The file is there
 * whole or not at all at any time, two who write wait for each other, and everything else in it stays as it is.
 */
export async function writeServer(
  file: string,
  name: string,
  entry: ServerEntry | undefined,
  { lock, ...options }: WriteOptions = {},
): Promise<void> {
  const path = await targetOf(resolve(file));
  if (entry) await mkdir(dirname(path), { recursive: true });
  else if (!(await readTextFile(path))) return;
  const release = await holdFileLock(`${path}.lock`, lock);
  try {
    const old = await readTextFile(path);
    // The name that was given says more than that of a link's target.
    const text = await editConfig(old?.text ?? "", { ...options, file: resolve(file) }, name, entry);
    if (text !== old?.text) await replace(path, text, old);
  } finally {
    release();
  }
}

/** What a link points to: the link itself stays. */
async function targetOf(path: string): Promise<string> {
  const link = await realpath(path).catch(() => readlink(path).catch(() => path));
  return resolve(dirname(path), link);
}

async function replace(path: string, text: string, old: TextFile | undefined): Promise<void> {
  const temporary = `${path}.${randomBytes(8).toString("hex")}.tmp`;
  try {
    // Headers may hold secrets: a new file is only for its owner.
    const handle = await open(temporary, "wx", 0o600);
    try {
      await handle.writeFile(text);
      // Only who may give files away can keep another owner; then the file is ours, as any editor would leave it.
      if (old) await handle.chown(old.uid, old.gid).catch(() => {});
      if (old) await handle.chmod(old.mode);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}
