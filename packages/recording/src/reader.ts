import { constants } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { PortolanError } from "portolan";
import { maxLineBytes, maxPageBytes, maxPageRows, maxRecordingRows } from "./limits.ts";
import {
  NotARecording,
  type Recording,
  type RecordingHeader,
  type Side,
  textOfMessage,
  toMessages,
} from "./recording.ts";
import { Slices } from "./slices.ts";

/** One line of a recording. */
export interface RecordingRow {
  /** Counts from 1. */
  readonly n: number;
  /** Milliseconds since the start of the recording. */
  readonly at: number;
  readonly kind: "message" | "http" | "stderr" | "note" | "invalid";
  /** The sender of a message. */
  readonly from?: Side;
  /** A message byte for byte, a line of standard error, the line of an invalid row; otherwise JSON. */
  readonly text: string;
}

/** Rows before or after a number; without either, the last ones. */
export interface RowRange {
  readonly after?: number;
  readonly before?: number;
  /** Default and maximum: 500. */
  readonly limit?: number;
}

/** A recording that is read by pages, whatever its size is. */
export interface RecordingReader extends AsyncDisposable {
  readonly header: RecordingHeader;
  readonly rowCount: number;
  readonly bytes: number;
  /** True if the program that wrote it ended in the middle of a line. */
  readonly isCut: boolean;
  page(range?: RowRange): Promise<readonly RecordingRow[]>;
  /** All rows in order. */
  rows(): AsyncGenerator<RecordingRow>;
  /** Rows that contain a text, in any case. At most `limit`. */
  find(text: string, options?: FindOptions): Promise<readonly RecordingRow[]>;
  close(): Promise<void>;
}

export interface FindOptions {
  /** Default and maximum: 500. */
  readonly limit?: number;
  readonly signal?: AbortSignal;
}

const chunkBytes = 1024 * 1024;

/** Opens a recording. Reads the whole file once to find its lines, in slices. */
export async function openRecording(
  file: string,
  { signal }: { readonly signal?: AbortSignal } = {},
): Promise<RecordingReader> {
  const handle = await openRegular(file);
  try {
    const index = await findLines(handle, signal);
    const first = await readRange(handle, 0, Math.min(index.starts[1] ?? index.bytes, maxPageBytes));
    const header = headerOf(first.toString("utf8"));
    if (!header) throw new NotARecording(file);
    return new FileReader(handle, header, index);
  } catch (reason) {
    await handle.close();
    throw reason;
  }
}

/** Opens a file that a stranger can have made: no pipe, no device. */
async function openRegular(file: string): Promise<FileHandle> {
  // Opening a pipe would wait for a writer. Windows has no such flag, and no such pipes.
  const handle = await open(file, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0)).catch((cause: unknown) => {
    const { code } = cause as NodeJS.ErrnoException;
    const why = code === "ENOENT" ? "does not exist" : `cannot be opened (${code})`;
    throw new PortolanError("invalid-argument", `${file} ${why}`, { cause });
  });
  if ((await handle.stat()).isFile()) return handle;
  await handle.close();
  throw new PortolanError("invalid-argument", `${file}: expected a file, got a folder, pipe or device`);
}

interface LineIndex {
  /** Where each line begins, the header first. */
  readonly starts: readonly number[];
  /** Bytes of all complete lines. */
  readonly bytes: number;
  readonly isCut: boolean;
}

async function findLines(handle: FileHandle, signal: AbortSignal | undefined): Promise<LineIndex> {
  const starts: number[] = [];
  const slices = new Slices();
  const chunk = Buffer.alloc(chunkBytes);
  let read = 0;
  let lineStart = 0;
  for (;;) {
    signal?.throwIfAborted();
    const { bytesRead } = await handle.read(chunk, 0, chunkBytes, read);
    if (bytesRead === 0) break;
    for (let at = chunk.indexOf(10); at >= 0 && at < bytesRead; at = chunk.indexOf(10, at + 1)) {
      if (starts.length <= maxRecordingRows) starts.push(lineStart);
      else return { starts, bytes: lineStart, isCut: true };
      lineStart = read + at + 1;
    }
    read += bytesRead;
    await slices.pause();
  }
  if (lineStart === read) return { starts, bytes: read, isCut: false };
  // A last line without its end is complete if it is JSON.
  const rest = read - lineStart <= maxLineBytes ? await readRange(handle, lineStart, read) : undefined;
  const isWhole = rest !== undefined && parse(rest.toString("utf8")) !== undefined;
  if (isWhole) starts.push(lineStart);
  return { starts, bytes: isWhole ? read : lineStart, isCut: !isWhole };
}

async function readRange(handle: FileHandle, from: number, to: number): Promise<Buffer> {
  const bytes = Buffer.alloc(to - from);
  let length = 0;
  while (length < bytes.length) {
    const { bytesRead } = await handle.read(bytes, length, bytes.length - length, from + length);
    if (bytesRead === 0) break;
    length += bytesRead;
  }
  return bytes.subarray(0, length);
}

class FileReader implements RecordingReader {
  readonly header: RecordingHeader;
  readonly bytes: number;
  readonly isCut: boolean;
  readonly #handle: FileHandle;
  readonly #starts: readonly number[];

  constructor(handle: FileHandle, header: RecordingHeader, { starts, bytes, isCut }: LineIndex) {
    this.#handle = handle;
    this.header = header;
    this.#starts = starts;
    this.bytes = bytes;
    this.isCut = isCut;
  }

  get rowCount(): number {
    return Math.max(0, this.#starts.length - 1);
  }

  async page({ after, before, limit = maxPageRows }: RowRange = {}): Promise<readonly RecordingRow[]> {
    const count = Math.max(1, Math.min(limit, maxPageRows));
    if (after !== undefined) return this.#read(Math.max(1, after + 1), Math.min(this.rowCount, after + count));
    const last = Math.min(this.rowCount, (before ?? this.rowCount + 1) - 1);
    return this.#read(Math.max(1, last - count + 1), last, true);
  }

  async *rows(): AsyncGenerator<RecordingRow> {
    for (let n = 0; n < this.rowCount; ) {
      const rows = await this.page({ after: n });
      yield* rows;
      n = rows.at(-1)?.n ?? this.rowCount;
    }
  }

  async find(text: string, { limit = maxPageRows, signal }: FindOptions = {}): Promise<readonly RecordingRow[]> {
    const wanted = text.toLowerCase();
    const found: RecordingRow[] = [];
    for await (const row of this.rows()) {
      signal?.throwIfAborted();
      if (row.text.toLowerCase().includes(wanted)) found.push(row);
      if (found.length >= Math.min(limit, maxPageRows)) break;
    }
    return found;
  }

  async close(): Promise<void> {
    await this.#handle.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  /** Reads rows `first` to `last`, fewer if they are long: from the start, or with `fromEnd` from the end. */
  async #read(first: number, last: number, fromEnd = false): Promise<RecordingRow[]> {
    if (last < first) return [];
    const startOf = (n: number) => this.#starts[n] ?? this.bytes;
    let [from, to] = [first, last];
    while (to > from && startOf(to + 1) - startOf(from) > maxPageBytes) {
      if (fromEnd) from += 1;
      else to -= 1;
    }
    const slices = new Slices();
    const end = Math.min(startOf(to + 1), startOf(from) + maxLineBytes);
    const bytes = await readRange(this.#handle, startOf(from), end);
    const rows: RecordingRow[] = [];
    for (let n = from; n <= to; n += 1) {
      const line = bytes.toString("utf8", startOf(n) - startOf(from), startOf(n + 1) - startOf(from)).trimEnd();
      rows.push(toRow(n, line));
      await slices.pause();
    }
    return rows;
  }
}

function toRow(n: number, line: string): RecordingRow {
  const entry = parse(line) as { at?: unknown; from?: unknown; [kind: string]: unknown } | undefined;
  const at = typeof entry?.at === "number" ? entry.at : 0;
  if (entry?.from === "client" || entry?.from === "server") {
    return { n, at, kind: "message", from: entry.from, text: textOfMessage(line) };
  }
  if (typeof entry?.["stderr"] === "string") return { n, at, kind: "stderr", text: entry["stderr"] };
  for (const kind of ["http", "note"] as const) {
    if (entry?.[kind] !== undefined) return { n, at, kind, text: JSON.stringify(entry[kind]) };
  }
  return { n, at, kind: "invalid", text: line };
}

function headerOf(line: string): RecordingHeader | undefined {
  const header = parse(line) as RecordingHeader | undefined;
  return header?.recording === 1 ? header : undefined;
}

/** Reads all messages of a recording into memory, in slices. */
export async function loadRecording(reader: RecordingReader): Promise<Recording> {
  const messages: Recording["messages"][number][] = [];
  const slices = new Slices();
  for await (const { kind, at, from, text } of reader.rows()) {
    if (kind === "message" && from !== undefined) messages.push(...toMessages(at, from, text));
    await slices.pause();
  }
  return { header: reader.header, messages };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
