import { createHash, randomBytes } from "node:crypto";
import { mkdir, open, readdir, rename, rm, stat } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { PortolanError } from "../../../errors.ts";
import { holdFileLock, type LockOptions } from "../../../storage/node/file-lock.ts";
import { KeyedMutex } from "../concurrency.ts";
import { staleTemporaryFileMs } from "../limits.ts";
import type { CredentialStore, ExclusiveOptions } from "../store.ts";
import { type CredentialFile, checkTtl, parseCredentialFile, readPrivate, withCredential } from "./credential-file.ts";

/** Creates the store of `fileStore`; `lockOptions` are those of its locks. */
export function createFileStore(path: string, lockOptions: LockOptions = {}): CredentialStore {
  return new FileStore(resolve(path), lockOptions);
}

class FileStore implements CredentialStore {
  readonly #path: string;
  readonly #lockOptions: LockOptions;
  readonly #mutex = new KeyedMutex();
  /** Releases the locks that this process holds; they must not outlive it. */
  readonly #held = new Set<() => void>();
  readonly #atExit = () => {
    for (const release of this.#held) release();
  };

  constructor(path: string, lockOptions: LockOptions) {
    this.#path = path;
    this.#lockOptions = lockOptions;
  }

  async get(key: string): Promise<string | undefined> {
    const { entries } = await this.#withReason(() => this.#read());
    const entry = entries.get(key);
    return entry && (entry.expiresAt ?? Number.POSITIVE_INFINITY) > Date.now() ? entry.value : undefined;
  }

  async set(key: string, value: string | undefined, options: { readonly ttlMs?: number } = {}): Promise<void> {
    checkTtl(options.ttlMs);
    const change = async () => {
      const content = await this.#read();
      await this.#write(withCredential(content, key, value, options.ttlMs));
    };
    await this.#locked(`${this.#path}.lock`, () => this.#withReason(change));
  }

  exclusive<T>(key: string, work: () => Promise<T>, waiting: ExclusiveOptions = {}): Promise<T> {
    // A digest, because a key may contain characters that file names cannot, and should not be visible in the folder.
    const name = createHash("sha256").update(key).digest("hex").slice(0, 32);
    return this.#locked(`${this.#path}.${name}.lock`, work, waiting);
  }

  /** The mutex comes first, so that at most one caller of each process competes for the lock file. */
  #locked<T>(lock: string, work: () => Promise<T>, waiting: ExclusiveOptions = {}): Promise<T> {
    return this.#mutex.run(lock, async () => {
      const release = await this.#withReason(() => this.#hold(lock, waiting));
      try {
        return await work();
      } finally {
        this.#held.delete(release);
        if (this.#held.size === 0) process.off("exit", this.#atExit);
        release();
      }
    });
  }

  async #hold(lock: string, waiting: ExclusiveOptions): Promise<() => void> {
    await mkdir(dirname(this.#path), { recursive: true, mode: 0o700 });
    const { reason, ...limits } = waiting;
    const { onWait } = this.#lockOptions;
    const notice = reason !== undefined &&
      onWait && { onWait: () => onWait(`${reason}. Waiting until it has finished`) };
    const release = await holdFileLock(lock, { ...this.#lockOptions, ...limits, ...notice });
    if (this.#held.size === 0) process.on("exit", this.#atExit);
    this.#held.add(release);
    return release;
  }

  async #read(): Promise<CredentialFile> {
    const text = await readPrivate(this.#path);
    return parseCredentialFile(text, this.#path);
  }

  /** Replaces the file atomically: a crash leaves either the old or the new content. */
  async #write(text: string): Promise<void> {
    await this.#removeLeftovers();
    const temporary = `${this.#path}.${randomBytes(8).toString("hex")}.tmp`;
    try {
      const file = await open(temporary, "wx", 0o600);
      try {
        await file.writeFile(text);
        await file.sync();
      } finally {
        await file.close();
      }
      await rename(temporary, this.#path);
    } catch (error) {
      await rm(temporary, { force: true });
      throw error;
    }
    await syncFolder(dirname(this.#path));
  }

  /** Removes temporary files that contain secrets, left by processes that died before the rename. */
  async #removeLeftovers(): Promise<void> {
    const folder = dirname(this.#path);
    const prefix = `${basename(this.#path)}.`;
    for (const name of await readdir(folder)) {
      if (!name.startsWith(prefix) || !/^[\da-f]{16}\.tmp$/.test(name.slice(prefix.length))) continue;
      const file = join(folder, name);
      const { mtimeMs } = await stat(file).catch(() => ({ mtimeMs: Date.now() }));
      if (Date.now() - mtimeMs > staleTemporaryFileMs) await rm(file, { force: true });
    }
  }

  async #withReason<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (cause) {
      if (cause instanceof PortolanError) throw cause;
      const why = (cause as Error).message;
      throw new PortolanError("invalid-argument", `fileStore: ${this.#path} cannot be used: ${why}`, { cause });
    }
  }
}

/** Makes the rename durable. Where a folder cannot be opened, the operating system does that itself. */
async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, "r").catch(() => undefined);
  try {
    await folder?.sync();
  } catch {
  } finally {
    await folder?.close();
  }
}
