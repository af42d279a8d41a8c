import { PortolanError } from "../../errors.ts";
import { sealBody } from "./chain.ts";
import type { Activity } from "./entry.ts";
import type { ActivityOptions } from "./log.ts";
import { ActivityPages, type Lines, numbered } from "./pages.ts";
import { createRedactor, type Redactor } from "./redact.ts";
import type { ActivityBlock, ActivityHead, ActivitySink } from "./sink.ts";

interface Block extends Lines {
  /** Lost entries that it tells of. */
  readonly gap: number;
}

const maxBlockBytes = 1024 * 1024;
const maxWaitingBytes = 16 * 1024 * 1024;
const firstRetryMs = 500;
const longestRetryMs = 30_000;

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

  constructor(sink: ActivitySink, options: ActivityOptions) {
    this.#sink = sink;
    this.#redactor = createRedactor(options.secrets);
    this.#now = options.now ?? Date.now;
    this.#pages = new ActivityPages(this.#redactor, this.#now);
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
    if (isUrgent && this.#failure === undefined) this.#hurry();
    else this.#schedule(this.#flushMs);
  }

  async flush(): Promise<void> {
    if (this.#writing === undefined && this.#pages.waiting === 0 && this.#untold === 0) return;
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
      else if (this.#pages.waiting > 0) this.#schedule(this.#flushMs);
    });
  }

  /** Does not reject: what went wrong is kept in `failure`. */
  async #write(): Promise<void> {
    this.#isUrgent = false;
    try {
      // What comes meanwhile waits for more: under load, many small blocks would cost more than the calls they tell of.
      for (let left = this.#pages.waiting; left > 0 || this.#untold > 0; ) left -= await this.#writeBlock();
    } catch (error) {
      if (this.#failure === undefined) this.#tell(error);
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
    this.#untold -= block.gap;
    if (this.#untold === 0) this.#gap = undefined;
    this.#failure = undefined;
    this.#retryMs = firstRetryMs;
    return block.entries;
  }

  async #takeBlock(): Promise<Block> {
    const lines = await this.#pages.take(maxBlockBytes);
    const gap = lines.entries === this.#pages.waiting ? this.#untold : 0;
    return { ...lines, gap };
  }

  #seal(block: Block, head: ActivityHead): Promise<ActivityBlock> {
    const body = numbered(block, head.seq + 1);
    if (block.gap === 0) return sealBody(body, block.entries, head, this.#name);
    const seq = head.seq + block.entries + 1;
    const gap = {
      seq,
      at: new Date(this.#now()).toISOString(),
      kind: "error",
      name: "activity-lost",
      entries: block.gap,
    };
    const told = new TextEncoder().encode(`${JSON.stringify(gap)}\n`);
    return sealBody([...body, told], block.entries + 1, head, this.#name);
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
