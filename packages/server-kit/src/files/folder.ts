import { existsSync, constants as flags, lstatSync, readlinkSync, realpathSync } from "node:fs";
import { type FileHandle, lstat, open } from "node:fs/promises";
import { basename, dirname, join } from "node:path";

/** Thrown when a path changed while it was being opened. */
export class PathChanged extends Error {
  override readonly name = "Changed";
}

/**
 * A folder that is held open while it is used. Its entries are accessed relative to it, not by path, so that no other
 * process can swap a part of the path.
 */
export interface Folder {
  readonly real: string;
  /** Returns the path by which the system reaches an entry. */
  at(name: string): string;
  /** Throws PathChanged unless the folder is still the one that was opened; needed where paths are compared. */
  check(): Promise<void>;
  /** Opens a subfolder; links are not followed. */
  openFolder(name: string): Promise<Folder>;
  /** Opens a file; links are not followed. Throws PathChanged if the file cannot be proven to be this entry. */
  openFile(name: string, mode: number, permissions?: number): Promise<FileHandle>;
  close(): Promise<void>;
}

/** How folders are held: by a descriptor, or by comparing identities before and after each use. */
export type Holding = "descriptor" | "comparison";

const descriptors = "/proc/self/fd";
const noFollow = flags.O_NOFOLLOW ?? 0;
/** Do not wait for the other end of a pipe. */
const noWait = flags.O_NONBLOCK ?? 0;
const directory = flags.O_DIRECTORY ?? 0;
/** O_NOFOLLOW_ANY of macOS: no link anywhere in the path. */
const noLinks = process.platform === "darwin" ? 0x2000_0000 : 0;
const checks = 3;

/** The best method of this system; only Linux can reach entries through a descriptor. */
export const bestHolding: Holding =
  process.platform === "linux" && existsSync(descriptors) ? "descriptor" : "comparison";

/** Opens a folder by its real path; throws PathChanged if the path led elsewhere. */
export async function openFolder(real: string, holding: Holding = bestHolding): Promise<Folder> {
  if (holding === "comparison") return openCompared(real);
  const handle = await open(real, flags.O_RDONLY | directory | noFollow).catch(async (reason) => {
    // The system reports ENOTDIR for a link that it must not follow.
    if (reason.code === "ENOTDIR" && (await lstat(real)).isSymbolicLink()) throw new PathChanged(real);
    throw reason;
  });
  try {
    if (pathOf(handle) !== real) throw new PathChanged(real);
    return new HeldFolder(handle, real);
  } catch (reason) {
    await handle.close();
    throw reason;
  }
}

/** Opens a file by its real path for reading; throws PathChanged if the path led elsewhere. */
export async function openByPath(real: string, holding: Holding = bestHolding): Promise<FileHandle> {
  if (holding === "comparison") return (await openCompared(dirname(real))).openFile(basename(real), flags.O_RDONLY);
  const handle = await open(real, flags.O_RDONLY | noFollow | noWait);
  try {
    if (pathOf(handle) === real) return handle;
    throw new PathChanged(real);
  } catch (reason) {
    await handle.close();
    throw reason;
  }
}

/** Returns the path of an open file. The kernel knows it without disk access, so the call is synchronous. */
function pathOf({ fd }: FileHandle): string {
  return readlinkSync(`${descriptors}/${fd}`);
}

/** Reaches entries through the descriptor, like openat. */
class HeldFolder implements Folder {
  readonly real: string;
  readonly #handle: FileHandle;

  constructor(handle: FileHandle, real: string) {
    this.#handle = handle;
    this.real = real;
  }

  at(name: string): string {
    return `${descriptors}/${this.#handle.fd}/${name}`;
  }

  async check(): Promise<void> {}

  async openFolder(name: string): Promise<Folder> {
    const handle = await open(this.at(name), flags.O_RDONLY | directory | noFollow);
    return new HeldFolder(handle, join(this.real, name));
  }

  openFile(name: string, mode: number, permissions?: number): Promise<FileHandle> {
    return open(this.at(name), mode | noFollow | noWait, permissions);
  }

  close(): Promise<void> {
    return this.#handle.close();
  }
}

interface Identity {
  readonly dev: bigint;
  readonly ino: bigint;
}

async function openCompared(real: string): Promise<Folder> {
  const found = await lstat(real, { bigint: true });
  if (!found.isDirectory()) throw new PathChanged(real);
  const folder = new ComparedFolder(real, found);
  await folder.check();
  return folder;
}

/** Reaches entries by path, and compares the folder's identity around each use. */
class ComparedFolder implements Folder {
  readonly real: string;
  readonly #identity: Identity;

  constructor(real: string, identity: Identity) {
    this.real = real;
    this.#identity = identity;
  }

  at(name: string): string {
    return join(this.real, name);
  }

  async check(): Promise<void> {
    this.#checkNow();
  }

  // Synchronous: the shorter the time between two checks, the harder it is to win the race.
  #checkNow(): void {
    const isThere = realpathSync.native(this.real) === this.real;
    if (!isThere || !isSame(lstatSync(this.real, { bigint: true }), this.#identity)) throw new PathChanged(this.real);
  }

  async openFolder(name: string): Promise<Folder> {
    await this.check();
    return openCompared(this.at(name));
  }

  async openFile(name: string, mode: number, permissions?: number): Promise<FileHandle> {
    const handle = await open(this.at(name), mode | noFollow | noLinks | noWait, permissions);
    try {
      const opened = await handle.stat({ bigint: true });
      // A swap at the right moment can deceive one check, but hardly all of them.
      for (let check = 0; check < checks; check += 1) {
        this.#checkNow();
        if (!isSame(opened, lstatSync(this.at(name), { bigint: true }))) throw new PathChanged(this.at(name));
      }
      this.#checkNow();
      return handle;
    } catch (reason) {
      await handle.close();
      throw reason;
    }
  }

  async close(): Promise<void> {}
}

function isSame(a: Identity, b: Identity): boolean {
  return a.dev === b.dev && a.ino === b.ino;
}
