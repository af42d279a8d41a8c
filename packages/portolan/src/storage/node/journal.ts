import { type FileHandle, mkdir, open, readdir, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { crc32 } from "node:zlib";
import { PortolanError } from "../../errors.ts";
import { journalChunkBytes, journalGrowth, maxUnflushedBytes, minJournalBytes } from "../limits.ts";

/** The content of a journal. */
export interface JournalOptions {
  /** Called with each record of the past, in order. */
  readonly replay: (record: unknown) => void;
  /** Returns records that stand for all that is kept now. They are read while more records are appended. */
  readonly snapshot: () => Iterable<unknown>;
  readonly report: (error: unknown) => void;
}

/** A write that is not on disk yet. */
interface Unflushed {
  readonly line: Buffer;
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
}

/**
 * Records in a file that is only appended to, one JSON text with its checksum in each line. A record that was cut off by a
 * crash is dropped when the file is read. A file that has grown is replaced by one with a snapshot and all later records.
 * Records may then be there twice: to apply one again must change nothing.
 */
export class Journal {
  readonly #folder: string;
  readonly #options: JournalOptions;
  #generation = 0;
  #file: FileHandle | undefined;
  #inode = 0;
  #bytes = 0;
  /** Size of the file when it was new. */
  #firstBytes = 0;
  #unflushed: Unflushed[] = [];
  #unflushedBytes = 0;
  #flushing: Promise<void> | undefined;
  #compacting: Promise<void> | undefined;
  /** A new file that is complete but for the records since its snapshot began at this offset. */
  #next: { readonly file: FileHandle; bytes: number; readonly since: number } | undefined;
  /** Why the present file can no longer be appended to. */
  #broken: unknown;
  /** Another process uses the folder: nothing may be written any more. */
  #isLost = false;
  #isClosed = false;

  private constructor(folder: string, options: JournalOptions) {
    this.#folder = folder;
    this.#options = options;
  }

  /** Reads the journal of a folder, and begins a new file. The caller keeps other processes from doing the same. */
  static async open(folder: string, options: JournalOptions): Promise<Journal> {
    const journal = new Journal(folder, options);
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const generations = (await readdir(folder)).flatMap((name) => /^journal-(\d+)\.log$/.exec(name)?.[1] ?? []);
    journal.#generation = Math.max(0, ...generations.map(Number));
    if (journal.#generation > 0) await journal.#read(journal.#pathOf(journal.#generation));
    await journal.#replace();
    return journal;
  }

  /** Throws if a record with so many characters would have to wait with too many others. */
  checkRoom(chars: number): void {
    if (this.#unflushedBytes + 2 * chars <= maxUnflushedBytes) return;
    const advice = `at most ${maxUnflushedBytes} bytes wait for the disk. Store smaller values, or fewer at once`;
    throw new PortolanError("limit-reached", `The disk is too slow for the file storage: ${advice}`);
  }

  /** Resolves when the record is on disk. */
  append(record: unknown): Promise<void> {
    if (this.#isClosed) return Promise.reject(failure("the storage is closed"));
    const line = toLine(record);
    return new Promise((resolve, reject) => {
      this.#unflushed.push({ line, resolve, reject });
      this.#unflushedBytes += line.length;
      this.#flushing ??= this.#flush();
    });
  }

  /** Writes what is left, and closes the file. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#compacting;
    await this.#flushing;
    await this.#next?.file.close();
    await this.#file?.close();
    this.#file = undefined;
  }

  #pathOf(generation: number): string {
    return join(this.#folder, `journal-${String(generation).padStart(6, "0")}.log`);
  }

  /** Writes in batches: records that come while one is on its way to the disk share the next. */
  async #flush(): Promise<void> {
    // All records of this turn.
    await new Promise(setImmediate);
    while (this.#unflushed.length > 0 || this.#next) {
      const batch = this.#unflushed;
      this.#unflushed = [];
      this.#unflushedBytes = 0;
      try {
        if (this.#file) await this.#checkOwner();
        if (this.#broken !== undefined) await this.#replace();
        await this.#write(batch);
        for (const { resolve } of batch) resolve();
        if (this.#next) await this.#switch(this.#next);
      } catch (error) {
        this.#broken = error;
        const problem = failure(`${messageOf(error)} in ${this.#folder}. The write may have happened`, error);
        for (const { reject } of batch) reject(problem);
        if (batch.length === 0) this.#options.report(problem);
      }
    }
    this.#flushing = undefined;
    if (this.#bytes > Math.max(minJournalBytes, journalGrowth * this.#firstBytes)) this.#compact();
  }

  async #write(batch: readonly Unflushed[]): Promise<void> {
    if (batch.length === 0) return;
    const bytes = Buffer.concat(batch.map(({ line }) => line));
    await this.#file?.appendFile(bytes);
    await this.#file?.datasync();
    this.#bytes += bytes.length;
  }

  /** A process that stood still for long may have lost the folder to another one, which begins a file of its own. */
  async #checkOwner(): Promise<void> {
    const found = await stat(this.#pathOf(this.#generation)).catch(() => undefined);
    if (found?.ino !== this.#inode) this.#isLost = true;
    if (this.#isLost) throw new Error("another process has taken over the folder; restart this one");
  }

  /** Writes a snapshot beside the present file, which goes on being written. */
  #compact(): void {
    if (this.#compacting || this.#next || this.#isClosed || this.#broken !== undefined) return;
    const since = this.#bytes;
    this.#compacting = this.#writeSnapshot()
      .then((written) => {
        this.#next = { ...written, since };
        this.#flushing ??= this.#flush();
      })
      // The present file is whole, so nothing is lost. It is tried again when more is written.
      .catch((error) => this.#options.report(failure(`${messageOf(error)} in ${this.#folder}`, error)))
      .finally(() => {
        this.#compacting = undefined;
      });
  }

  async #writeSnapshot(): Promise<{ file: FileHandle; bytes: number }> {
    const file = await open(join(this.#folder, "journal.tmp"), "w+", 0o600);
    let written = 0;
    try {
      let lines: Buffer[] = [];
      let size = 0;
      const write = async () => {
        await file.appendFile(Buffer.concat(lines));
        written += size;
        lines = [];
        size = 0;
      };
      for (const record of this.#options.snapshot()) {
        const line = toLine(record);
        lines.push(line);
        size += line.length;
        if (size >= journalChunkBytes) await write();
      }
      await write();
      return { file, bytes: written };
    } catch (error) {
      await file.close();
      throw error;
    }
  }

  /** Adds the records that came since the snapshot began, and makes the new file the present one. */
  async #switch(next: { readonly file: FileHandle; bytes: number; readonly since: number }): Promise<void> {
    this.#next = undefined;
    const chunk = Buffer.alloc(journalChunkBytes);
    for (let at = next.since; at < this.#bytes; ) {
      const wanted = Math.min(chunk.length, this.#bytes - at);
      const { bytesRead } = (await this.#file?.read(chunk, 0, wanted, at)) ?? { bytesRead: 0 };
      if (bytesRead === 0) throw new Error("the journal is shorter than what was written");
      await next.file.appendFile(chunk.subarray(0, bytesRead));
      next.bytes += bytesRead;
      at += bytesRead;
    }
    await this.#use(next);
  }

  /** Begins a new file with a snapshot alone. */
  async #replace(): Promise<void> {
    await this.#use(await this.#writeSnapshot());
    this.#broken = undefined;
  }

  async #use({ file, bytes }: { readonly file: FileHandle; readonly bytes: number }): Promise<void> {
    try {
      await file.datasync();
      this.#generation += 1;
      await rename(join(this.#folder, "journal.tmp"), this.#pathOf(this.#generation));
      await syncFolder(this.#folder);
      const { ino } = await file.stat();
      const former = this.#file;
      [this.#file, this.#inode, this.#bytes, this.#firstBytes] = [file, ino, bytes, bytes];
      await former?.close();
    } catch (error) {
      await file.close();
      throw error;
    }
    for (const name of await readdir(this.#folder)) {
      const generation = /^journal-(\d+)\.log$/.exec(name)?.[1];
      if (Number(generation) < this.#generation) await rm(join(this.#folder, name), { force: true });
    }
  }

  /** Applies all records up to the first that is not whole. */
  async #read(path: string): Promise<void> {
    const file = await open(path, "r");
    try {
      let rest: Buffer[] = [];
      let offset = 0;
      for await (const chunk of file.createReadStream({ highWaterMark: journalChunkBytes, autoClose: false })) {
        let begin = 0;
        for (let end = chunk.indexOf(10); end !== -1; end = chunk.indexOf(10, begin)) {
          const line = Buffer.concat([...rest, chunk.subarray(begin, end)]);
          rest = [];
          begin = end + 1;
          if (!this.#apply(line)) return this.#reportCut(path, offset);
          offset += line.length + 1;
        }
        rest.push(chunk.subarray(begin));
      }
      if (Buffer.concat(rest).length > 0) this.#reportCut(path, offset);
    } finally {
      await file.close();
    }
  }

  #apply(line: Buffer): boolean {
    const text = line.subarray(9);
    if (line.subarray(0, 9).toString("latin1") !== `${checksumOf(text)} `) return false;
    this.#options.replay(JSON.parse(text.toString("utf8")));
    return true;
  }

  #reportCut(path: string, offset: number): void {
    const why = "It was being written when the process or the machine stopped";
    this.#options.report(failure(`${path} has no whole record after byte ${offset}, and the rest is dropped. ${why}`));
  }
}

function toLine(record: unknown): Buffer {
  const text = Buffer.from(JSON.stringify(record));
  return Buffer.concat([Buffer.from(`${checksumOf(text)} `), text, Buffer.from("\n")]);
}

function checksumOf(text: Buffer): string {
  return crc32(text).toString(16).padStart(8, "0");
}

function failure(reason: string, cause?: unknown): PortolanError {
  return new PortolanError("store-failed", `The file storage failed: ${reason}`, cause === undefined ? {} : { cause });
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Makes a rename survive a power failure. Not all systems can do it. */
async function syncFolder(folder: string): Promise<void> {
  if (process.platform === "win32") return;
  const handle = await open(folder, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
