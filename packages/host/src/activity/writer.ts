import { PortolanError } from "portolan";
import { sha256 } from "portolan/storage";
import {
  activityFlushMs,
  activityPageChars,
  firstSinkRetryMs,
  longestSinkRetryMs,
  maxBlockBytes,
  maxEntryChars,
  maxWaitingBytes,
  maxWaitingEntries,
} from "../limits.ts";
import { CallEntry, CallWriter, PageBuffer } from "./entry-bytes.ts";
import type { Activity, ActivityOptions } from "./log.ts";
import { createRedactor, isSmall, type LongText, type Redactor, shorten } from "./redact.ts";
import { type ActivityBlock, type ActivityHead, type ActivitySink, sealBody } from "./sinks.ts";

/** Collects entries and writes them in blocks, one after the other. */
export class ActivityWriter {
  readonly #sink: ActivitySink;
  readonly #redactor: Redactor;
  readonly #now: () => number;
  readonly #flushMs: number;
  readonly #maxWaiting: number;
  readonly #onError: (error: unknown) => void;
  readonly #name = crypto.randomUUID().slice(0, 8);
  readonly #pages: ActivityPages;
  readonly #listeners = new Set<(seq: number) => void>();
  /** Dropped entries that no entry has reported yet. */
  #unreported = 0;
  /** Dropped entries. A field, because it is read on a hot path. */
  lost = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #writing: Promise<void> | undefined;
  /** Kept until it is written: a sink that failed may have stored it already, and recognizes only the same block. */
  #block: Block | undefined;
  #failure: unknown;
  /** The reason of the dropped entries that are not reported yet. */
  #gap: unknown;
  #retryMs = firstSinkRetryMs;
  #isUrgent = false;
  #isClosed = false;

  constructor(sink: ActivitySink, options: ActivityOptions) {
    this.#sink = sink;
    this.#redactor = createRedactor(options.secrets);
    this.#now = options.now ?? Date.now;
    this.#pages = new ActivityPages(this.#redactor, this.#now);
    this.#flushMs = options.flushMs ?? activityFlushMs;
    this.#maxWaiting = options.maxWaiting ?? maxWaitingEntries;
    this.#onError = options.onError ?? (() => undefined);
  }

  /** The reason why entries may not be written now. */
  get failure(): unknown {
    return this.#failure ?? this.#gap;
  }

  addSecret(secret: string): void {
    this.#redactor.add(secret);
  }

  /** Calls the listener with the number of the last entry after each write. Returns the function that ends it. */
  listen(listener: (seq: number) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Hot path: no promise. */
  record(activity: Activity, isUrgent: boolean): void {
    if (this.#isClosed || this.#pages.waiting >= this.#maxWaiting || this.#pages.size >= maxWaitingBytes) {
      this.#lose();
      return;
    }
    try {
      this.#pages.add(activity);
    } catch (error) {
      this.#lose(error);
      return;
    }
    if (isUrgent && this.#failure === undefined) {
      // Written without waiting for more, after a block that is being written.
      this.#isUrgent = true;
      this.#start();
    } else if (this.#writing === undefined && this.#failure === undefined && this.#isFilling()) this.#start();
    else this.#schedule(this.#flushMs);
  }

  /** True if the waiting entries should be written now: under load the limit is reached before `flushMs` have passed. */
  #isFilling(): boolean {
    return this.#pages.waiting * 4 > this.#maxWaiting || this.#pages.size * 4 > maxWaitingBytes;
  }

  async flush(): Promise<void> {
    if (this.#writing === undefined && this.#pages.waiting === 0 && this.#unreported === 0) return;
    // The current block was taken before; the waiting entries follow it.
    await this.#writing;
    this.#start();
    await this.#writing;
    if (this.#failure === undefined) return;
    throw new PortolanError("store-failed", "The activity log cannot be written", { cause: this.#failure });
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    try {
      await this.flush();
    } finally {
      clearTimeout(this.#timer);
    }
  }

  #lose(error?: unknown): void {
    this.lost += 1;
    this.#unreported += 1;
    // Reported once for each gap, so that a broken sink does not flood the listener.
    if (this.#unreported > 1) return;
    const why = this.#isClosed ? "it is closed" : "too many entries are waiting to be written";
    this.#gap = error ?? new PortolanError("limit-reached", `The activity log drops entries: ${why}`);
    this.#reportError(this.#gap);
    if (!this.#isClosed) this.#schedule(this.#flushMs);
  }

  #reportError(error: unknown): void {
    try {
      this.#onError(error);
    } catch {
      // A failing listener must not make `record` throw.
    }
  }

  #schedule(ms: number): void {
    // Keeps the process alive, because without `close` the last entries would be lost.
    this.#timer ??= setTimeout(() => this.#start(), ms);
  }

  #start(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#writing ??= this.#write().finally(() => {
      this.#writing = undefined;
      if (this.#failure !== undefined) this.#retry();
      else if (this.#isUrgent || this.#isFilling()) this.#start();
      else if (this.#pages.waiting > 0) this.#schedule(this.#flushMs);
    });
  }

  /** Never rejects; `failure` keeps the error. */
  async #write(): Promise<void> {
    this.#isUrgent = false;
    try {
      // Entries that arrive meanwhile wait for more: under load, many small blocks would cost more than the calls.
      for (let left = this.#pages.waiting; left > 0 || this.#unreported > 0; ) left -= await this.#writeBlock();
    } catch (error) {
      if (this.#failure === undefined) this.#reportError(error);
      this.#failure = error;
    }
  }

  /** Returns the number of entries written. */
  async #writeBlock(): Promise<number> {
    this.#block ??= await this.#takeBlock();
    const block = this.#block;
    let seq = 0;
    await this.#sink.append(async (head) => {
      const sealed = await this.#seal(block, head);
      ({ seq } = sealed.head);
      return sealed;
    });
    this.#block = undefined;
    this.#pages.drop(block, seq);
    this.#unreported -= block.gap;
    if (this.#unreported === 0) this.#gap = undefined;
    this.#failure = undefined;
    this.#retryMs = firstSinkRetryMs;
    for (const listener of this.#listeners) listener(seq);
    return block.entries;
  }

  async #takeBlock(): Promise<Block> {
    const lines = await this.#pages.take(maxBlockBytes);
    const gap = lines.entries === this.#pages.waiting ? this.#unreported : 0;
    return { ...lines, gap };
  }

  #seal(block: Block, head: ActivityHead): Promise<ActivityBlock> {
    const body = renumber(block, head.seq + 1);
    if (block.gap === 0) return sealBody(body, block.entries, head, this.#name);
    const seq = head.seq + block.entries + 1;
    const gap = {
      seq,
      at: new Date(this.#now()).toISOString(),
      kind: "error",
      name: "activity-lost",
      entries: block.gap,
    };
    const note = new TextEncoder().encode(`${JSON.stringify(gap)}\n`);
    return sealBody([...body, note], block.entries + 1, head, this.#name);
  }

  #retry(): void {
    if (this.#isClosed || this.#timer !== undefined) return;
    this.#timer = setTimeout(() => this.#start(), this.#retryMs);
    // A broken log must not keep the process alive.
    const timer: { unref?(): void } | number = this.#timer;
    if (typeof timer === "object") timer.unref?.();
    this.#retryMs = Math.min(this.#retryMs * 2, longestSinkRetryMs);
  }
}

interface Block extends PendingLines {
  /** Dropped entries that this block reports. */
  readonly gap: number;
}

/** The oldest waiting entries, ready to be sealed. */
export interface PendingLines {
  /** Consecutive lines. */
  readonly pieces: readonly Uint8Array[];
  readonly entries: number;
  /** Number of the first entry; -1 if the numbers are not consecutive. */
  readonly first: number;
}

/** Consecutive lines as bytes, which cost the garbage collector nothing. */
interface Page {
  readonly bytes: Uint8Array;
  readonly entries: number;
  /** Number of its first entry. */
  readonly first: number;
  /** Texts to hash before the page is written. */
  readonly long: readonly LongText[];
}

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
const lineStart = encoder.encode('{"seq":');

/** Entries that wait to be written, in a few pages: thousands of objects would cost more than the calls. */
export class ActivityPages {
  readonly #redactor: Redactor;
  readonly #now: () => number;
  /** Random, so that no recorded text can imitate the placeholder of a digest. */
  readonly #nonce = crypto.randomUUID();
  #marks = 0;
  readonly #calls = new CallWriter();
  #pages: Page[] = [];
  /** The page that is being filled. */
  readonly #page = new PageBuffer();
  #entries = 0;
  #long: LongText[] = [];
  #next = 1;
  /** Number of waiting entries. */
  waiting = 0;
  /** Size of the waiting entries in characters or bytes. */
  size = 0;
  #moment = Number.NaN;
  #momentText = "";

  constructor(redactor: Redactor, now: () => number) {
    this.#redactor = redactor;
    this.#now = now;
  }

  /** Adds an entry. Hot path: for most calls no string is made but those that the call has already. */
  add(activity: Activity): void {
    const page = this.#page;
    const before = page.length;
    page.reserve(lineStart.length + 25);
    page.copy(lineStart);
    page.number(this.#next);
    try {
      const at = this.#at();
      if (!(activity instanceof CallEntry)) this.#write(at, activity);
      else if (!this.#calls.write(activity, at, page)) this.#write(at, CallEntry.asWritten(activity));
    } catch (error) {
      page.length = before;
      throw error;
    }
    this.size += page.length - before;
    this.#next += 1;
    this.#entries += 1;
    this.waiting += 1;
    if (page.length > activityPageChars) this.#endPage();
  }

  /** Returns the oldest pages, about `maxBytes` of them. They stay until `drop`. */
  async take(maxBytes: number): Promise<PendingLines> {
    this.#endPage();
    const pieces: Uint8Array[] = [];
    let size = 0;
    let entries = 0;
    const first = this.#pages[0]?.first ?? this.#next;
    let isInOrder = true;
    for (const page of this.#pages) {
      size += page.bytes.length;
      if (pieces.length > 0 && size > maxBytes) break;
      isInOrder &&= page.first === first + entries;
      pieces.push(page.long.length === 0 ? page.bytes : await fillIn(page));
      entries += page.entries;
    }
    return { pieces, entries, first: isInOrder ? first : -1 };
  }

  /** Removes written pages. `seq` is the number of their last entry; numbering continues from it. */
  drop(written: PendingLines, seq: number): void {
    for (const { bytes, long } of this.#pages.slice(0, written.pieces.length)) {
      this.size -= bytes.length;
      if (long.length > 0) this.size -= lengthOf(long);
    }
    this.#pages = this.#pages.slice(written.pieces.length);
    this.waiting -= written.entries;
    this.#endPage();
    this.#next = seq + this.waiting + 1;
  }

  /** Looks for secrets once for the whole page. */
  #endPage(): void {
    if (this.#entries === 0) return;
    const isSuspicious = this.#page.mayHoldSecret || this.#redactor.hasTexts;
    let bytes = this.#page.take();
    this.size -= bytes.length;
    if (isSuspicious) {
      const text = decoder.decode(bytes);
      if (this.#redactor.mayContainSecret(text, bytes)) bytes = encoder.encode(redactLines(text, this.#redactor));
    }
    this.#pages.push({ bytes, entries: this.#entries, first: this.#next - this.#entries, long: this.#long });
    this.size += bytes.length;
    this.#entries = 0;
    this.#long = [];
  }

  /** Writes an entry after its number. */
  #write(at: string, activity: Activity): void {
    const entry = "seq" in activity || "at" in activity ? withoutReserved(activity) : activity;
    let text = isSmall(entry) ? JSON.stringify(entry) : "";
    if (text === "" || text.length > maxEntryChars) text = this.#stringifyShort(entry);
    if (!text.startsWith('{"')) {
      throw new PortolanError("invalid-argument", "record: expected an object with a kind");
    }
    const line = `${at}${text.slice(1)}\n`;
    this.#page.reserve(line.length * 3);
    this.#page.text(line);
  }

  #stringifyShort(activity: Activity): string {
    const mark = () => {
      this.#marks += 1;
      return `${this.#nonce}.${this.#marks}.`;
    };
    const clean = (text: string) => String(this.#redactor.redact(text));
    const long: LongText[] = [];
    const text = JSON.stringify(this.#redactor.redact(shorten(activity, { mark, clean }, long)));
    this.#long.push(...long);
    this.size += lengthOf(long);
    return text;
  }

  #at(): string {
    const now = Math.floor(this.#now());
    if (now !== this.#moment) {
      this.#moment = now;
      this.#momentText = `,"at":"${new Date(now).toISOString()}",`;
    }
    return this.#momentText;
  }
}

/** Returns lines numbered from `from` on. They usually are already, unless another process wrote in between. */
export function renumber({ pieces, first }: PendingLines, from: number): readonly Uint8Array[] {
  if (first === from) return pieces;
  let seq = from - 1;
  return pieces.map((piece) => {
    // `{"` at the start of a line never occurs inside a JSON string.
    const text = new TextDecoder().decode(piece).replace(/^\{"seq":\d+/gm, () => {
      seq += 1;
      return `{"seq":${seq}`;
    });
    return encoder.encode(text);
  });
}

/** Removes the members that only the log may set. */
function withoutReserved(activity: Activity): Activity {
  const { seq: _seq, at: _at, ...rest } = activity;
  return rest as Activity;
}

function redactLines(text: string, redactor: Redactor): string {
  const lines = text.split("\n");
  return lines.map((line) => (redactor.mayContainSecret(line) ? redactLine(line, redactor) : line)).join("\n");
}

/** Keeps the log's own members in front and redacts the others. */
function redactLine(line: string, redactor: Redactor): string {
  const end = line.indexOf(",", line.indexOf(",") + 1) + 1;
  const said: unknown = JSON.parse(`{${line.slice(end)}`);
  return `${line.slice(0, end)}${JSON.stringify(redactor.redact(said)).slice(1)}`;
}

async function fillIn({ bytes, long }: Page): Promise<Uint8Array> {
  let filled = new TextDecoder().decode(bytes);
  for (const { mark, text: whole } of long) filled = filled.replace(mark, `sha256-${await sha256(whole)}`);
  return encoder.encode(filled);
}

function lengthOf(long: readonly LongText[]): number {
  return long.reduce((sum, { text }) => sum + text.length, 0);
}
