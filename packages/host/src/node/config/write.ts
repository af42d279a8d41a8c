import { randomBytes } from "node:crypto";
import { mkdir, open, readlink, realpath, rename, rm } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { checkOptions, type OptionNames } from "portolan/internal";
import { holdFileLock, type LockOptions } from "portolan/storage/node";
import { type EditOptions, editConfig } from "../../config/edit.ts";
import type { ServerEntry } from "../../options.ts";
import { readTextFile, type TextFile } from "./read.ts";

/** Options of `writeServer`. */
export interface WriteOptions extends Omit<EditOptions, "file"> {
  /** The times of the lock, and a function that is told of a long wait. */
  readonly lock?: LockOptions;
}

const writeOptionNames: OptionNames<Omit<WriteOptions, "lock">> = { format: 1, product: 1 };

/**
 * Adds, replaces or removes one server in a file, with its placeholders. The file is replaced atomically under a lock,
 * and everything else in it stays the same.
 */
export async function writeServer(
  file: string,
  name: string,
  entry: ServerEntry | undefined,
  { lock, ...options }: WriteOptions = {},
): Promise<void> {
  checkOptions(options, writeOptionNames, "writeServer");
  const path = await resolveLink(resolve(file));
  // Read before anything is written: a link of a stranger may lead to a device, beside which there must be no lock file.
  const found = await readTextFile(path);
  if (entry) await mkdir(dirname(path), { recursive: true });
  else if (!found) return;
  const release = await holdFileLock(`${path}.lock`, lock);
  try {
    const old = await readTextFile(path);
    // The given name, not the target of a link, determines the product.
    const text = await editConfig(old?.text ?? "", { ...options, file: resolve(file) }, name, entry);
    if (text !== old?.text) await replace(path, text, old);
  } finally {
    release();
  }
}

/** Returns the target of a symbolic link, so that the link itself stays. */
async function resolveLink(path: string): Promise<string> {
  const link = await realpath(path).catch(() => readlink(path).catch(() => path));
  return resolve(dirname(path), link);
}

async function replace(path: string, text: string, old: TextFile | undefined): Promise<void> {
  const temporary = `${path}.${randomBytes(8).toString("hex")}.tmp`;
  try {
    // Headers can contain secrets, so only the owner can read a new file.
    const handle = await open(temporary, "wx", 0o600);
    try {
      await handle.writeFile(text);
      // Without the permission to change the owner, the file becomes ours, as with any editor.
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
