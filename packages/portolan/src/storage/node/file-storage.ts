import { mkdir } from "node:fs/promises";
import { join, resolve } from "node:path";
import { PortolanError } from "../../errors.ts";
import { checkNumbers, checkOptions, type OptionNames } from "../../options.ts";
import {
  defaultFilePatienceMs,
  defaultMaxChars,
  defaultMaxEntries,
  defaultMaxLogChars,
  defaultMaxLogEntries,
  idsPerReservation,
} from "../limits.ts";
import { createMemoryBus, MemoryKeyValue, MemoryLog } from "../memory.ts";
import type { AppendOptions, KeyValue, Log, LogEntry, SetOptions, Storage } from "../storage.ts";
import { holdFileLock } from "./file-lock.ts";
import { Journal } from "./journal.ts";

/** Options of `createFileStorage`. */
export interface FileStorageOptions {
  /** At most this many keys. Default: 100,000. */
  readonly maxEntries?: number;
  /** At most this many characters of keys and values together. Default: 256 Mi. */
  readonly maxChars?: number;
  /** At most this many log entries, all logs together. Default: 100,000. */
  readonly maxLogEntries?: number;
  /** At most this many characters of log entries, all logs together. Default: 64 Mi. */
  readonly maxLogChars?: number;
  /** Waits this long for another process that uses the folder. Default: 5 s. */
  readonly patienceMs?: number;
  /** Called with problems that no call reports. Default: they are ignored. */
  readonly onError?: (error: unknown) => void;
}

/** A storage in a folder, for one process at a time. */
export interface FileStorage extends Storage {
  /** Locks the folder and reads it. Rejects if another process uses it. */
  ready(): Promise<void>;
  /** Writes what is left, and unlocks the folder. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

const fileStorageOptions: OptionNames<FileStorageOptions> = {
  maxEntries: 1,
  maxChars: 1,
  maxLogEntries: 1,
  maxLogChars: 1,
  patienceMs: 1,
  onError: 1,
};

/**
 * Creates a storage in a folder, for one process at a time: what it keeps survives a restart. Everything is also in memory.
 * A write resolves when it is on disk.
 */
export function createFileStorage(folder: string, options: FileStorageOptions = {}): FileStorage {
  checkOptions(options, fileStorageOptions, "createFileStorage");
  checkNumbers(options, "maxEntries", "maxChars", "maxLogEntries", "maxLogChars", "patienceMs");
  if (typeof folder !== "string" || folder === "") {
    throw new PortolanError("invalid-argument", "createFileStorage: expected the path of a folder");
  }
  const parts = new FileParts(resolve(folder), options);
  return {
    kv: parts.kv,
    log: parts.log,
    bus: createMemoryBus(),
    isLocal: true,
    ready: () => parts.ready(),
    close: () => parts.close(),
    [Symbol.asyncDispose]: () => parts.close(),
  };
}

/** A record of the journal. Applied twice, or after a snapshot that has its effect, it changes nothing. */
type JournalRecord =
  | readonly ["set", key: string, value: string, expiresAt: number | null]
  | readonly ["delete", key: string]
  | readonly ["append", key: string, value: string, number: number, keep: number | null, expiresAt: number | null]
  /** An append to a log that does not exist, or no longer. */
  | readonly ["begin", key: string, value: string, number: number, keep: number | null, expiresAt: number | null]
  | readonly ["drop", key: string]
  /** Numbers up to this one may have been given to entries. */
  | readonly ["reserve", number: number];

const unbounded = { maxEntries: Number.POSITIVE_INFINITY, maxChars: Number.POSITIVE_INFINITY };

class FileParts {
  readonly #folder: string;
  readonly #patienceMs: number;
  readonly #report: (error: unknown) => void;
  readonly #kvBounds = { ...unbounded };
  readonly #logBounds = { ...unbounded };
  #memoryKv = new MemoryKeyValue(this.#kvBounds, () => this.#now());
  #memoryLog = new MemoryLog(this.#logBounds, () => this.#now());
  readonly #readers = new Set<AsyncIterator<LogEntry>>();
  readonly #limits: Required<Omit<FileStorageOptions, "patienceMs" | "onError">>;
  /** Milliseconds since 1970, which do not go back while the process runs. Stands still while the past is read. */
  #now: () => number = () => 0;
  #reserved = 0;
  #opening: Promise<Journal> | undefined;
  #closing: Promise<void> | undefined;
  #release: () => void = () => {};

  constructor(folder: string, options: FileStorageOptions) {
    this.#folder = folder;
    this.#patienceMs = options.patienceMs ?? defaultFilePatienceMs;
    this.#report = options.onError ?? (() => {});
    this.#limits = {
      maxEntries: options.maxEntries ?? defaultMaxEntries,
      maxChars: options.maxChars ?? defaultMaxChars,
      maxLogEntries: options.maxLogEntries ?? defaultMaxLogEntries,
      maxLogChars: options.maxLogChars ?? defaultMaxLogChars,
    };
  }

  async ready(): Promise<void> {
    await this.#open();
  }

  close(): Promise<void> {
    this.#closing ??= (async () => {
      const journal = await this.#opening?.catch(() => undefined);
      for (const reader of this.#readers) await reader.return?.();
      try {
        await journal?.close();
      } finally {
        this.#release();
      }
    })();
    return this.#closing;
  }

  readonly kv: KeyValue = {
    get: async (key) => {
      await this.#open();
      return this.#memoryKv.get(key);
    },
    set: async (key, value, options = {}) => {
      const journal = await this.#open();
      journal.checkRoom(key.length + value.length);
      if (!this.#memoryKv.write(key, value, options)) return false;
      await journal.append(["set", key, value, this.#expiryOf(options)] satisfies JournalRecord);
      return true;
    },
    delete: async (key) => {
      const journal = await this.#open();
      this.#memoryKv.remove(key);
      await journal.append(["delete", key] satisfies JournalRecord);
    },
    list: async (prefix, options) => {
      await this.#open();
      return this.#memoryKv.list(prefix, options);
    },
  };

  readonly log: Log = {
    append: async (key, value, options = {}) => {
      const journal = await this.#open();
      journal.checkRoom(key.length + value.length);
      const kind = this.#memoryLog.newest(key) ? "append" : "begin";
      const { id, number } = this.#memoryLog.add(key, value, options);
      const keep = options.keep ?? null;
      const record: JournalRecord = [kind, key, value, number, keep, this.#expiryOf(options)];
      const written = journal.append(record);
      if (number > this.#reserved - idsPerReservation / 2) {
        this.#reserved += idsPerReservation;
        await journal.append(["reserve", this.#reserved] satisfies JournalRecord);
      }
      await written;
      return id;
    },
    after: (key, id, options) => ({
      [Symbol.asyncIterator]: () => {
        let entries: AsyncIterator<LogEntry> | undefined;
        let isOver = false;
        const end = async (): Promise<IteratorResult<LogEntry>> => {
          isOver = true;
          if (entries) this.#readers.delete(entries);
          await entries?.return?.();
          return { done: true, value: undefined };
        };
        return {
          next: async () => {
            if (isOver) return end();
            await this.#open();
            entries ??= this.#memoryLog.after(key, id, options)[Symbol.asyncIterator]();
            this.#readers.add(entries);
            const result = isOver ? await end() : await entries.next();
            return result.done ? end() : result;
          },
          return: end,
        };
      },
    }),
    delete: async (key) => {
      const journal = await this.#open();
      this.#memoryLog.drop(key);
      await journal.append(["drop", key] satisfies JournalRecord);
    },
  };

  #expiryOf({ ttlMs }: SetOptions & AppendOptions): number | null {
    return ttlMs === undefined ? null : this.#now() + ttlMs;
  }

  #open(): Promise<Journal> {
    if (this.#closing) {
      return Promise.reject(new PortolanError("store-failed", "The file storage failed: the storage is closed"));
    }
    this.#opening ??= this.#load().catch((error) => {
      // The next call tries again: the other process may have ended.
      this.#opening = undefined;
      throw error;
    });
    return this.#opening;
  }

  async #load(): Promise<Journal> {
    // An attempt before may have read a part.
    this.#now = () => 0;
    this.#reserved = 0;
    Object.assign(this.#kvBounds, unbounded);
    Object.assign(this.#logBounds, unbounded);
    this.#memoryKv = new MemoryKeyValue(this.#kvBounds, () => this.#now());
    this.#memoryLog = new MemoryLog(this.#logBounds, () => this.#now());
    await mkdir(this.#folder, { recursive: true, mode: 0o700 });
    const release = await holdFileLock(join(this.#folder, "lock"), { patienceMs: this.#patienceMs });
    try {
      const journal = await Journal.open(this.#folder, {
        replay: (record) => this.#replay(record as JournalRecord),
        snapshot: () => this.#snapshot(),
        report: this.#report,
      });
      this.#release = release;
      return journal;
    } catch (error) {
      release();
      throw error;
    }
  }

  /** The clock stands at 0 meanwhile, so that nothing expires and each time to live is a time. */
  #replay(record: JournalRecord): void {
    const [kind] = record;
    if (kind === "set") {
      const [, key, value, expiresAt] = record;
      this.#memoryKv.write(key, value, expiresAt === null ? {} : { ttlMs: expiresAt });
    } else if (kind === "delete") this.#memoryKv.remove(record[1]);
    else if (kind === "drop") this.#memoryLog.drop(record[1]);
    else if (kind === "reserve") this.#reserved = Math.max(this.#reserved, record[1]);
    else {
      const [, key, value, number, keep, expiresAt] = record;
      if (number <= (this.#memoryLog.newest(key)?.number ?? 0)) return;
      if (kind === "begin") this.#memoryLog.drop(key);
      this.#memoryLog.lastNumber = number - 1;
      this.#memoryLog.add(key, value, {
        ...(keep !== null && { keep }),
        ...(expiresAt !== null && { ttlMs: expiresAt }),
      });
    }
  }

  /** The first snapshot ends the past: from now on time passes, limits hold, and ids are new. */
  *#snapshot(): Iterable<JournalRecord> {
    if (this.#now() === 0) this.#begin();
    yield ["reserve", this.#reserved];
    const orNull = (expiresAt: number) => (Number.isFinite(expiresAt) ? expiresAt : null);
    for (const [key, { value, expiresAt }] of this.#memoryKv.rows()) yield ["set", key, value, orNull(expiresAt)];
    for (const [key, { value, expiresAt }] of this.#memoryLog.rows()) {
      yield ["drop", key];
      // A copy: entries are added and removed while the snapshot is written.
      for (const entry of [...value]) yield ["append", key, entry.value, entry.number, null, orNull(expiresAt)];
    }
  }

  #begin(): void {
    const [startedAt, startedAfter] = [Date.now(), performance.now()];
    this.#now = () => startedAt + performance.now() - startedAfter;
    this.#memoryLog.lastNumber = this.#reserved;
    this.#reserved += idsPerReservation;
    const { maxEntries, maxChars, maxLogEntries, maxLogChars } = this.#limits;
    Object.assign(this.#kvBounds, { maxEntries, maxChars });
    Object.assign(this.#logBounds, { maxEntries: maxLogEntries, maxChars: maxLogChars });
  }
}
