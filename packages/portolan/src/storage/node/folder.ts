import { createHash, randomBytes } from "node:crypto";
import { mkdir, open, readdir, readFile, rename, rm, stat } from "node:fs/promises";
import { join, resolve } from "node:path";
import { PortolanError } from "../../errors.ts";
import { checkOptions } from "../../options.ts";
import { defaultLimit, folderSweepMs, staleTemporaryFileMs, sweptFilesPerWrite } from "../limits.ts";
import type { KeyListOptions, KeyValue, KeyValueEntry, SetOptions } from "../storage.ts";
import { holdFileLock, type LockOptions } from "./file-lock.ts";

/** Options of `folderKeyValue`. */
export interface FolderKeyValueOptions {
  /** Milliseconds since 1970. Default: `Date.now`. */
  readonly now?: () => number;
  /** Called if another process keeps a value locked for 2 s, with a sentence that names the file and the process. */
  readonly onWait?: (notice: string) => void;
}

/**
 * Creates a key-value storage in a folder of this user, for any number of processes. Each value is a file, which is
 * replaced atomically. A file that is not a valid value counts as absent. Writes delete expired values, a few at a time.
 */
export function folderKeyValue(path: string, options: FolderKeyValueOptions = {}): KeyValue {
  checkOptions(options, { now: 1, onWait: 1 }, "folderKeyValue");
  return new FolderKeyValue(resolve(path), options);
}

class FolderKeyValue implements KeyValue {
  readonly #folder: string;
  readonly #now: () => number;
  readonly #lockOptions: LockOptions | undefined;
  #made: Promise<unknown> | undefined;
  /** Files that are still to be looked at, and when they were listed. */
  #unswept: string[] = [];
  #sweptAt = Number.NEGATIVE_INFINITY;

  constructor(folder: string, { now = Date.now, onWait }: FolderKeyValueOptions) {
    this.#folder = folder;
    this.#now = now;
    this.#lockOptions = onWait && { onWait };
  }

  async get(key: string): Promise<string | undefined> {
    return (await this.#read(nameOf(key), key))?.value;
  }

  async set(key: string, value: string, { ttlMs, expect }: SetOptions = {}): Promise<boolean> {
    if (ttlMs !== undefined && !(Number.isFinite(ttlMs) && ttlMs > 0)) {
      throw new PortolanError("invalid-argument", `ttlMs: expected a number of milliseconds above 0, got ${ttlMs}`);
    }
    const isWritten = await this.#withLock(nameOf(key), async () => {
      if (expect !== undefined && ((await this.get(key)) ?? null) !== expect) return false;
      const row: Row = { key, value, ...(ttlMs !== undefined && { expiresAt: this.#now() + ttlMs }) };
      await this.#write(nameOf(key), JSON.stringify(row));
      return true;
    });
    // A sweep that fails is tried again by a later write, and must not fail this one, which is done.
    await this.#sweep().catch(() => {});
    return isWritten;
  }

  async delete(key: string): Promise<void> {
    await this.#withLock(nameOf(key), () => rm(join(this.#folder, nameOf(key)), { force: true }));
  }

  async list(prefix: string, { after, limit = defaultLimit }: KeyListOptions = {}): Promise<KeyValueEntry[]> {
    const names = ((await readdir(this.#folder).catch(unlessMissing)) ?? []).filter(isRow);
    const rows: (Row | undefined)[] = [];
    for (let at = 0; at < names.length; at += filesAtOnce) {
      rows.push(...(await Promise.all(names.slice(at, at + filesAtOnce).map((name) => this.#read(name)))));
    }
    return rows
      .flatMap((row) => (row?.key.startsWith(prefix) && (after === undefined || row.key > after) ? [row] : []))
      .sort((a, b) => (a.key < b.key ? -1 : 1))
      .slice(0, limit)
      .map(({ key, value }) => ({ key, value }));
  }

  async #read(name: string, key?: string): Promise<Row | undefined> {
    const text = await readFile(join(this.#folder, name), "utf8").catch(unlessMissing);
    const row = text === undefined ? undefined : parseRow(text);
    if (!row || (key !== undefined && row.key !== key)) return undefined;
    return row.expiresAt !== undefined && row.expiresAt <= this.#now() ? undefined : row;
  }

  async #write(name: string, text: string): Promise<void> {
    const temporary = join(this.#folder, `${randomBytes(8).toString("hex")}.tmp`);
    try {
      const file = await open(temporary, "wx", 0o600);
      try {
        await file.writeFile(text);
        await file.sync();
      } finally {
        await file.close();
      }
      await rename(temporary, join(this.#folder, name));
    } catch (error) {
      await rm(temporary, { force: true });
      throw withFolder(error, this.#folder);
    }
  }

  /** Deletes the next few files that have expired. */
  async #sweep(): Promise<void> {
    const now = performance.now();
    if (this.#unswept.length === 0 && now - this.#sweptAt >= folderSweepMs) {
      this.#sweptAt = now;
      const names = new Set(await readdir(this.#folder));
      // A file that is locked now waits for the next sweep, so that no write waits for the lock of another key.
      this.#unswept = [...names].filter((name) => isTemporary(name) || (isRow(name) && !names.has(`${name}.lock`)));
    }
    for (const name of this.#unswept.splice(0, sweptFilesPerWrite)) {
      if (isTemporary(name)) {
        const { mtimeMs } = await stat(join(this.#folder, name));
        if (Date.now() - mtimeMs > staleTemporaryFileMs) await rm(join(this.#folder, name), { force: true });
      } else if (await this.#hasExpired(name)) {
        await this.#withLock(name, async () => {
          // Another process may have written the key again.
          if (await this.#hasExpired(name)) await rm(join(this.#folder, name), { force: true });
        });
      }
    }
  }

  async #hasExpired(name: string): Promise<boolean> {
    const text = await readFile(join(this.#folder, name), "utf8").catch(unlessMissing);
    const { expiresAt = Number.POSITIVE_INFINITY } = (text !== undefined && parseRow(text)) || {};
    return expiresAt <= this.#now();
  }

  /** Runs `work` while no other process writes this file. */
  async #withLock<T>(name: string, work: () => Promise<T>): Promise<T> {
    this.#made ??= mkdir(this.#folder, { recursive: true, mode: 0o700 });
    await this.#made.catch((error) => {
      // The next write tries again: the disk may have room then.
      this.#made = undefined;
      throw error;
    });
    const release = await holdFileLock(join(this.#folder, `${name}.lock`), this.#lockOptions).catch((error) => {
      throw withFolder(error, this.#folder);
    });
    try {
      return await work();
    } finally {
      release();
    }
  }
}

/** Files that are open at once while all are read, so that a large folder does not use up the process's file handles. */
const filesAtOnce = 64;

interface Row {
  readonly key: string;
  readonly value: string;
  /** Milliseconds since 1970. Absent: the value does not expire. */
  readonly expiresAt?: number;
}

/** Returns a digest, because keys can have characters that file names cannot. */
function nameOf(key: string): string {
  // UTF-8 has no bytes for half a surrogate pair, and would make one name of several keys. JSON escapes it.
  const text = /\p{Surrogate}/u.test(key) ? `\0${JSON.stringify(key)}` : key;
  return `${createHash("sha256").update(text).digest("hex").slice(0, 40)}.json`;
}

function isRow(name: string): boolean {
  return /^[\da-f]{40}\.json$/.test(name);
}

function isTemporary(name: string): boolean {
  return /^[\da-f]{16}\.tmp$/.test(name);
}

function parseRow(text: string): Row | undefined {
  try {
    const row = JSON.parse(text) as Partial<Row> | null;
    return typeof row?.key === "string" && typeof row.value === "string" ? (row as Row) : undefined;
  } catch {
    return undefined;
  }
}

/** Adds the folder to an error of an open file, which names none: a full disk is one of several. */
function withFolder(error: unknown, folder: string): unknown {
  if (error instanceof Error && !error.message.includes(folder)) error.message += ` in ${folder}`;
  return error;
}

function unlessMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code === "ENOENT" || error.code === "EISDIR") return undefined;
  throw error;
}
