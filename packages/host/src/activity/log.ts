import { PortolanError } from "portolan";
import { checkOptions, type OptionNames } from "portolan/internal";
import type { ActivityReading, ActivitySink } from "./sinks.ts";
import { verifyActivity } from "./verify.ts";
import { ActivityWriter } from "./writer.ts";

/** Options of `openActivity`. */
export interface ActivityOptions {
  /** Calls fail while the log cannot be written: `ready()` throws. Default: false. */
  readonly required?: boolean;
  /** Longest time that an entry waits for others, unless it is urgent. Default: 250. */
  readonly flushMs?: number;
  /** Entries that wait while the sink is slow or fails. Default: 50,000. */
  readonly maxWaiting?: number;
  /** Texts to redact everywhere, in addition to everything that looks like a secret. */
  readonly secrets?: Iterable<string>;
  /** Milliseconds since 1970. Default: `Date.now`. */
  readonly now?: () => number;
  /** Called with errors of writing. */
  readonly onError?: (error: unknown) => void;
}

/** Opens a log. Entries are written in blocks, and each block is sealed to the previous one. */
export function openActivity(sink: ActivitySink, options: ActivityOptions = {}): ActivityLog {
  checkOptions(options, optionNames, "openActivity");
  return new SealedLog(sink, options);
}

const optionNames = {
  required: 1,
  flushMs: 1,
  maxWaiting: 1,
  secrets: 1,
  now: 1,
  onError: 1,
} satisfies OptionNames<ActivityOptions>;

/** Options of `openActivityFile`. */
export interface ActivityFileOptions extends ActivityOptions {
  /** A file that would become larger is rotated to `<file>.1`, `<file>.2`… Default: 64 MiB. */
  readonly maxBytes?: number;
  /** Called if another process keeps the log locked for 2 s, with a sentence that names the file and the process. */
  readonly onWait?: (notice: string) => void;
}

/**
 * Opens a log in a file that only its owner can read. Several processes may write to it. First repairs an unfinished
 * block of a killed process. Needs Node.
 */
export async function openActivityFile(path: string, options: ActivityFileOptions = {}): Promise<ActivityLog> {
  checkOptions(options, { ...optionNames, maxBytes: 1, onWait: 1 }, "openActivityFile");
  const { fileSink } = await import("#activity-file");
  return new SealedLog(await fileSink(path, options), options);
}

/** Verifies the log in a file as it is, without a repair. Needs Node. */
export async function verifyActivityFile(
  path: string,
  options: { readonly contains?: string } = {},
): Promise<ActivityVerdict> {
  const { verifyFile } = await import("#activity-file");
  return verifyFile(path, options.contains);
}

/** An append-only log of all calls and of the user's decisions. */
export interface ActivityLog extends AsyncDisposable {
  /** Adds an entry and returns at once; never throws. `urgent` writes it without waiting for others. */
  record(activity: Activity, options?: { readonly urgent?: boolean }): void;
  /** Redacts this text from now on. Texts of less than 4 characters are ignored. */
  addSecret(secret: string): void;
  /** Throws "store-failed" while a required log cannot be written. */
  ready(): void;
  /** Dropped entries. Each gap is recorded by an entry as soon as the log can be written again. */
  readonly lost: number;
  /** Resolves when all earlier entries are written; rejects if they cannot be. */
  flush(): Promise<void>;
  query(query?: ActivityQuery): AsyncIterable<ActivityEntry>;
  /**
   * Calls the listener with the number of the newest entry each time when this process has written some. Returns the
   * function that ends it. A listener must not throw.
   */
  listen?(listener: (seq: number) => void): () => void;
  /** Reads and verifies the whole log. `contains` is the head of an earlier verdict, which must be part of it. */
  verify(options?: { readonly contains?: string }): Promise<ActivityVerdict>;
  /** Writes the remaining entries and closes the sink. Rejects if something could not be written. */
  close(): Promise<void>;
}

/**
 * Records entries and resolves when they are written, so that something may follow that must not happen without them. Rejects
 * with "store-failed" if they are not written for certain.
 */
export async function recordNow(
  log: Pick<ActivityLog, "record" | "flush" | "lost">,
  ...entries: readonly Activity[]
): Promise<void> {
  const { lost } = log;
  for (const entry of entries) log.record(entry, { urgent: true });
  await log.flush();
  if (log.lost > lost) throw entriesDropped();
}

/** Returns the error of a decision that may be among the dropped entries. */
export function entriesDropped(): PortolanError {
  return new PortolanError(
    "store-failed",
    "The activity log has dropped entries, because too many wait or it is closed",
  );
}

/** The kind of an entry. */
export type ActivityKind =
  | "server"
  | "trust"
  | "decision"
  | "call"
  | "result"
  | "resource"
  | "prompt"
  | "question"
  | "answer"
  | "sampling"
  | "roots"
  | "definition"
  | "grant"
  | "app"
  | "error";

/** Something to record. Further members may be any JSON values. */
export interface Activity {
  readonly kind: ActivityKind;
  readonly server?: string;
  /** Name of the tool, resource, prompt… */
  readonly name?: string;
  /** Shared by all entries of one call. */
  readonly id?: string;
  readonly [member: string]: unknown;
}

/** A recorded entry: secrets are redacted, and long texts are `{ digest, chars, head }`. */
export interface ActivityEntry extends Activity {
  /** Number in the log, from 1. */
  readonly seq: number;
  /** Time as ISO 8601 in UTC. */
  readonly at: string;
}

/** The entries to read; all given members must match. */
export interface ActivityQuery {
  readonly kinds?: readonly ActivityKind[];
  readonly server?: string;
  readonly name?: string;
  readonly id?: string;
  /** From this time on. */
  readonly since?: Date | string;
  /** Before this time. */
  readonly until?: Date | string;
  /** Numbers less than this one: the page before an entry. */
  readonly before?: number;
  /** Numbers greater than this one: the entries that are new since. */
  readonly after?: number;
  /** Text anywhere in the entry, ignoring case. */
  readonly text?: string;
  readonly limit?: number;
  readonly newestFirst?: boolean;
}

/** Result of a verification. */
export type ActivityVerdict =
  | {
      readonly ok: true;
      readonly entries: number;
      readonly blocks: number;
      /** The last seal. Keep it elsewhere to prove later that nothing before it was changed. */
      readonly head: string;
    }
  | {
      readonly ok: false;
      readonly at: ActivityDamage;
      readonly reason: string;
      /** A writer was killed in its last block. The next writer repairs it. */
      readonly isTorn: boolean;
    };

/** The first place that is damaged. */
export interface ActivityDamage {
  /** Name of the file or other part. */
  readonly part: string;
  /** From 1. */
  readonly line: number;
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
    if (!this.#isRequired) return;
    const { failure } = this.#writer;
    if (failure === undefined) return;
    throw new PortolanError("store-failed", "The activity log is required but cannot be written", { cause: failure });
  }

  flush(): Promise<void> {
    return this.#writer.flush();
  }

  listen(listener: (seq: number) => void): () => void {
    return this.#writer.listen(listener);
  }

  async *query(query: ActivityQuery = {}): AsyncGenerator<ActivityEntry> {
    for await (const { entry } of this.read(query)) yield entry;
  }

  /** Returns the entries with their lines as they are stored. */
  async *read(query: ActivityQuery): AsyncGenerator<{ readonly line: string; readonly entry: ActivityEntry }> {
    await this.#settle();
    yield* readEntries(await this.#sink.read(query.newestFirst ?? false), query, this.#sink.isLinear);
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

  /** A failed write is reported elsewhere; earlier entries can still be read. */
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

/**
 * Returns entries as lines of JSON, each with its line break, exactly as they are stored: numbers keep all their digits.
 * Secrets are redacted already. Seals are left out; `verify` checks them.
 */
export async function* exportActivity(
  log: Pick<ActivityLog, "query">,
  query: ActivityQuery = {},
): AsyncGenerator<string> {
  if (log instanceof SealedLog) for await (const { line } of log.read(query)) yield `${line}\n`;
  else for await (const entry of log.query(query)) yield `${JSON.stringify(entry)}\n`;
}

/** Returns the entries that match a query. In a linear log numbers only grow, so that the reading ends early. */
async function* readEntries(
  reading: ActivityReading,
  query: ActivityQuery,
  isLinear: boolean,
): AsyncGenerator<{ readonly line: string; readonly entry: ActivityEntry }> {
  const { limit = Number.POSITIVE_INFINITY, newestFirst = false } = query;
  const { before = Number.POSITIVE_INFINITY, after = Number.NEGATIVE_INFINITY } = query;
  const needle = query.text === undefined ? undefined : JSON.stringify(query.text).slice(1, -1).toLowerCase();
  const isWanted = filterOf(query);
  let count = 0;
  if (count >= limit) return;
  for await (const { text } of reading.texts) {
    const lines = text.split("\n");
    for (const line of newestFirst ? lines.reverse() : lines) {
      if (!line.startsWith(lineStart)) continue;
      const seq = Number.parseInt(line.slice(lineStart.length, lineStart.length + maxSeqDigits), 10);
      if (isLinear && (newestFirst ? seq <= after : seq >= before)) return;
      if (seq <= after || seq >= before || (needle !== undefined && !line.toLowerCase().includes(needle))) continue;
      const entry = parseEntry(line);
      if (entry === undefined || !isWanted(entry)) continue;
      yield { line, entry };
      count += 1;
      if (count >= limit) return;
    }
  }
}

const lineStart = '{"seq":';
/** Enough for every number that JavaScript counts without a gap. */
const maxSeqDigits = 16;

function filterOf(query: ActivityQuery): (entry: ActivityEntry) => boolean {
  const { kinds, server, name, id } = query;
  const since = toIso(query.since);
  const until = toIso(query.until);
  return (entry) =>
    (kinds === undefined || kinds.includes(entry.kind)) &&
    (server === undefined || entry.server === server) &&
    (name === undefined || entry.name === name) &&
    (id === undefined || entry.id === id) &&
    (since === undefined || entry.at >= since) &&
    (until === undefined || entry.at < until);
}

function toIso(time: Date | string | undefined): string | undefined {
  return time === undefined ? undefined : new Date(time).toISOString();
}

/** Skips damaged lines, which `verify` reports. */
function parseEntry(line: string): ActivityEntry | undefined {
  try {
    return JSON.parse(line) as ActivityEntry;
  } catch {
    return undefined;
  }
}
