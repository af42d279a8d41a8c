import { PortolanError } from "../../errors.ts";
import type { Activity, ActivityEntry, ActivityLog, ActivityQuery, ActivityVerdict } from "./entry.ts";
import { readEntries } from "./query.ts";
import type { ActivitySink } from "./sink.ts";
import { verifyActivity } from "./verify.ts";
import { ActivityWriter } from "./writer.ts";

/** How a log is kept. */
export interface ActivityOptions {
  /** `ready()` throws while the log cannot be written. */
  readonly required?: boolean;
  /** How long an entry that is not urgent may wait for others; 250 unless given. */
  readonly flushMs?: number;
  /** Entries that wait while the sink is slow or fails; 10,000 unless given. */
  readonly maxWaiting?: number;
  /** Texts that are secrets wherever they stand, beside all that looks like one. */
  readonly secrets?: Iterable<string>;
  /** Milliseconds since 1970; `Date.now` unless given. */
  readonly now?: () => number;
  /** Hears what went wrong while writing. */
  readonly onError?: (error: unknown) => void;
}

/** Opens a log: entries are collected, written in blocks, and each block is sealed to the one before it. */
export function openActivity(sink: ActivitySink, options: ActivityOptions = {}): ActivityLog {
  return new SealedLog(sink, options);
}

class SealedLog implements ActivityLog {
  readonly #sink: ActivitySink;
  readonly #writer: ActivityWriter;
  readonly #isRequired: boolean;
  #closing: Promise<void> | undefined;

  constructor(sink: ActivitySink, options: ActivityOptions) {
    this.#sink = sink;
    this.#writer = new ActivityWriter(sink, options);
    this.#isRequired = options.required ?? false;
  }

  get lost(): number {
    return this.#writer.lost;
  }

  record(activity: Activity, options?: { readonly urgent?: boolean }): void {
    this.#writer.record(activity, options?.urgent === true);
  }

  addSecret(secret: string): void {
    this.#writer.addSecret(secret);
  }

  ready(): void {
    const { failure } = this.#writer;
    if (!this.#isRequired || failure === undefined) return;
    throw new PortolanError("store-failed", "The activity log is required and cannot be written", { cause: failure });
  }

  flush(): Promise<void> {
    return this.#writer.flush();
  }

  async *query(query: ActivityQuery = {}): AsyncGenerator<ActivityEntry> {
    await this.#settle();
    yield* readEntries(await this.#sink.read(query.newestFirst ?? false), query);
  }

  async verify(options: { readonly contains?: string } = {}): Promise<ActivityVerdict> {
    await this.#settle();
    return verifyActivity(await this.#sink.read(false), this.#sink.isLinear, options.contains);
  }

  close(): Promise<void> {
    this.#closing ??= this.#end();
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** What cannot be written is told elsewhere; what was written can still be read. */
  async #settle(): Promise<void> {
    await this.#writer.flush().catch(() => undefined);
  }

  async #end(): Promise<void> {
    try {
      await this.#writer.close();
    } finally {
      await this.#sink.close();
    }
  }
}
