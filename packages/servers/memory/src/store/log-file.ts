import { randomBytes } from "node:crypto";
import {
  closeSync,
  constants,
  copyFileSync,
  fdatasyncSync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readdirSync,
  readSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { type Entry, readLine, writeLine } from "./line.ts";
import { Replica, rewrite } from "./replica.ts";

const headBytes = 512;

/**
 * The file of a memory. Lines are only appended, by the holder of the lock, and are complete when they end with a line
 * break. A new file replaces the old one atomically; readers detect it by the generation in its first line.
 */
export class LogFile {
  readonly file: string;
  readonly lock: string;

  constructor(path: string) {
    const folder = dirname(resolve(path));
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    // Replace the target of a link, not the link.
    this.file = realPathOf(path) ?? join(realpathSync(folder), basename(path));
    this.lock = `${this.file}.lock`;
  }

  /** Reads the lines appended since the last read; returns false if the file was replaced or never read. */
  follow(replica: Replica, changed: Map<string, Set<string>>): boolean {
    return this.#reading((file) => {
      if (file === undefined) return replica.size === 0;
      const { size } = fstatSync(file);
      if (replica.size === 0) return size === 0;
      if (size < replica.size || generationOf(file) !== replica.generation) return false;
      const { mark } = replica;
      const bytes = readBytes(file, replica.size - mark.length, size);
      // A failed write may have been read, rolled back, and followed by another one.
      if (bytes.compare(mark, 0, mark.length, 0, mark.length) !== 0) return false;
      if (bytes.length > mark.length) replica.read(bytes.subarray(mark.length), changed);
      return true;
    });
  }

  readAll(): Replica {
    return this.#reading((file) => {
      const replica = new Replica();
      if (file === undefined) return replica;
      const bytes = readBytes(file, 0, fstatSync(file).size);
      replica.read(bytes);
      if (bytes.length > 0 && replica.last < 0) throw this.#foreign(bytes);
      return replica;
    });
  }

  /** Completes or removes a last line whose writer was killed: it was never acknowledged. */
  mend(): void {
    this.#opened(constants.O_RDWR, (file) => {
      const { size } = fstatSync(file);
      if (size === 0 || readBytes(file, size - 1, size)[0] === 10) return;
      const bytes = readBytes(file, 0, size);
      const begun = bytes.lastIndexOf(10) + 1;
      // Our files are created with their first line: a file without one is not ours and stays untouched.
      if (begun === 0) return;
      if (readLine(bytes.toString("utf8", begun))) writeAll(file, Buffer.from("\n"), size);
      else ftruncateSync(file, begun);
      fsyncSync(file);
    });
  }

  /** Appends lines and syncs them to disk; throws if the file was replaced in between. */
  append(replica: Replica, entries: readonly Entry[], maxBytes: number): void {
    if (replica.size === 0) {
      // The file is created with its first lines, so that readers never see one without a header.
      Object.assign(replica, this.#begin(replica));
      return;
    }
    const lines = entries.map((entry, index) => writeLine(replica.last + 1 + index, entry));
    const bytes = Buffer.from(lines.join(""));
    if (replica.size + bytes.length > maxBytes) throw new FileFullError(maxBytes);
    this.#opened(constants.O_RDWR, (file) => {
      const { size, ino } = fstatSync(file);
      if (size !== replica.size) throw new Error(`${this.file} was changed by a process that does not hold its lock`);
      try {
        writeAll(file, bytes, size);
        fdatasyncSync(file);
      } catch (reason) {
        ftruncateSync(file, size);
        throw reason;
      }
      if (statSync(this.file).ino !== ino) throw new Error(`${this.file} was replaced while it was being written`);
    });
    replica.pass(bytes, lines.length);
  }

  /** Replaces the file atomically by a compacted one with the content of a replica. Returns the replica of the new file. */
  replace(old: Replica): Replica {
    this.#clear();
    const fresh = `${this.file}.${randomBytes(8).toString("hex")}.new`;
    const compacted = rewrite(old, randomBytes(8).toString("hex"));
    const bytes = Buffer.from(compacted.text);
    try {
      const file = openSync(fresh, "wx", 0o600);
      try {
        writeAll(file, bytes, 0);
        fsyncSync(file);
      } finally {
        closeSync(file);
      }
      renameSync(fresh, this.file);
    } catch (reason) {
      rmSync(fresh, { force: true });
      throw reason;
    }
    syncFolder(dirname(this.file));
    return old.inFile(compacted, bytes);
  }

  /** Copies the damaged file before a repair drops its damaged lines. */
  keepCopy(): void {
    copyFileSync(this.file, `${this.file}.damaged-${Date.now()}`, constants.COPYFILE_EXCL);
  }

  /** Removes leftover files of killed processes; only the holder of the lock creates such files. */
  #clear(): void {
    const name = basename(this.file);
    const left = readdirSync(dirname(this.file)).filter(
      (other) => other.startsWith(`${name}.`) && other.endsWith(".new"),
    );
    for (const other of left) rmSync(join(dirname(this.file), other), { force: true });
  }

  #begin(replica: Replica): Partial<Replica> {
    const { size, lines, last, generation, base, mark } = this.replace(replica);
    return { size, lines, last, generation, base, mark };
  }

  #reading<T>(use: (file: number | undefined) => T): T {
    let file: number;
    try {
      file = openSync(this.file, "r");
    } catch (reason) {
      if ((reason as NodeJS.ErrnoException).code === "ENOENT") return use(undefined);
      throw reason;
    }
    try {
      if (!fstatSync(file).isFile()) throw new Error(`${this.file} is not a regular file`);
      return use(file);
    } finally {
      closeSync(file);
    }
  }

  #opened(flags: number, use: (file: number) => void): void {
    let file: number;
    try {
      file = openSync(this.file, flags);
    } catch (reason) {
      if ((reason as NodeJS.ErrnoException).code === "ENOENT") return;
      throw reason;
    }
    try {
      use(file);
    } finally {
      closeSync(file);
    }
  }

  #foreign(bytes: Buffer): Error {
    const isOfficial = /^\s*\{"type":"(entity|relation)"/.test(bytes.toString("utf8", 0, 100));
    const hint = isOfficial
      ? "it belongs to the official memory server; use another file and import this one with --import"
      : "this server did not write it; use another file";
    return new Error(`${this.file} is not a memory file: ${hint}`);
  }
}

/** Thrown when the file would exceed its size limit. */
export class FileFullError extends Error {
  override readonly name = "FileFullError";

  constructor(maxBytes: number) {
    super(`The memory is full: its file is limited to ${maxBytes} bytes`);
  }
}

function generationOf(file: number): string {
  const head = readBytes(file, 0, headBytes).toString("utf8");
  const line = readLine(head.split("\n", 1)[0] ?? "");
  return line && "generation" in line.value ? line.value.generation : "";
}

function readBytes(file: number, from: number, to: number): Buffer {
  const bytes = Buffer.alloc(to - from);
  let length = 0;
  while (length < bytes.length) {
    const count = readSync(file, bytes, length, bytes.length - length, from + length);
    if (count === 0) break;
    length += count;
  }
  return bytes.subarray(0, length);
}

function writeAll(file: number, bytes: Buffer, from: number): void {
  for (let written = 0; written < bytes.length; ) {
    written += writeSync(file, bytes, written, bytes.length - written, from + written);
  }
}

/** Syncs a folder after a rename; not every system supports it. */
function syncFolder(folder: string): void {
  let file: number | undefined;
  try {
    file = openSync(folder, "r");
    fsyncSync(file);
  } catch {
    // Windows cannot sync folders; a rename is safe there.
  } finally {
    if (file !== undefined) closeSync(file);
  }
}

function realPathOf(path: string): string | undefined {
  try {
    return realpathSync(path);
  } catch {
    return undefined;
  }
}
