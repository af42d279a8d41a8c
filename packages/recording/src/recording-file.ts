import {
  closeSync,
  fchmodSync,
  fstatSync,
  openSync,
  readFileSync,
  readSync,
  renameSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { type FileHandle, open, readdir, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { Slices } from "./slices.ts";

/** Removes secrets from lines. The number of secrets that it knows grows with the lines that it sees. */
export interface LineRedactor {
  readonly size: number;
  redactLine(line: string): string;
}

/**
 * The file of a recording while it is written. When a secret is recognized that may stand in earlier lines, the file is
 * written again without it, in slices, while further lines are added. Until that is done, a file beside it says so, also
 * after the process was killed.
 */
export class RecordingFile {
  readonly #file: string;
  /** The file that takes the place of `#file` when it has no secret any more. */
  readonly #next: string;
  readonly #redactor: LineRedactor | undefined;
  #descriptor: number;
  #length = 0;
  #isOpen = true;
  /** This many secrets, the first ones, are in no line. */
  #removed = 0;
  /** This many were in no line, or were being removed, when the file was last written again. */
  #begun = 0;
  #rewriting: Promise<void> | undefined;

  /** Without a redactor, the lines stay as they are written. */
  constructor(file: string, pid: number, redactor: LineRedactor | undefined) {
    this.#file = file;
    this.#next = `${file}.${pid}${nextEnding}`;
    // Readable by the user only, also if the file existed: a conversation is private even without secrets.
    this.#descriptor = openSync(file, "w", 0o600);
    const isFile = fstatSync(this.#descriptor).isFile();
    if (isFile) fchmodSync(this.#descriptor, 0o600);
    // Lines that went into a pipe cannot be changed.
    this.#redactor = isFile ? redactor : undefined;
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** Secrets were learned that no earlier line can have. */
  learned(): void {
    this.#removed = this.#redactor?.size ?? 0;
    this.#begun = this.#removed;
  }

  /** Adds a line at once. Its own secrets are removed already. */
  write(line: string): void {
    if (!this.#isOpen) return;
    const isNew = this.#redactor !== undefined && this.#redactor.size > this.#begun;
    // Before the line, from which the secret was removed: after a kill nobody could find it again.
    if (isNew && !this.#rewriting) writeFileSync(this.#next, "", { mode: 0o600 });
    this.#length += writeSync(this.#descriptor, `${line}\n`);
    if (isNew) this.#rewrite();
  }

  /** Ends the file at once, without secrets. */
  close(): void {
    if (!this.#finish() || !this.#redactor) return;
    const redactor = this.#redactor;
    const lines = readFileSync(this.#file, "utf8").split("\n");
    // Beside the file first: if the process ends here, one of the two is whole.
    writeFileSync(this.#next, lines.map((line) => redactor.redactLine(line)).join("\n"), { mode: 0o600 });
    renameSync(this.#next, this.#file);
  }

  /** Ends the file as `close` does, in slices. */
  async end(): Promise<void> {
    const isLate = this.#finish();
    await this.#rewriting;
    if (!isLate) return;
    const next = await this.#copy(this.#length, () => true);
    closeSync(next);
    renameSync(this.#next, this.#file);
  }

  get #isLate(): boolean {
    return this.#redactor !== undefined && this.#redactor.size > this.#removed;
  }

  /** Returns true if a secret has to be removed from earlier lines. */
  #finish(): boolean {
    if (!this.#isOpen) return false;
    this.#isOpen = false;
    closeSync(this.#descriptor);
    return this.#isLate;
  }

  #rewrite(): void {
    // A failure leaves the file as it is; the next secret or the end of the recording tries again.
    this.#rewriting ??= this.#removeLate().catch(() => {});
  }

  async #removeLate(): Promise<void> {
    try {
      // Each round knows more secrets than the one before, and their number is bounded.
      while (this.#isOpen && this.#isLate) {
        const { size = 0 } = this.#redactor ?? {};
        this.#begun = size;
        const from = this.#length;
        const isWanted = () => this.#isOpen && this.#redactor?.size === size;
        const next = await this.#copy(from, isWanted);
        // From here in one turn: no line is added meanwhile.
        if (isWanted()) this.#replaceBy(next, from, size);
        else closeSync(next);
      }
    } finally {
      this.#rewriting = undefined;
    }
  }

  /** Writes the first `length` bytes without secrets into the next file, as long as that is wanted. Returns its descriptor. */
  async #copy(length: number, isWanted: () => boolean): Promise<number> {
    const slices = new Slices();
    const next = openSync(this.#next, "w", 0o600);
    let input: FileHandle | undefined;
    try {
      input = await open(this.#file, "r");
      for await (const line of linesIn(input, length)) {
        if (!isWanted()) break;
        writeSync(next, `${this.#redactor?.redactLine(line) ?? line}\n`);
        await slices.pause();
      }
      return next;
    } catch (reason) {
      closeSync(next);
      throw reason;
    } finally {
      await input?.close();
    }
  }

  /** Adds what was written after the first `from` bytes, and goes on in the next file. */
  #replaceBy(next: number, from: number, removed: number): void {
    const file = openSync(this.#file, "r");
    const rest = Buffer.alloc(this.#length - from);
    const read = readSync(file, rest, 0, rest.length, from);
    closeSync(file);
    writeSync(next, rest, 0, read);
    closeSync(this.#descriptor);
    renameSync(this.#next, this.#file);
    this.#descriptor = next;
    this.#length = fstatSync(next).size;
    this.#removed = removed;
  }
}

const chunkBytes = 1024 * 1024;

/** Returns the lines in the first `length` bytes. They end with a line feed only: a message may have other line breaks. */
async function* linesIn(input: FileHandle, length: number): AsyncGenerator<string> {
  let parts: Buffer[] = [];
  for (let position = 0; position < length; ) {
    const chunk = Buffer.alloc(Math.min(chunkBytes, length - position));
    const { bytesRead } = await input.read(chunk, 0, chunk.length, position);
    if (bytesRead === 0) return;
    position += bytesRead;
    let from = 0;
    for (let at = chunk.indexOf(10); at >= 0 && at < bytesRead; at = chunk.indexOf(10, from)) {
      yield Buffer.concat([...parts, chunk.subarray(from, at)]).toString("utf8");
      parts = [];
      from = at + 1;
    }
    parts.push(chunk.subarray(from, bytesRead));
  }
}

/** The end of the name of the file beside a recording in which a secret was found late. */
const nextEnding = ".tmp";

/**
 * Ends a recording whose program was killed: removes a line that was cut, and notes that the end is missing, and whether a
 * secret that was recognized late is still in it.
 */
export async function endCutRecording(file: string): Promise<void> {
  const names = await readdir(dirname(file));
  const others = names.filter((name) => name.startsWith(`${basename(file)}.`) && name.endsWith(nextEnding));
  const handle = await open(file, "r+");
  try {
    let end = (await handle.stat()).size;
    const chunk = Buffer.alloc(64 * 1024);
    for (let isFound = false; end > 0 && !isFound; ) {
      const from = Math.max(0, end - chunk.length);
      const { bytesRead } = await handle.read(chunk, 0, end - from, from);
      const newline = chunk.subarray(0, bytesRead).lastIndexOf(10);
      isFound = newline >= 0;
      end = from + newline + 1;
    }
    await handle.truncate(end);
    const note: CutNote = { cut: true, ...(others.length > 0 && { mayHaveSecrets: true }) };
    await handle.write(`${JSON.stringify({ at: 0, note })}\n`, end);
    await handle.sync();
  } finally {
    await handle.close();
  }
  for (const name of others) await rm(join(dirname(file), name), { force: true });
}

/** The last note of a recording whose program was killed. */
interface CutNote {
  readonly cut: true;
  readonly mayHaveSecrets?: true;
}
