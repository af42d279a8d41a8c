import { PortolanError } from "../../errors.ts";
import { limitExceeded } from "../../protocol/errors.ts";
import { sha256, toBase64url } from "../../storage/crypto.ts";
import type { KeyValue, Storage } from "../../storage/storage.ts";
import type { TaskSettings } from "./extension.ts";
import { maxChangeTries, maxSweptTasks, maxTaskIdCharacters, retentionMs, sizeStep, sweepPageSize } from "./limits.ts";
import { hasEnded, type TaskRecord } from "./record.ts";

/** The processes of this program that use a storage which no other program uses: they need no lease. */
const localOwners = new WeakMap<KeyValue, Set<string>>();

/** The entry of a task among those of its caller. It is written before the task, and tells of it without its content. */
interface IndexEntry {
  readonly reserved: number;
  readonly isOpen: boolean;
  /** The key of the task. */
  readonly key: string;
}

/** A change of a task. `before` is undefined if there is no such task. */
export interface TaskChange {
  readonly before: TaskRecord | undefined;
  /** The task after the change; the same as before if nothing changed. */
  readonly after: TaskRecord | undefined;
}

/** The tasks of one server in its storage. */
export class TaskStore {
  /** The name of this process among those that use the storage. */
  readonly owner: string = crypto.randomUUID();
  readonly #storage: Storage;
  readonly #prefix: string;
  readonly #settings: TaskSettings;
  readonly #report: (error: unknown) => void;
  readonly #isShared: boolean;
  readonly #watchers = new Map<string, Set<() => void>>();
  /** Receives the keys of tasks that other processes changed; undefined if some may have been missed. */
  readonly #changedElsewhere: (key: string | undefined) => void;
  #subscribing: Promise<unknown> | undefined;
  /** Reasons to keep the lease: the tasks that this process runs. */
  #held = 0;
  #leasing: Promise<void> | undefined;
  /** When the lease was last renewed, by the monotonic clock. */
  #renewedAt = Number.NEGATIVE_INFINITY;
  #timer: ReturnType<typeof setInterval> | undefined;

  constructor(
    storage: Storage,
    serverName: string,
    settings: TaskSettings,
    report: (error: unknown) => void,
    changedElsewhere: (key: string | undefined) => void,
  ) {
    this.#storage = storage;
    this.#prefix = encodeURIComponent(serverName);
    this.#settings = settings;
    this.#report = report;
    this.#changedElsewhere = changedElsewhere;
    this.#isShared = storage.isLocal !== true;
    if (!this.#isShared) {
      const owners = localOwners.get(storage.kv) ?? new Set();
      localOwners.set(storage.kv, owners.add(this.owner));
    }
  }

  /** True if other processes may have tasks in the storage. */
  get isShared(): boolean {
    return this.#isShared;
  }

  /** Returns the key of a task. A foreign task has another key, so that looking for it finds nothing. */
  async keyOf(principalKey: string, id: string): Promise<string> {
    return (await this.#keysOf(principalKey)) + id;
  }

  /** Returns the task of a principal with its key; undefined if there is none. */
  async find(principalKey: string, id: string): Promise<{ key: string; record: TaskRecord } | undefined> {
    if (id.length > maxTaskIdCharacters) return undefined;
    const key = await this.keyOf(principalKey, id);
    const record = await this.read(key);
    return record && { key, record };
  }

  async read(key: string): Promise<TaskRecord | undefined> {
    const text = await this.#storage.kv.get(key);
    return text === undefined ? undefined : JSON.parse(text);
  }

  /** Returns tasks of a principal whose ids come after one. */
  async list(principalKey: string, after: string | undefined, limit: number): Promise<TaskRecord[]> {
    const prefix = await this.#keysOf(principalKey);
    const rows = await this.#storage.kv.list(prefix, { limit, ...(after !== undefined && { after: prefix + after }) });
    return rows.map(({ value }) => JSON.parse(value));
  }

  /** Throws if a caller has too many tasks to begin another one. */
  async admit(caller: string, chars = 0): Promise<void> {
    const { open, stored, chars: mostChars } = this.#settings.perCaller;
    const entries = await this.#storage.kv.list(this.#indexKey(caller, ""), { limit: stored });
    let openTasks = 0;
    let usedChars = chars;
    for (const { value } of entries) {
      const entry: IndexEntry = JSON.parse(value);
      if (entry.isOpen) openTasks += 1;
      usedChars += entry.reserved;
    }
    if (openTasks >= open) throw tooMany(`${open} tasks that have not ended`, "wait for one of them");
    if (entries.length >= stored) throw tooMany(`${stored} tasks`, "wait until their lifetime is over");
    if (usedChars > mostChars) throw tooMany(`${mostChars} characters of tasks`, "wait until their lifetime is over");
  }

  /** Writes a new task. Its entry is written first: a process that dies between the two leaves no task that is not counted. */
  async create(key: string, record: TaskRecord): Promise<TaskRecord> {
    await this.hold();
    try {
      const reserved = reservedFor(JSON.stringify(record).length);
      await this.admit(record.caller, reserved);
      const created = { ...record, reserved };
      await this.#writeIndex(key, created);
      if (!(await this.#write(key, created, null)))
        throw new PortolanError("store-failed", "The id of a task was used");
      return created;
    } catch (cause) {
      this.release();
      throw cause;
    }
  }

  /**
   * Changes a task. `update` returns the changed task, or undefined to leave it. It may be called several times, because
   * others change the task too.
   */
  async change(key: string, update: (record: TaskRecord) => TaskRecord | undefined): Promise<TaskChange> {
    for (let tries = 0; tries < maxChangeTries; tries += 1) {
      const text = await this.#storage.kv.get(key);
      if (text === undefined) return { before: undefined, after: undefined };
      const before: TaskRecord = JSON.parse(text);
      let after = update(before);
      if (!after) return { before, after: before };
      const size = reservedFor(JSON.stringify(after).length);
      if (size > before.reserved || hasEnded(after)) {
        if (size > before.reserved) await this.admitGrowth(before, size);
        after = { ...after, reserved: size };
        // A task that grows is counted before it has grown, one that ends is open until it has ended.
        if (!hasEnded(after)) await this.#writeIndex(key, after);
      }
      if (!(await this.#write(key, after, text))) continue;
      if (hasEnded(after)) await this.#writeIndex(key, after);
      this.#tell(key);
      return { before, after };
    }
    throw new PortolanError("store-failed", `A task was changed by others ${maxChangeTries} times in a row`);
  }

  /** Throws if the tasks of a caller may not become so much larger. */
  async admitGrowth({ caller, reserved }: TaskRecord, size: number): Promise<void> {
    const { stored, chars } = this.#settings.perCaller;
    const entries = await this.#storage.kv.list(this.#indexKey(caller, ""), { limit: stored });
    const used = entries.reduce((sum, { value }) => sum + (JSON.parse(value) as IndexEntry).reserved, size - reserved);
    if (used > chars) throw tooMany(`${chars} characters of tasks`, "the result of this one is too large");
  }

  /** Returns the keys of the tasks that have not ended, of all principals. */
  async *open(): AsyncIterable<string> {
    const prefix = `task-index/${this.#prefix}/`;
    let after: string | undefined;
    for (let seen = 0; seen < maxSweptTasks; seen += sweepPageSize) {
      const rows = await this.#storage.kv.list(prefix, { limit: sweepPageSize, ...(after !== undefined && { after }) });
      for (const { value } of rows) {
        const entry: IndexEntry = JSON.parse(value);
        if (entry.isOpen) yield entry.key;
      }
      after = rows[rows.length - 1]?.key;
      if (rows.length < sweepPageSize) return;
    }
  }

  /** Returns whether the process that has a task in memory is there. */
  async isAlive(owner: string): Promise<boolean> {
    if (!this.#isShared) return localOwners.get(this.#storage.kv)?.has(owner) === true;
    return owner === this.owner || (await this.#storage.kv.get(this.#leaseKey(owner))) !== undefined;
  }

  /** Calls back when a task changes, in any process, or may have changed. Returns the function that ends it. */
  watch(key: string, changed: () => void): () => void {
    this.hearOthers();
    const watchers = this.#watchers.get(key) ?? new Set();
    this.#watchers.set(key, watchers.add(changed));
    return () => {
      watchers.delete(changed);
      if (watchers.size === 0 && this.#watchers.get(key) === watchers) this.#watchers.delete(key);
    };
  }

  /** Keeps the lease of this process from now on. Resolves when others can see that it runs. */
  async hold(): Promise<void> {
    this.#held += 1;
    if (!this.#isShared) return;
    this.hearOthers();
    this.#timer ??= unref(setInterval(() => this.#renew(), this.#settings.leaseMs / 3));
    try {
      // A lease that could not be renewed is not one any more.
      if (!this.hasLease || !this.#leasing) this.#leasing = this.#lease();
      await this.#leasing;
    } catch (cause) {
      this.#leasing = undefined;
      this.release();
      throw cause;
    }
  }

  /** Ends what one `hold` began. */
  release(): void {
    this.#held -= 1;
    if (this.#held > 0 || !this.#timer) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#leasing = undefined;
  }

  /** False if others may believe that this process has died, and may have taken its tasks. */
  get hasLease(): boolean {
    return !this.#isShared || performance.now() - this.#renewedAt < this.#settings.leaseMs;
  }

  #renew(): void {
    const hadLease = this.hasLease;
    this.#leasing = this.#lease();
    this.#leasing.then(
      // Changes in the meantime are unknown.
      () => hadLease || this.#touched(undefined),
      this.#report,
    );
  }

  async #lease(): Promise<void> {
    const begun = performance.now();
    await this.#storage.kv.set(this.#leaseKey(this.owner), "", { ttlMs: this.#settings.leaseMs });
    this.#renewedAt = begun;
  }

  /** Tells this and the other processes of a change. */
  #tell(key: string): void {
    this.wake(key);
    if (this.#isShared) this.#storage.bus.publish(this.#topic, `${this.owner} ${key}`).catch(this.#report);
  }

  /** Hears of the changes of other processes from now on. Resolves when none is missed any more. */
  hearOthers(): Promise<unknown> | undefined {
    if (!this.#isShared || this.#subscribing) return this.#subscribing;
    const receive = (message: string) => {
      const [owner, key] = message.split(" ");
      if (owner !== this.owner) this.#touched(key);
    };
    this.#subscribing = this.#storage.bus
      .subscribe(this.#topic, receive, () => this.#touched(undefined))
      .catch((cause) => {
        this.#subscribing = undefined;
        this.#report(cause);
      });
    return this.#subscribing;
  }

  /** Takes the news that a task was changed elsewhere; undefined if any may have been. */
  #touched(key: string | undefined): void {
    for (const each of key === undefined ? [...this.#watchers.keys()] : [key]) this.wake(each);
    this.#changedElsewhere(key);
  }

  /** Wakes those in this process who wait for changes of a task. */
  wake(key: string): void {
    for (const changed of [...(this.#watchers.get(key) ?? [])]) changed();
  }

  async #writeIndex(key: string, record: TaskRecord): Promise<void> {
    const entry: IndexEntry = { reserved: record.reserved, isOpen: !hasEnded(record), key };
    const options = { ttlMs: keptMs(record) };
    await this.#storage.kv.set(this.#indexKey(record.caller, record.id), JSON.stringify(entry), options);
  }

  #write(key: string, record: TaskRecord, expect: string | null): Promise<boolean> {
    return this.#storage.kv.set(key, JSON.stringify(record), { expect, ttlMs: keptMs(record) });
  }

  async #keysOf(principalKey: string): Promise<string> {
    return `task/${this.#prefix}/${await sha256(principalKey)}/`;
  }

  #indexKey(caller: string, id: string): string {
    return `task-index/${this.#prefix}/${caller}/${id}`;
  }

  #leaseKey(owner: string): string {
    return `task-process/${owner}`;
  }

  get #topic(): string {
    return `task/${this.#prefix}`;
  }
}

/** Makes an id that nobody can guess. */
export function createTaskId(bytes: number): string {
  return toBase64url(crypto.getRandomValues(new Uint8Array(bytes)));
}

function keptMs({ createdAt, ttlMs }: TaskRecord): number {
  return Math.max(1, createdAt + ttlMs + retentionMs - Date.now());
}

function reservedFor(length: number): number {
  return Math.ceil(length / sizeStep) * sizeStep;
}

function tooMany(what: string, advice: string) {
  return limitExceeded(`Limit reached: one caller may have ${what}; ${advice}`);
}

function unref<T>(timer: T): T {
  (timer as { unref?: () => void }).unref?.();
  return timer;
}
