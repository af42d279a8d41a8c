import { PortolanError } from "../../errors.ts";
import type { AppendOptions, FollowOptions, Log, LogEntry, Unsubscribe } from "../storage.ts";
import type { Channels } from "./channels.ts";
import type { Commands } from "./commands.ts";
import { toTtl } from "./key-value.ts";
import {
  charactersPerRead,
  entriesPerRead,
  followCheckMs,
  idRetentionMs,
  maxFollowReads,
  maxLogReads,
} from "./limits.ts";
import { ignore } from "./link.ts";
import { appendEntry, deleteLog } from "./scripts.ts";
import { decodeText, encodeText } from "./text.ts";

/**
 * Logs as Redis Streams. An append also publishes, and readers that follow the log then read what is new; they also read
 * every few seconds, because messages can get lost. Beside a stream its last id is kept, longer than the stream, unless its
 * ids may be forgotten.
 */
export class RedisLog implements Log {
  readonly #commands: Commands;
  readonly #channels: Channels;
  readonly #prefix: string;
  readonly #followers = new Set<LogReader>();
  #checks: ReturnType<typeof setTimeout> | undefined;
  /** Reads under way. */
  #reads = 0;
  readonly #waitingReads = new Set<() => void>();
  /** The greatest ms of all ids that this process has seen. */
  #seenMs = 0;
  /** Appended ids have at least these ms: another server may have taken over, whose clock is behind. */
  #leastMs = 0;
  #isClosed = false;

  constructor(commands: Commands, channels: Channels, prefix: string) {
    this.#commands = commands;
    this.#channels = channels;
    this.#prefix = prefix;
  }

  async append(key: string, value: string, { keep, ttlMs, forgetsIds = false }: AppendOptions = {}): Promise<string> {
    if (keep !== undefined && (!Number.isSafeInteger(keep) || keep < 1)) {
      throw new PortolanError("invalid-argument", `keep: expected a whole number above 0, got ${keep}`);
    }
    const ttl = ttlMs === undefined ? "" : toTtl(ttlMs);
    const { stream, lastId, channel } = this.#placesOf(key);
    const args = [encodeText(value), keep === undefined ? "" : String(keep), ttl, String(this.#leastMs)];
    try {
      const id = await this.#commands.run({
        operation: "log.append",
        key: stream,
        args: ["EVAL", appendEntry, "2", stream, lastId, ...args, forgetsIds ? "" : String(idRetentionMs), channel],
        writes: true,
        leavesReserve: true,
      });
      return this.#seen(String(id));
    } catch (error) {
      this.serverMayHaveChanged();
      throw error;
    }
  }

  after(key: string, id: string, { follow = false }: FollowOptions = {}): AsyncIterable<LogEntry> {
    return { [Symbol.asyncIterator]: () => new LogReader(this, key, id, follow) };
  }

  async delete(key: string): Promise<void> {
    const { stream, lastId } = this.#placesOf(key);
    const args = ["EVAL", deleteLog, "2", stream, lastId, String(idRetentionMs)];
    await this.#commands.run({ operation: "log.delete", key: stream, args, writes: true });
  }

  /** Returns the first entries after an id, at most `count`. */
  async read(key: string, id: string, count: number): Promise<LogEntry[]> {
    const { stream } = this.#placesOf(key);
    const from = id === "" ? "-" : `(${id}`;
    const args = ["XRANGE", stream, from, "+", "COUNT", String(count)];
    await this.#readTurn();
    const reply = await this.#commands
      .run({ operation: "log.after", key: stream, args, writes: false })
      .finally(() => this.#endReadTurn());
    return (reply as [string, string[]][]).map(([entryId, fields]) => {
      this.#seen(entryId);
      return { id: entryId, value: decodeText(fields[1] ?? "") };
    });
  }

  /** Resolves when one more read may be under way. */
  async #readTurn(): Promise<void> {
    if (this.#reads >= maxLogReads) await new Promise<void>((resolve) => this.#waitingReads.add(resolve));
    else this.#reads += 1;
  }

  /** Gives the turn to the read that has waited longest. */
  #endReadTurn(): void {
    const [next] = this.#waitingReads;
    if (!next) this.#reads -= 1;
    else {
      this.#waitingReads.delete(next);
      next();
    }
  }

  /** Calls the reader's `wake` when there may be new entries. */
  async follow(key: string, reader: LogReader): Promise<Unsubscribe> {
    const wake = () => reader.wake();
    const unsubscribe = await this.#channels.subscribe(this.#placesOf(key).channel, wake, wake);
    this.#followers.add(reader);
    this.#checks ??= setTimeout(this.#check, followCheckMs);
    return async () => {
      this.#followers.delete(reader);
      if (this.#followers.size === 0) this.#stopChecks();
      await unsubscribe();
    };
  }

  /** From now on ids are greater than all that this process has seen. */
  serverMayHaveChanged(): void {
    this.#leastMs = this.#seenMs + 1;
  }

  close(): void {
    this.#isClosed = true;
    this.#stopChecks();
    for (const reader of this.#followers) reader.wake();
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  #placesOf(key: string): { stream: string; lastId: string; channel: string } {
    // The same tag for both keys, and never an empty one.
    const name = `{/${encodeText(key)}}`;
    return {
      stream: `${this.#prefix}:log:${name}`,
      lastId: `${this.#prefix}:id:${name}`,
      channel: `${this.#prefix}:log:${name}`,
    };
  }

  #seen(id: string): string {
    this.#seenMs = Math.max(this.#seenMs, Number.parseInt(id, 10) || 0);
    return id;
  }

  #stopChecks(): void {
    clearTimeout(this.#checks);
    this.#checks = undefined;
  }

  /** Lets all followers read, a few at a time. */
  readonly #check = async (): Promise<void> => {
    const readers = [...this.#followers];
    const work = async () => {
      for (let reader = readers.pop(); reader; reader = readers.pop()) await reader.poll();
    };
    await Promise.all(Array.from({ length: maxFollowReads }, work));
    this.#checks = this.#followers.size === 0 || this.#isClosed ? undefined : setTimeout(this.#check, followCheckMs);
  };
}

/** A reader of one log. It is no generator, which would queue `return` behind the wait that `return` has to end. */
class LogReader implements AsyncIterator<LogEntry> {
  readonly #log: RedisLog;
  readonly #key: string;
  readonly #follow: boolean;
  #position: string;
  #isOver = false;
  #hasRead = false;
  /** Entries that the next read asks for. One at first, because it may be large. */
  #count = 1;
  /** Entries that were read and not yet returned. */
  #entries: LogEntry[] = [];
  #unfollow: Unsubscribe | undefined;
  #isWoken = false;
  #isWaiting = false;
  #wake: () => void = ignore;
  #afterRead: () => void = ignore;
  #lastNext: Promise<unknown> = Promise.resolve();

  constructor(log: RedisLog, key: string, id: string, follow: boolean) {
    this.#log = log;
    this.#key = key;
    this.#position = id;
    this.#follow = follow;
  }

  next(): Promise<IteratorResult<LogEntry>> {
    const read = () => this.#next();
    const result = this.#lastNext.then(read, read);
    this.#lastNext = result;
    return result;
  }

  async return(): Promise<IteratorResult<LogEntry>> {
    await this.#end();
    return { done: true, value: undefined };
  }

  /** Makes a waiting reader read. */
  wake(): void {
    this.#isWoken = true;
    this.#wake();
  }

  /** Wakes the reader if it waits, and resolves when it has read. */
  poll(): Promise<void> {
    if (!this.#isWaiting) return Promise.resolve();
    return new Promise((resolve) => {
      this.#afterRead = resolve;
      this.wake();
    });
  }

  async #next(): Promise<IteratorResult<LogEntry>> {
    try {
      while (!this.#isOver) {
        const [entry] = this.#entries.splice(0, 1);
        if (entry) return { done: false, value: entry };
        await this.#more();
      }
    } catch (error) {
      await this.#end();
      throw error;
    }
    return { done: true, value: undefined };
  }

  /** Reads the next entries. Ends the reader if there are none, or waits for some. */
  async #more(): Promise<void> {
    if (!this.#hasRead) await this.#begin();
    if (this.#isOver) return;
    this.#isWoken = false;
    try {
      this.#entries = await this.#log.read(this.#key, this.#position, this.#count);
      this.#count = nextCount(this.#entries, this.#count);
    } catch (error) {
      // A reader that waits goes on waiting while Redis is away; only its first read fails.
      if (!this.#follow || !this.#hasRead) throw error;
    } finally {
      this.#afterRead();
    }
    this.#hasRead = true;
    this.#position = this.#entries.at(-1)?.id ?? this.#position;
    if (this.#entries.length > 0 || this.#isOver) return;
    if (!this.#follow || this.#log.isClosed) await this.#end();
    else if (!this.#isWoken) await this.#woken();
  }

  async #begin(): Promise<void> {
    if (this.#position !== "" && !idPattern.test(this.#position)) {
      throw new PortolanError(
        "invalid-argument",
        "Log: expected the id of an entry or an empty string, got another string",
      );
    }
    if (!this.#follow || this.#unfollow) return;
    const unfollow = await this.#log.follow(this.#key, this);
    this.#unfollow = unfollow;
    if (this.#isOver) await this.#end();
  }

  #woken(): Promise<void> {
    this.#isWaiting = true;
    return new Promise((resolve) => {
      this.#wake = () => {
        this.#wake = ignore;
        this.#isWaiting = false;
        resolve();
      };
    });
  }

  async #end(): Promise<void> {
    this.#isOver = true;
    this.#wake();
    this.#afterRead();
    const unfollow = this.#unfollow;
    this.#unfollow = undefined;
    await unfollow?.().catch(ignore);
  }
}

/** Ids of Redis Streams, as this storage makes them. */
const idPattern = /^\d{1,16}-\d{1,16}$/;

/** Returns how many entries to ask for: twice as many as before, but fewer if those that were read are large. */
function nextCount(entries: readonly LogEntry[], count: number): number {
  if (entries.length === 0) return count;
  const characters = entries.reduce((sum, { value }) => sum + value.length, 0);
  const fitting = Math.floor((charactersPerRead * entries.length) / Math.max(characters, 1));
  return Math.max(1, Math.min(2 * count, fitting, entriesPerRead));
}
