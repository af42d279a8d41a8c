import { existsSync, constants as flags, lstatSync, readlinkSync, realpathSync } from "node:fs";
import { type FileHandle, lstat, open } from "node:fs/promises";
import { basename, dirname, join } from "node:path";

/** Thrown when what was found is no longer there: the way to it changed while it was walked. */
export class Changed extends Error {
  override readonly name = "Changed";
}

/**
 * A folder that is held while something is done in it. Its entries are reached through what is held and not by their
 * path, so that nobody can put another folder into the path meanwhile.
 */
export interface Folder {
  readonly real: string;
  /** How to name an entry to the system. */
  at(name: string): string;
  /** Throws Changed unless the folder is still the one that was opened; asked where names alone lead to it. */
  check(): Promise<void>;
  /** Opens a folder in it; links are not followed. */
  openFolder(name: string): Promise<Folder>;
  /** Opens a file in it; links are not followed, and what cannot be proven to be this entry is refused. */
  openFile(name: string, mode: number, permissions?: number): Promise<FileHandle>;
  close(): Promise<void>;
}

/** How folders are held: by a descriptor that entries are reached through, or by comparing before and after. */
export type Holding = "descriptor" | "comparison";

const descriptors = "/proc/self/fd";
const noFollow = flags.O_NOFOLLOW ?? 0;
/** Opening a pipe must not wait for its other end. */
const noWait = flags.O_NONBLOCK ?? 0;
const directory = flags.O_DIRECTORY ?? 0;
/** What macOS calls O_NOFOLLOW_ANY: no link anywhere in the path. */
const noLinks = process.platform === "darwin" ? 0x2000_0000 : 0;
const looks = 3;

/** What this system can do: only Linux reaches entries through a descriptor. */
export const bestHolding: Holding =
  process.platform === "linux" && existsSync(descriptors) ? "descriptor" : "comparison";

/** Opens a folder by its real path, and makes sure that it is the one. */
export async function openFolder(real: string, holding: Holding = bestHolding): Promise<Folder> {
  if (holding === "comparison") return openCompared(real);
  const handle = await open(real, flags.O_RDONLY | directory | noFollow).catch(async (reason) => {
    // The system says "no folder" of a link that it was told not to follow.
    if (reason.code === "ENOTDIR" && (await lstat(real)).isSymbolicLink()) throw new Changed(real);
    throw reason;
  });
  try {
    if (pathOf(handle) !== real) throw new Changed(real);
    return new HeldFolder(handle, real);
  } catch (reason) {
    await handle.close();
    throw reason;
  }
}

/** Opens a file by its real path for reading, and makes sure that it is the one. */
export async function openByPath(real: string, holding: Holding = bestHolding): Promise<FileHandle> {
  if (holding === "comparison") return (await openCompared(dirname(real))).openFile(basename(real), flags.O_RDONLY);
  const handle = await open(real, flags.O_RDONLY | noFollow | noWait);
  try {
    if (pathOf(handle) === real) return handle;
    throw new Changed(real);
  } catch (reason) {
    await handle.close();
    throw reason;
  }
}

/** The path of what is open. The kernel knows it without looking at any disk, so nothing is waited for. */
function pathOf({ fd }: FileHandle): string {
  return readlinkSync(`${descriptors}/${fd}`);
}

/** Entries are reached through the descriptor, as openat does it. */
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
  if (!found.isDirectory()) throw new Changed(real);
  const folder = new ComparedFolder(real, found);
  await folder.check();
  return folder;
}

/** Entries are reached by their path, which is compared before they are used. */
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

  // Nothing is awaited between one look and the next: the shorter the moment, the harder it is to meet.
  #checkNow(): void {
    const isThere = realpathSync.native(this.real) === this.real;
    if (!isThere || !isSame(lstatSync(this.real, { bigint: true }), this.#identity)) throw new Changed(this.real);
  }

  async openFolder(name: string): Promise<Folder> {
    await this.check();
    return openCompared(this.at(name));
  }

  async openFile(name: string, mode: number, permissions?: number): Promise<FileHandle> {
    const handle = await open(this.at(name), mode | noFollow | noLinks | noWait, permissions);
    try {
      const opened = await handle.stat({ bigint: true });
      // Each look by itself can be deceived by a swap at the right moment; all of them hardly.
      for (let look = 0; look < looks; look += 1) {
        this.#checkNow();
        if (!isSame(opened, lstatSync(this.at(name), { bigint: true }))) throw new Changed(this.at(name));
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
