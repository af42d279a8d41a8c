/** Everything that is kept or passed between processes goes through these three. */
export interface Storage {
  readonly kv: KeyValue;
  readonly log: Log;
  readonly bus: Bus;
}

/** Small values by key; every method is atomic and sees all that was written before it was called, by any process. */
export interface KeyValue {
  /** The value, or undefined when there is none or its time is over. */
  get(key: string): Promise<string | undefined>;
  /** Writes and says true, or says false and changes nothing when `expect` does not hold. */
  set(key: string, value: string, options?: SetOptions): Promise<boolean>;
  /** Afterwards the key is absent, whether or not it was there. */
  delete(key: string): Promise<void>;
  /** Live entries whose key starts with `prefix`, in one fixed order of keys: paging skips and repeats no key that stays. */
  list(prefix: string, options?: KeyListOptions): Promise<KeyValueEntry[]>;
}

/** How `KeyValue.set` writes. */
export interface SetOptions {
  /** The value is gone after this time; without it the value stays, also when an earlier one would have expired. */
  readonly ttlMs?: number;
  /** Write only if the present value is this one; `null`: only if there is none. */
  readonly expect?: string | null;
}

/** Which page `KeyValue.list` gives. */
export interface KeyListOptions {
  /** Only keys behind this one, which need not exist any more. */
  readonly after?: string;
  /** At most so many; 100 unless given. */
  readonly limit?: number;
}

/** One key and its value. */
export interface KeyValueEntry {
  readonly key: string;
  readonly value: string;
}

/** Ordered entries by key; an entry whose `append` resolved is seen by every reader that starts or waits afterwards. */
export interface Log {
  /** Adds at the end and gives the id, which is later than every id before it and never given again. */
  append(key: string, value: string, options?: AppendOptions): Promise<string>;
  /**
   * The entries behind `id` that are still kept, in order (`""`: from the start). Rejects with "invalid-argument" when
   * the id has not the form of an id. With `follow` it waits for more until the iterator's `return` is called.
   */
  after(key: string, id: string, options?: FollowOptions): AsyncIterable<LogEntry>;
  /** Afterwards the log is empty; readers that follow it stay and see what is appended later. */
  delete(key: string): Promise<void>;
}

/** How long `Log.append` keeps what it adds. */
export interface AppendOptions {
  /** Keep only so many of the latest entries, this one included. */
  readonly keep?: number;
  /** The whole log is gone this long after the append; without it an earlier expiry stays. */
  readonly ttlMs?: number;
}

/** How `Log.after` ends. */
export interface FollowOptions {
  readonly follow?: boolean;
}

/** One entry of a log. */
export interface LogEntry {
  readonly id: string;
  readonly value: string;
}

/** Messages to whoever listens right now: each is heard at most once, in the order of its publisher, and none is kept. */
export interface Bus {
  /** Resolves when the message is handed over, not when it was heard. */
  publish(topic: string, value: string): Promise<void>;
  /**
   * Hears what is published after this resolves. `lost` is called when messages may have been missed: treat all that
   * the topic tells about as changed. Neither function may throw.
   */
  subscribe(topic: string, hear: (value: string) => void, lost: () => void): Promise<Unsubscribe>;
}

/** Ends a subscription: nothing is heard once it was called; calling it again does nothing. */
export type Unsubscribe = () => Promise<void>;

/** A part of a storage for somebody alone: keys of theirs, beside those of others, whatever the names are. */
export function partOf(kv: KeyValue, owner: string): KeyValue {
  // The length keeps one owner's keys from being another's.
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
