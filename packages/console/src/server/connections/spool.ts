import { closeSync, openSync, readSync, rmSync, writeSync } from "node:fs";
import { join } from "node:path";
import type { MessageRow } from "../../api.ts";
import { maxSpoolBytes, maxSpooledTextBytes, spoolBufferBytes, spoolSegmentBytes } from "../limits.ts";

/** A part of the rows of one connection, in a file of its own. */
interface Segment {
  readonly file: string;
  readonly descriptor: number;
  /** The number of its first row. */
  readonly first: number;
  /** For each row: where it begins, the length of its summary, and the length of its text. */
  readonly starts: number[];
  readonly heads: number[];
  readonly texts: number[];
  bytes: number;
}

/**
 * The rows of one connection on the disk, in files that only this user can read: summaries, and the texts of messages. The
 * oldest files go when all of them are too large.
 */
export class Spool {
  readonly #folder: string;
  readonly #name: string;
  readonly #segments: Segment[] = [];
  #count = 0;
  #bytes = 0;
  /** Bytes of the last segment that are not written yet. */
  #buffer: Buffer[] = [];
  #buffered = 0;
  #isRemoved = false;

  constructor(folder: string, name: string) {
    this.#folder = folder;
    this.#name = name;
  }

  /** The number of the first row that is kept; 1 if there are none. */
  get first(): number {
    return this.#segments[0]?.first ?? 1;
  }

  get last(): number {
    return this.#count;
  }

  get bytes(): number {
    return this.#bytes;
  }

  add(row: MessageRow, text: string): void {
    if (this.#isRemoved) return;
    let segment = this.#segments.at(-1);
    if (!segment || segment.bytes >= spoolSegmentBytes) segment = this.#begin();
    const head = Buffer.from(JSON.stringify(row));
    const all = Buffer.from(text);
    const body = all.length <= maxSpooledTextBytes ? all : all.subarray(0, maxSpooledTextBytes);
    segment.starts.push(segment.bytes);
    segment.heads.push(head.length);
    segment.texts.push(body.length);
    const size = head.length + body.length;
    segment.bytes += size;
    this.#bytes += size;
    this.#count += 1;
    this.#buffer.push(head, body);
    this.#buffered += size;
    if (this.#buffered >= spoolBufferBytes) this.#flush();
    while (this.#bytes > maxSpoolBytes && this.#segments.length > 1) this.dropOldest();
  }

  row(n: number): MessageRow | undefined {
    const found = this.#find(n);
    if (!found) return undefined;
    return JSON.parse(read(found.segment, found.start, found.head)) as MessageRow;
  }

  text(n: number): string {
    const found = this.#find(n);
    return found ? read(found.segment, found.start + found.head, found.text) : "";
  }

  /** Removes the oldest file. */
  dropOldest(): void {
    if (this.#segments.length < 2) return;
    const oldest = this.#segments.shift();
    if (!oldest) return;
    this.#bytes -= oldest.bytes;
    remove(oldest);
  }

  remove(): void {
    this.#isRemoved = true;
    for (const segment of this.#segments.splice(0)) remove(segment);
    this.#buffer = [];
  }

  #begin(): Segment {
    this.#flush();
    const first = this.#count + 1;
    const file = join(this.#folder, `${this.#name}-${first}.spool`);
    const descriptor = openSync(file, "wx+", 0o600);
    const segment = { file, descriptor, first, starts: [], heads: [], texts: [], bytes: 0 };
    this.#segments.push(segment);
    return segment;
  }

  #flush(): void {
    const segment = this.#segments.at(-1);
    if (!segment || this.#buffered === 0) return;
    const all = Buffer.concat(this.#buffer);
    this.#buffer = [];
    this.#buffered = 0;
    for (let written = 0; written < all.length; ) written += writeSync(segment.descriptor, all, written);
  }

  #find(n: number): { segment: Segment; start: number; head: number; text: number } | undefined {
    if (n < this.first || n > this.#count) return undefined;
    this.#flush();
    for (let index = this.#segments.length - 1; index >= 0; index -= 1) {
      const segment = this.#segments[index];
      if (!segment || segment.first > n) continue;
      const at = n - segment.first;
      return {
        segment,
        start: segment.starts[at] ?? 0,
        head: segment.heads[at] ?? 0,
        text: segment.texts[at] ?? 0,
      };
    }
    return undefined;
  }
}

function read({ descriptor }: Segment, from: number, length: number): string {
  const bytes = Buffer.alloc(length);
  let done = 0;
  while (done < length) {
    const count = readSync(descriptor, bytes, done, length - done, from + done);
    if (count === 0) break;
    done += count;
  }
  return bytes.toString("utf8");
}

function remove({ descriptor, file }: Segment): void {
  closeSync(descriptor);
  rmSync(file, { force: true });
}
