import { mkdir, rename, stat, truncate } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { holdFileLock } from "../../../storage/node/file-lock.ts";
import type { ActivityVerdict } from "../entry.ts";
import type { ActivityBlock, ActivityHead, ActivityReading, ActivitySink } from "../sink.ts";
import { verifyActivity } from "../verify.ts";
import { type ActivityFiles, type ActivityPlace, filesOf, writePlace } from "./head.ts";
import { appendTo, mend } from "./mend.ts";
import { readFiles } from "./read.ts";

/** A log in a file: lines of JSON, with its head beside it, for any number of processes. */
export async function fileSink(path: string, options: { readonly maxBytes?: number } = {}): Promise<ActivitySink> {
  const files = filesOf(resolve(path));
  await mkdir(dirname(files.log), { recursive: true, mode: 0o700 });
  const sink = new FileSink(files, options.maxBytes ?? 64 * 1024 * 1024);
  await sink.mend();
  return sink;
}

/** Checks the log in a file as it is, without mending what was left unfinished. */
export async function verifyFile(path: string, contains?: string): Promise<ActivityVerdict> {
  return verifyActivity(await readFiles(filesOf(resolve(path)), false), true, contains);
}

class FileSink implements ActivitySink {
  readonly isLinear = true;
  readonly #files: ActivityFiles;
  readonly #maxBytes: number;
  #turn: Promise<void> = Promise.resolve();
  /** What we wrote last, and into which file. */
  #last: { readonly place: ActivityPlace; readonly inode: number } | undefined;

  constructor(files: ActivityFiles, maxBytes: number) {
    this.#files = files;
    this.#maxBytes = maxBytes;
  }

  mend(): Promise<void> {
    return this.#alone(async () => {
      await mend(this.#files);
    });
  }

  append(build: (head: ActivityHead) => Promise<ActivityBlock>): Promise<void> {
    return this.#alone(async () => {
      const place = await this.#findPlace();
      const { bytes, head } = await build(place.head);
      const { aside, bytes: start } = await this.#makeRoom(place, bytes.length);
      try {
        const inode = await appendTo(this.#files.log, bytes);
        const next = { head, aside, bytes: start + bytes.length };
        await writePlace(this.#files, next);
        this.#last = { place: next, inode };
      } catch (error) {
        this.#last = undefined;
        // All or nothing: the block will be written again. Where even this fails, the next one mends it.
        await truncate(this.#files.log, start).catch(() => undefined);
        throw error;
      }
    });
  }

  read(newestFirst: boolean): Promise<ActivityReading> {
    return readFiles(this.#files, newestFirst);
  }

  async close(): Promise<void> {
    await this.#turn.catch(() => undefined);
  }

  /** Where the next block goes: behind our own last one, unless somebody else has written since. */
  async #findPlace(): Promise<ActivityPlace> {
    const last = this.#last;
    if (last) {
      const found = await stat(this.#files.log).catch(() => undefined);
      if (found?.ino === last.inode && found.size === last.place.bytes) return last.place;
    }
    return mend(this.#files);
  }

  /** Puts a full file aside under the next number; nothing has that name, for only holders of the lock give names. */
  async #makeRoom(place: ActivityPlace, bytes: number): Promise<ActivityPlace> {
    if (place.bytes === 0 || place.bytes + bytes <= this.#maxBytes) return place;
    const aside = place.aside + 1;
    await rename(this.#files.log, `${this.#files.log}.${aside}`);
    return { ...place, aside, bytes: 0 };
  }

  /** One after the other, here and in all processes. */
  #alone(work: () => Promise<void>): Promise<void> {
    const run = async () => {
      const release = await holdFileLock(this.#files.lock);
      try {
        await work();
      } finally {
        release();
      }
    };
    this.#turn = this.#turn.then(run, run);
    return this.#turn;
  }
}
