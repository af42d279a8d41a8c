import { type FileHandle, open, readFile, rename, rm } from "node:fs/promises";
import type { JsonObject } from "portolan";
import { maxJournalBytes } from "../limits.ts";

/** A line of a journal. */
export type JournalLine = { readonly [member: string]: unknown };

/**
 * A file of JSON lines that only grows. After a crash every line that was awaited is there; the rest of a torn last line
 * is dropped. A file that has become too large is replaced by a shorter one that says the same.
 */
export class Journal {
  readonly #file: string;
  readonly #snapshot: () => readonly JournalLine[];
  #handle: FileHandle | undefined;
  #bytes = 0;
  /** The length after the last rewriting: a conversation that is itself large must not be rewritten with every line. */
  #bytesAfterRewrite = 0;
  #queue: Promise<void> = Promise.resolve();

  /** `snapshot` returns the shortest lines that say the same as all lines so far. */
  constructor(file: string, snapshot: () => readonly JournalLine[]) {
    this.#file = file;
    this.#snapshot = snapshot;
  }

  /** Adds a line. Resolves when it is on the disk. */
  append(line: JournalLine): Promise<void> {
    const text = `${JSON.stringify(line)}\n`;
    const written = this.#queue.then(() => this.#write(text));
    this.#queue = written.catch(() => {});
    return written;
  }

  /** Resolves when all lines so far are on the disk, or could not be written. */
  get written(): Promise<void> {
    return this.#queue;
  }

  async close(): Promise<void> {
    await this.#queue;
    await this.#handle?.close();
    this.#handle = undefined;
  }

  /** Removes the file. */
  async remove(): Promise<void> {
    await this.close();
    await rm(this.#file, { force: true });
  }

  async #write(text: string): Promise<void> {
    this.#handle ??= await this.#open();
    await this.#handle.appendFile(text);
    await this.#handle.datasync();
    this.#bytes += Buffer.byteLength(text);
    if (this.#bytes > Math.max(maxJournalBytes, this.#bytesAfterRewrite * 2)) await this.#rewrite();
  }

  async #open(): Promise<FileHandle> {
    const handle = await open(this.#file, "a", 0o600);
    this.#bytes = (await handle.stat()).size;
    const whole = wholeBytes(await readFile(this.#file));
    if (whole < this.#bytes) {
      await handle.truncate(whole);
      this.#bytes = whole;
    }
    return handle;
  }

  async #rewrite(): Promise<void> {
    const text = this.#snapshot()
      .map((line) => `${JSON.stringify(line)}\n`)
      .join("");
    const beside = `${this.#file}.new`;
    const handle = await open(beside, "w", 0o600);
    await handle.writeFile(text);
    await handle.sync();
    await rename(beside, this.#file);
    await this.#handle?.close();
    this.#handle = handle;
    this.#bytes = Buffer.byteLength(text);
    this.#bytesAfterRewrite = this.#bytes;
  }
}

/** Returns the lines of a journal. A torn last line, and a line that is not JSON, are left out. */
export async function readJournal(file: string): Promise<readonly JsonObject[]> {
  const bytes = await readFile(file);
  const text = bytes.subarray(0, wholeBytes(bytes)).toString("utf8");
  return text.split("\n").flatMap((line) => {
    if (line === "") return [];
    try {
      const value: unknown = JSON.parse(line);
      return typeof value === "object" && value !== null && !Array.isArray(value) ? [value as JsonObject] : [];
    } catch {
      return [];
    }
  });
}

/** Returns the number of bytes up to the end of the last whole line. */
function wholeBytes(bytes: Buffer): number {
  return bytes.lastIndexOf(0x0a) + 1;
}
