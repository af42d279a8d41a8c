import { PortolanError } from "../../errors.ts";
import { sha256 } from "../../storage/digest.ts";
import { sealBlock } from "./chain.ts";
import type { Activity } from "./entry.ts";
import type { ActivityOptions } from "./log.ts";
import { createRedactor, type Redactor } from "./redact.ts";
import { isSmall, type LongText, maxEntryChars, shorten } from "./shorten.ts";
import type { ActivitySink } from "./sink.ts";

/** An entry on its way: its text without the opening brace, and what must be hashed first. */
interface Waiting {
  readonly text: string;
  readonly long: readonly LongText[];
}

interface Block {
  readonly entries: readonly Waiting[];
  readonly texts: readonly string[];
  /** Lost entries that it tells of. */
  readonly gap: number;
}

const maxBlockEntries = 2_000;
const maxBlockChars = 1024 * 1024;
const maxWaitingChars = 16 * 1024 * 1024;
const firstRetryMs = 500;
const longestRetryMs = 30_000;
const none: readonly LongText[] = [];

/** Collects entries and writes them in blocks, one after the other. */
export class ActivityWriter {
  readonly #sink: ActivitySink;
  readonly #redactor: Redactor;
  readonly #now: () => number;
  readonly #flushMs: number;
  readonly #maxWaiting: number;
  readonly #onError: (error: unknown) => void;
  readonly #name = crypto.randomUUID().slice(0, 8);
  /** Random, so that nothing that is recorded can stand where a digest belongs. */
  readonly #nonce = crypto.randomUUID();
  #marks = 0;
  #waiting: Waiting[] = [];
  #chars = 0;
  /** Since the last entry that told of a gap. */
  #untold = 0;
  #lost = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #writing: Promise<void> | undefined;
  /** Kept until it is written: a sink that failed may have it already, and knows it again only as it was. */
  #block: Block | undefined;
  #failure: unknown;
  /** Why there is a gap that no entry has told of yet. */
  #gap: unknown;
  #retryMs = firstRetryMs;
  #isUrgent = false;
  #isClosed = false;
  #millisecond = Number.NaN;
  #timestamp = "";

  constructor(sink: ActivitySink, options: ActivityOptions) {
    this.#sink = sink;
    this.#redactor = createRedactor(options.secrets);
    this.#now = options.now ?? Date.now;
    this.#flushMs = options.flushMs ?? 250;
    this.#maxWaiting = options.maxWaiting ?? 10_000;
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

  /** On the way of every call: one look, one stringify, one search, and no promise. */
  record(activity: Activity, isUrgent: boolean): void {
    if (this.#isClosed || this.#waiting.length >= this.#maxWaiting || this.#chars >= maxWaitingChars) {
      this.#lose();
      return;
    }
    try {
      this.#put(activity);
    } catch (error) {
      this.#lose(error);
      return;
    }
    if (isUrgent && this.#failure === undefined) this.#hurry();
    else this.#schedule(this.#flushMs);
  }

  async flush(): Promise<void> {
    if (this.#writing === undefined && this.#waiting.length === 0 && this.#untold === 0) return;
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

  #put(activity: Activity): void {
    const rest = writable(activity);
    const long: LongText[] = [];
    let text = "";
    if (isSmall(rest)) text = JSON.stringify(rest);
    if (text !== "" && this.#redactor.mayConcern(text)) text = JSON.stringify(this.#redactor.redact(rest));
    if (text === "" || text.length > maxEntryChars) text = this.#stringifyShort(rest, long);
    if (!text.startsWith('{"')) throw new PortolanError("invalid-argument", "Activity: expected an object with a kind");
    this.#push({ text: `"at":"${this.#at()}",${text.slice(1)}`, long: long.length === 0 ? none : long });
  }

  #stringifyShort(activity: Activity, long: LongText[]): string {
    const mark = () => {
      this.#marks += 1;
      return `${this.#nonce}.${this.#marks}.`;
    };
    const clean = (text: string) => String(this.#redactor.redact(text));
    return JSON.stringify(this.#redactor.redact(shorten(activity, { mark, clean }, long)));
  }

  #push(entry: Waiting): void {
    this.#waiting.push(entry);
    this.#chars += entry.text.length;
    for (const { text } of entry.long) this.#chars += text.length;
  }

  #at(): string {
    const now = this.#now();
    if (now !== this.#millisecond) {
      this.#millisecond = now;
      this.#timestamp = new Date(now).toISOString();
    }
    return this.#timestamp;
  }

  #lose(error?: unknown): void {
    this.#lost += 1;
    this.#untold += 1;
    // Told once for each gap: a sink that is down must not flood whoever listens.
    if (this.#untold > 1) return;
    const why = this.#isClosed ? "it is closed" : "too many entries wait to be written";
    this.#gap = error ?? new PortolanError("limit-reached", `The activity log loses entries: ${why}`);
    this.#tell(this.#gap);
    if (!this.#isClosed) this.#schedule(this.#flushMs);
  }

  #tell(error: unknown): void {
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
  #hurry(): void {
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
      else if (this.#waiting.length > 0) this.#schedule(this.#flushMs);
    });
  }

  /** Does not reject: what went wrong is kept in `failure`. */
  async #write(): Promise<void> {
    this.#isUrgent = false;
    try {
      // What comes meanwhile waits for more: under load, many small blocks would cost more than the calls they tell of.
      for (let left = this.#waiting.length; left > 0 || this.#untold > 0; ) left -= await this.#writeBlock();
    } catch (error) {
      if (this.#failure === undefined) this.#tell(error);
      this.#failure = error;
    }
  }

  /** How many entries it has written. */
  async #writeBlock(): Promise<number> {
    this.#block ??= await this.#takeBlock();
    const { entries, texts, gap } = this.#block;
    await this.#sink.append((head) => sealBlock(texts, head, this.#name));
    this.#block = undefined;
    this.#waiting = this.#waiting.slice(entries.length);
    for (const { text, long } of entries) {
      this.#chars -= text.length;
      for (const { text: whole } of long) this.#chars -= whole.length;
    }
    this.#untold -= gap;
    if (this.#untold === 0) this.#gap = undefined;
    this.#failure = undefined;
    this.#retryMs = firstRetryMs;
    return entries.length;
  }

  async #takeBlock(): Promise<Block> {
    let chars = 0;
    const end = this.#waiting.findIndex(({ text }, index) => {
      chars += text.length;
      return index > 0 && (chars > maxBlockChars || index >= maxBlockEntries);
    });
    const entries = end === -1 ? this.#waiting.slice() : this.#waiting.slice(0, end);
    const gap = end === -1 ? this.#untold : 0;
    const texts: string[] = [];
    for (const entry of entries) texts.push(entry.long.length === 0 ? entry.text : await fillIn(entry));
    if (gap > 0) texts.push(`"at":"${this.#at()}","kind":"error","name":"activity-lost","entries":${gap}}`);
    return { entries, texts, gap };
  }

  #retry(): void {
    if (this.#isClosed || this.#timer !== undefined) return;
    this.#timer = setTimeout(() => this.#start(), this.#retryMs);
    // A process may end although its log is broken.
    const timer: { unref?(): void } | number = this.#timer;
    if (typeof timer === "object") timer.unref?.();
    this.#retryMs = Math.min(this.#retryMs * 2, longestRetryMs);
  }
}

/** What the log itself says of an entry cannot be said by another. */
function writable(activity: Activity): Activity {
  if (!("seq" in activity || "at" in activity)) return activity;
  const { seq: _seq, at: _at, ...rest } = activity;
  return rest as Activity;
}

async function fillIn({ text, long }: Waiting): Promise<string> {
  let filled = text;
  for (const { mark, text: whole } of long) filled = filled.replace(mark, `sha256-${await sha256(whole)}`);
  return filled;
}
