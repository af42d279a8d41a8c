/** The storage of a server or a host: everything that is kept or passed between processes. */
export interface Storage {
  /** Small values by key. */
  readonly kv: KeyValue;
  /** Ordered entries by key. */
  readonly log: Log;
  /** Messages between processes. */
  readonly bus: Bus;
  /** True if no other process can use the same data at the same time, as in memory. Default: false. */
  readonly isLocal?: boolean;
}

/** Small values by key. Every method is atomic and sees all earlier writes of all processes. */
export interface KeyValue {
  /** Returns the value. Undefined if there is none or it has expired. */
  get(key: string): Promise<string | undefined>;
  /** Writes the value and returns true. Changes nothing and returns false if `expect` does not match. */
  set(key: string, value: string, options?: SetOptions): Promise<boolean>;
  /** Deletes the key if it exists. */
  delete(key: string): Promise<void>;
  /** Returns entries whose key starts with `prefix`, in a fixed order of keys, so that paging skips and repeats none. */
  list(prefix: string, options?: KeyListOptions): Promise<KeyValueEntry[]>;
}

/** Options of `KeyValue.set`. */
export interface SetOptions {
  /** The value expires after this time. Default: it does not expire, even if the value before it would have. */
  readonly ttlMs?: number;
  /** Writes only if the present value is this one. `null`: only if there is none. */
  readonly expect?: string | null;
}

/** Options of `KeyValue.list`. */
export interface KeyListOptions {
  /** Returns only keys after this one, which need not exist any more. */
  readonly after?: string;
  /** At most this many entries. Default: 100. */
  readonly limit?: number;
}

/** One key and its value. */
export interface KeyValueEntry {
  readonly key: string;
  readonly value: string;
}

/** Ordered entries by key. A reader that starts or waits after `append` resolved sees the entry. */
export interface Log {
  /** Adds an entry at the end and returns its id, which is greater than all ids before it and not reused. */
  append(key: string, value: string, options?: AppendOptions): Promise<string>;
  /**
   * Returns the entries after `id` that still exist, in order. `""`: from the start. Rejects with "invalid-argument" if
   * the id is malformed. With `follow` it waits for more entries until the iterator's `return` is called.
   */
  after(key: string, id: string, options?: FollowOptions): AsyncIterable<LogEntry>;
  /** Deletes all entries. Readers that follow the log stay, and get the entries that are appended later. */
  delete(key: string): Promise<void>;
}

/** Options of `Log.append`. */
export interface AppendOptions {
  /** Keeps only this many of the newest entries, including this one. */
  readonly keep?: number;
  /** The whole log expires this long after the append. Default: its expiry does not change. */
  readonly ttlMs?: number;
  /**
   * The storage need not remember the ids of the log after the log was deleted or has expired, and may then give them
   * again. For keys that are not used again. Default: false.
   */
  readonly forgetsIds?: boolean;
}

/** Options of `Log.after`. */
export interface FollowOptions {
  /** Waits for new entries instead of ending. Default: false. */
  readonly follow?: boolean;
}

/** One entry of a log. */
export interface LogEntry {
  readonly id: string;
  readonly value: string;
}

/** Messages to the present subscribers. Each gets a message at most once, in the publisher's order; none is stored. */
export interface Bus {
  /** Resolves when the message is sent, not when it is received. */
  publish(topic: string, value: string): Promise<void>;
  /**
   * Receives the messages that are published after this resolves. `lost` is called if messages may be missing: then
   * treat everything that the topic reports as changed. Neither function may throw.
   */
  subscribe(topic: string, receive: (value: string) => void, lost: () => void): Promise<Unsubscribe>;
}

/** Ends a subscription: nothing is received after the call. A second call does nothing. */
export type Unsubscribe = () => Promise<void>;

/** Returns a view of the storage with keys of its own for each owner. */
export function partOf(kv: KeyValue, owner: string): KeyValue {
  // The length keeps the keys of "a" apart from those of "a/b".
  const prefix = `of/${owner.length}/${owner}/`;
  return {
    get: (key) => kv.get(prefix + key),
    set: (key, value, options) => kv.set(prefix + key, value, options),
    delete: (key) => kv.delete(prefix + key),
    async list(start, { after, ...options } = {}) {
      const found = await kv.list(prefix + start, {
        ...options,
        ...(after !== undefined && { after: prefix + after }),
      });
      return found.map(({ key, value }) => ({ key: key.slice(prefix.length), value }));
    },
  };
}
