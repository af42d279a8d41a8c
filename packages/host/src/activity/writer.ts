import { PortolanError } from "portolan";
import { sha256 } from "portolan/storage";
import {
  activityFlushMs,
  activityPageChars,
  firstSinkRetryMs,
  longestSinkRetryMs,
  maxBlockBytes,
  maxEntryChars,
  maxEntryHeads,
  maxQuickArgumentChars,
  maxQuickNameChars,
  maxWaitingBytes,
  maxWaitingEntries,
} from "../limits.ts";
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
  /** Since the last entry that told of a gap. */
  #unreported = 0;
  #lost = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #writing: Promise<void> | undefined;
  /** Kept until it is written: a sink that failed may have it already, and knows it again only as it was. */
  #block: Block | undefined;
  #failure: unknown;
  /** Why there is a gap that no entry has told of yet. */
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

  get lost(): number {
    return this.#lost;
  }

  /** Why what is recorded now may not be written. */
  get failure(): unknown {
    return this.#failure ?? this.#gap;
  }

  addSecret(secret: string): void {
    this.#redactor.add(secret);
  }

  /** On the way of every call: no promise. */
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
    if (isUrgent && this.#failure === undefined) this.#flushNow();
    else this.#schedule(this.#flushMs);
  }

  async flush(): Promise<void> {
    if (this.#writing === undefined && this.#pages.waiting === 0 && this.#unreported === 0) return;
    // What is being written was taken before; what waits now comes after it.
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
    this.#lost += 1;
    this.#unreported += 1;
    // Told once for each gap: a sink that is down must not flood whoever listens.
    if (this.#unreported > 1) return;
    const why = this.#isClosed ? "it is closed" : "too many entries wait to be written";
    this.#gap = error ?? new PortolanError("limit-reached", `The activity log loses entries: ${why}`);
    this.#reportError(this.#gap);
    if (!this.#isClosed) this.#schedule(this.#flushMs);
  }

  #reportError(error: unknown): void {
    try {
      this.#onError(error);
    } catch {
      // Recording never throws, whoever listens.
    }
  }

  #schedule(ms: number): void {
    // Holds the process for this moment: without `close`, what was recorded last would be gone.
    this.#timer ??= setTimeout(() => this.#start(), ms);
  }

  /** What is being written may have been taken before: then it is written right after that. */
  #flushNow(): void {
    this.#isUrgent = true;
    this.#start();
  }

  #start(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#writing ??= this.#write().finally(() => {
      this.#writing = undefined;
      if (this.#failure !== undefined) this.#retry();
      else if (this.#isUrgent) this.#start();
      else if (this.#pages.waiting > 0) this.#schedule(this.#flushMs);
    });
  }

  /** Does not reject: what went wrong is kept in `failure`. */
  async #write(): Promise<void> {
    this.#isUrgent = false;
    try {
      // What comes meanwhile waits for more: under load, many small blocks would cost more than the calls they tell of.
      for (let left = this.#pages.waiting; left > 0 || this.#unreported > 0; ) left -= await this.#writeBlock();
    } catch (error) {
      if (this.#failure === undefined) this.#reportError(error);
      this.#failure = error;
    }
  }

  /** How many entries it has written. */
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
    // A process may end although its log is broken.
    const timer: { unref?(): void } | number = this.#timer;
    if (typeof timer === "object") timer.unref?.();
    this.#retryMs = Math.min(this.#retryMs * 2, longestSinkRetryMs);
  }
}

interface Block extends PendingLines {
  /** Lost entries that it tells of. */
  readonly gap: number;
}

/** The oldest of what waits, ready to be sealed. */
export interface PendingLines {
  /** One after the other. */
  readonly pieces: readonly Uint8Array[];
  readonly entries: number;
  /** The number of the first entry, or -1 where they do not follow each other. */
  readonly first: number;
}

/** Lines that follow each other, as bytes: what waits is no work for the garbage collector. */
interface Page {
  readonly bytes: Uint8Array;
  readonly entries: number;
  /** The number that its first entry has in the text. */
  readonly first: number;
  /** What must be hashed before it can be written. */
  readonly long: readonly LongText[];
}

const encoder = new TextEncoder();

/** Entries that wait to be written. Kept in a few pieces: thousands of them would cost more than the calls they tell of. */
export class ActivityPages {
  readonly #redactor: Redactor;
  readonly #now: () => number;
  /** Random, so that nothing that is recorded can stand where a digest belongs. */
  readonly #nonce = crypto.randomUUID();
  #marks = 0;
  readonly #calls = new CallWriter();
  #pages: Page[] = [];
  /** The page that is being filled. */
  #pieces: string[] = [];
  #pageSize = 0;
  #entries = 0;
  #long: LongText[] = [];
  #next = 1;
  #waiting = 0;
  #size = 0;
  #moment = Number.NaN;
  #momentText = "";

  constructor(redactor: Redactor, now: () => number) {
    this.#redactor = redactor;
    this.#now = now;
  }

  /** How many entries wait. */
  get waiting(): number {
    return this.#waiting;
  }

  /** How much they are, in characters or bytes. */
  get size(): number {
    return this.#size;
  }

  /** Adds an entry: one look and one stringify, for this is on the way of every call. */
  add(activity: Activity): void {
    const pieces = this.#pieces;
    const before = pieces.length;
    pieces.push(this.#entries === 0 ? '{"seq":' : '\n{"seq":', String(this.#next), this.#at());
    try {
      if (!(activity instanceof CallEntry)) pieces.push(this.#stringify(activity));
      else if (!this.#calls.write(activity, pieces)) pieces.push(this.#stringify(CallEntry.asWritten(activity)));
    } catch (error) {
      pieces.length = before;
      throw error;
    }
    let size = 1;
    for (let at = before; at < pieces.length; at += 1) size += pieces[at]?.length ?? 0;
    this.#pageSize += size;
    this.#size += size;
    this.#next += 1;
    this.#entries += 1;
    this.#waiting += 1;
    if (this.#pageSize > activityPageChars) this.#endPage();
  }

  /** The oldest pages, about this many bytes of them; they stay until they are dropped. */
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

  /** Forgets what was written; `seq` is the number of its last entry, from which the next ones are counted. */
  drop(written: PendingLines, seq: number): void {
    for (const { bytes, long } of this.#pages.slice(0, written.pieces.length))
      this.#size -= bytes.length + lengthOf(long);
    this.#pages = this.#pages.slice(written.pieces.length);
    this.#waiting -= written.entries;
    this.#endPage();
    this.#next = seq + this.#waiting + 1;
  }

  /** Secrets are looked for here, once for many entries. */
  #endPage(): void {
    if (this.#entries === 0) return;
    // Joined here: to append each piece to a text would cost twice as much.
    const text = `${this.#pieces.join("")}\n`;
    let bytes = encoder.encode(text);
    if (this.#redactor.mayContainSecret(text, bytes)) bytes = encoder.encode(redactLines(text, this.#redactor));
    this.#pages.push({ bytes, entries: this.#entries, first: this.#next - this.#entries, long: this.#long });
    this.#size += bytes.length - this.#pageSize;
    this.#pieces = [];
    this.#pageSize = 0;
    this.#entries = 0;
    this.#long = [];
  }

  /** The JSON of any entry without its first brace. */
  #stringify(activity: Activity): string {
    const entry = withoutReserved(activity);
    let text = isSmall(entry) ? JSON.stringify(entry) : "";
    if (text === "" || text.length > maxEntryChars) text = this.#stringifyShort(entry);
    if (text.startsWith('{"')) return text.slice(1);
    throw new PortolanError("invalid-argument", "Activity: expected an object with a kind");
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
    this.#size += lengthOf(long);
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

/** Lines with the numbers from `from` on; they have them already unless somebody else wrote in between. */
export function renumber({ pieces, first }: PendingLines, from: number): readonly Uint8Array[] {
  if (first === from) return pieces;
  let seq = from - 1;
  return pieces.map((piece) => {
    // A brace and a quote at the start of a line are never within a text, whatever ends lines.
    const text = new TextDecoder().decode(piece).replace(/^\{"seq":\d+/gm, () => {
      seq += 1;
      return `{"seq":${seq}`;
    });
    return encoder.encode(text);
  });
}

/** What the log itself says of an entry cannot be said by another. */
function withoutReserved(activity: Activity): Activity {
  if (!("seq" in activity || "at" in activity)) return activity;
  const { seq: _seq, at: _at, ...rest } = activity;
  return rest as Activity;
}

function redactLines(text: string, redactor: Redactor): string {
  const lines = text.split("\n");
  return lines.map((line) => (redactor.mayContainSecret(line) ? redactLine(line, redactor) : line)).join("\n");
}

/** What the log itself says stays in front, whatever the other members are called. */
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

/** Something that was asked of a server and done: the entry that there is for every call. */
export class CallEntry implements Activity {
  [member: string]: unknown;
  readonly kind: "call" | "resource" | "prompt";
  readonly id: string;
  readonly server: string;
  readonly name: string;
  readonly by: "user" | "model";
  readonly run: string | undefined;
  readonly args: object | undefined;
  readonly ms: number;
  readonly result: object;
  /** The arguments as JSON, where they are written already; not a member, which would be part of the entry. */
  readonly #argsText: string | undefined;

  constructor(
    kind: CallEntry["kind"],
    id: string,
    server: string,
    name: string,
    by: CallEntry["by"],
    run: string | undefined,
    args: object | undefined,
    argsText: string | undefined,
    ms: number,
    result: object,
  ) {
    this.kind = kind;
    this.id = id;
    this.server = server;
    this.name = name;
    this.by = by;
    this.run = run;
    this.args = args;
    this.ms = ms;
    this.result = result;
    this.#argsText = argsText;
  }

  static argsText(entry: CallEntry): string | undefined {
    return entry.#argsText;
  }

  /** The entry with its arguments as they were written: their owner may have changed them since. */
  static asWritten(entry: CallEntry): Activity {
    return entry.#argsText === undefined ? entry : { ...entry, args: JSON.parse(entry.#argsText) };
  }
}

/** Writes calls of tools: what is the same for all calls of a tool is written once. */
export class CallWriter {
  readonly #heads = new Map<string, Map<string, string>>();
  #count = 0;

  /** Adds the JSON of an entry without its first brace, in pieces; false where it is not written so simply. */
  write(entry: CallEntry, pieces: string[]): boolean {
    const { kind, id, server, name, by, run, ms, result } = entry;
    const argsText = CallEntry.argsText(entry);
    if (kind !== "call" || argsText === undefined || argsText.length > maxQuickArgumentChars) return false;
    if (name.length > maxQuickNameChars || !isSmall(result)) return false;
    pieces.push(this.#heads.get(server)?.get(name) ?? this.#addHead(server, name), argsText);
    if (run !== undefined) pieces.push(',"run":', JSON.stringify(run));
    pieces.push(by === "user" ? ',"by":"user","id":"' : ',"by":"model","id":"', id);
    pieces.push('","ms":', String(ms), ',"result":', JSON.stringify(result), "}");
    return true;
  }

  #addHead(server: string, name: string): string {
    if (this.#count >= maxEntryHeads) {
      this.#heads.clear();
      this.#count = 0;
    }
    const heads = this.#heads.get(server) ?? new Map<string, string>();
    const head = `${JSON.stringify({ kind: "call", server, name }).slice(1, -1)},"args":`;
    this.#heads.set(server, heads.set(name, head));
    this.#count += 1;
    return head;
  }
}
