import { PortolanError } from "portolan";
import type { ActivityReading, ActivitySink } from "./sinks.ts";
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

/** How a log in a file is kept. */
export interface ActivityFileOptions extends ActivityOptions {
  /** A file that would grow beyond this is put aside as `<file>.1`, `<file>.2`…; 64 MiB unless given. */
  readonly maxBytes?: number;
}

/**
 * Opens a log in a file, for its owner only, which any number of processes may write at once; what a writer that was
 * killed has left unfinished is mended first. On Node.
 */
export async function openActivityFile(path: string, options: ActivityFileOptions = {}): Promise<ActivityLog> {
  const { fileSink } = await import("./node/file.ts");
  return openActivity(await fileSink(path, options), options);
}

/** Checks the log in a file as it is, without mending what a writer that was killed has left unfinished. On Node. */
export async function verifyActivityFile(
  path: string,
  options: { readonly contains?: string } = {},
): Promise<ActivityVerdict> {
  const { verifyFile } = await import("./node/file.ts");
  return verifyFile(path, options.contains);
}

/** What is done, and what the user has decided, for good: entries are added and never changed. */
export interface ActivityLog extends AsyncDisposable {
  /** Takes note and returns at once, whatever happens; `urgent` writes without waiting for more. */
  record(activity: Activity, options?: { readonly urgent?: boolean }): void;
  /** From now on, this text is a secret wherever it stands; less than 4 characters are none. */
  addSecret(secret: string): void;
  /** Throws "store-failed" while a log that is required cannot be written. */
  ready(): void;
  /** Entries that found no place; each gap is told by an entry, once the log can be written again. */
  readonly lost: number;
  /** Resolves when all that was recorded before is written; rejects when it cannot be. */
  flush(): Promise<void>;
  query(query?: ActivityQuery): AsyncIterable<ActivityEntry>;
  /** Reads the whole log; `contains` is the head of an earlier verdict that must be part of it. */
  verify(options?: { readonly contains?: string }): Promise<ActivityVerdict>;
  /** Writes what is left and releases the sink; rejects when something could not be written. */
  close(): Promise<void>;
}

/** What an entry tells of. */
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
  | "error";

/** Something to be recorded; members beside the named ones may be any JSON values. */
export interface Activity {
  readonly kind: ActivityKind;
  readonly server?: string;
  /** The tool, resource, prompt… */
  readonly name?: string;
  /** The same for all that belongs to one call. */
  readonly id?: string;
  readonly [member: string]: unknown;
}

/** Something that was recorded: secrets are replaced, and what was too long is `{ digest, chars, head }`. */
export interface ActivityEntry extends Activity {
  /** Its number in the log, from 1. */
  readonly seq: number;
  /** When, as ISO 8601 in UTC. */
  readonly at: string;
}

/** Which entries to read; all that is said must hold. */
export interface ActivityQuery {
  readonly kinds?: readonly ActivityKind[];
  readonly server?: string;
  readonly name?: string;
  readonly id?: string;
  /** From this time on. */
  readonly since?: Date | string;
  /** Before this time. */
  readonly until?: Date | string;
  /** Anywhere in the entry, in any case. */
  readonly text?: string;
  readonly limit?: number;
  readonly newestFirst?: boolean;
}

/** What came out of checking a log. */
export type ActivityVerdict =
  | {
      readonly ok: true;
      readonly entries: number;
      readonly blocks: number;
      /** The last seal: whoever keeps it elsewhere can later prove that nothing before it was changed. */
      readonly head: string;
    }
  | {
      readonly ok: false;
      readonly at: ActivityDamage;
      readonly reason: string;
      /** A writer has ended in the middle of its last block: the next one will mend it. */
      readonly isTorn: boolean;
    };

/** Where a log stops being what was written. */
export interface ActivityDamage {
  /** The file or other part that it was found in. */
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

/** The entries of a log that a query asks for. */
export async function* readEntries(reading: ActivityReading, query: ActivityQuery): AsyncGenerator<ActivityEntry> {
  const { limit = Number.POSITIVE_INFINITY, newestFirst = false } = query;
  const needle = query.text === undefined ? undefined : JSON.stringify(query.text).slice(1, -1).toLowerCase();
  const isWanted = filterOf(query);
  let count = 0;
  if (count >= limit) return;
  for await (const { text } of reading.texts) {
    const lines = text.split("\n");
    for (const line of newestFirst ? lines.reverse() : lines) {
      if (!line.startsWith('{"seq":') || (needle !== undefined && !line.toLowerCase().includes(needle))) continue;
      const entry = parseEntry(line);
      if (entry === undefined || !isWanted(entry)) continue;
      yield entry;
      count += 1;
      if (count >= limit) return;
    }
  }
}

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

/** Damage is for `verify` to report; what can still be read is read. */
function parseEntry(line: string): ActivityEntry | undefined {
  try {
    return JSON.parse(line) as ActivityEntry;
  } catch {
    return undefined;
  }
}
