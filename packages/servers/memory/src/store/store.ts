import { unwatchFile, watch, watchFile } from "node:fs";
import { basename, dirname } from "node:path";
import { holdFileLock } from "portolan/storage/node";
import { itemToRefuse, nextTurn, type QueuedItem } from "portolan-server-kit";
import { type StoreOptions, toStoreOptions } from "../options.ts";
import type { Graph } from "./graph.ts";
import { type Entry, maxHeaderBytes, maxLineBytes } from "./line.ts";
import { FileFullError, LogFile } from "./log-file.ts";
import { type Changes, compare, type Damage, Replica } from "./replica.ts";

/** Computes a change from the current graph: operations to apply, and the result of the call. */
export type ComputeChange<T> = (graph: Graph) => { readonly ops: Entry["ops"]; readonly result: T };

/** A memory in a file that any number of processes can use. */
export interface MemoryStore extends AsyncDisposable {
  /** Returns the current graph of a namespace, with changes of other processes. */
  read(namespace: string): Graph;
  /** Changes a namespace; resolves when the change is on disk. Callers share the queue; `caller` is the key of one. */
  change<T>(namespace: string, work: ComputeChange<T>, signal?: AbortSignal, caller?: string): Promise<T>;
  /** Returns the namespaces that are not empty. */
  namespaces(): ReadonlyMap<string, Graph>;
  state(): { readonly bytes: number; readonly lines: number; readonly damage: readonly Damage[] };
  /** Rewrites the file without obsolete lines; `repair` also drops damaged lines and keeps a copy of the old file. */
  compact(options?: { repair?: boolean }): Promise<void>;
  /** Calls `hear` for every change, also of other processes; returns a function that stops it. */
  onChange(hear: (changes: Changes) => void): () => void;
  close(): Promise<void>;
}

interface QueuedChange extends QueuedItem {
  readonly namespace: string;
  readonly work: ComputeChange<unknown>;
  readonly signal: AbortSignal | undefined;
  resolve(result: unknown): void;
  reject(reason: unknown): void;
}

/** Changes under one hold of the lock. In between, other processes and reading calls have their turn. */
const maxServed = 64;

/** Bytes of changes under one hold of the lock; a single change can be larger. */
const maxServedBytes = 512 * 1024;

/** Too many changes wait for the lock of the file. */
export class QueueFullError extends Error {
  override readonly name = "QueueFullError";
  constructor() {
    super("Too many changes of the memory wait to be written");
  }
}

/** Opens a memory; throws if the file is not a memory file. */
export function openStore(options: Partial<StoreOptions> = {}): MemoryStore {
  return new Store(toStoreOptions(options));
}

class Store implements MemoryStore {
  readonly #options: StoreOptions;
  readonly #log: LogFile;
  readonly #hearers = new Set<(changes: Changes) => void>();
  #replica = new Replica();
  #waiting: QueuedChange[] = [];
  #writing: Promise<void> = Promise.resolve();
  #unwatch: (() => void) | undefined;
  #isLooking = false;
  #isClosed = false;

  constructor(options: StoreOptions) {
    this.#options = options;
    this.#log = new LogFile(options.file);
    this.#refresh();
  }

  read(namespace: string): Graph {
    this.#refresh();
    return this.#replica.graph(namespace);
  }

  namespaces(): ReadonlyMap<string, Graph> {
    this.#refresh();
    return this.#replica.graphs;
  }

  state(): { readonly bytes: number; readonly lines: number; readonly damage: readonly Damage[] } {
    const { size: bytes, lines, damage } = this.#replica;
    return { bytes, lines, damage };
  }

  change<T>(namespace: string, work: ComputeChange<T>, signal?: AbortSignal, caller?: string): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.#makeRoom(caller);
      this.#waiting.push({ namespace, work, signal, caller, resolve: resolve as (result: unknown) => void, reject });
      // Changes that arrive while others wait for the lock share it.
      if (this.#waiting.length === 1) this.#enqueue(() => this.#serveWaiting()).catch(() => {});
    });
  }

  /** Makes room in a full queue: drops cancelled changes, else the newest of the caller that has most. */
  #makeRoom(caller: string | undefined): void {
    const { maxWaiting } = this.#options;
    if (this.#waiting.length < maxWaiting) return;
    for (const { signal, reject } of this.#waiting) if (signal?.aborted) reject(signal.reason);
    this.#waiting = this.#waiting.filter(({ signal }) => signal?.aborted !== true);
    if (this.#waiting.length < maxWaiting) return;
    const refused = itemToRefuse(this.#waiting, caller);
    if (!refused) throw new QueueFullError();
    this.#waiting = this.#waiting.filter((one) => one !== refused);
    refused.reject(new QueueFullError());
  }

  compact({ repair = false }: { repair?: boolean } = {}): Promise<void> {
    return this.#enqueue(() => this.#locked(() => this.#rewrite(repair)));
  }

  onChange(hear: (changes: Changes) => void): () => void {
    this.#hearers.add(hear);
    this.#watch();
    return () => this.#hearers.delete(hear);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#unwatch?.();
    this.#hearers.clear();
    await this.#writing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #enqueue(work: () => Promise<void>): Promise<void> {
    const done = this.#writing.then(work);
    this.#writing = done.catch(() => {});
    return done;
  }

  async #locked<T>(work: () => T): Promise<T> {
    const { lockWaitMs, onProblem } = this.#options;
    const release = await holdFileLock(this.#log.lock, { patienceMs: lockWaitMs, onWait: onProblem });
    try {
      return work();
    } finally {
      release();
    }
  }

  async #serveWaiting(): Promise<void> {
    try {
      await this.#locked(() => {
        this.#serve(this.#nextBatch());
      });
      if (this.#waiting.length === 0) return;
      // Taking the lock may take no turn of the event loop.
      this.#enqueue(() => nextTurn().then(() => this.#serveWaiting())).catch(() => {});
    } catch (reason) {
      const refused = this.#waiting;
      this.#waiting = [];
      for (const { reject } of refused) reject(reason);
    }
  }

  /** Takes the changes that are served next: the first of each caller, then the second of each, and so on. */
  #nextBatch(): QueuedChange[] {
    const counts = new Map<string | undefined, number>();
    const ranked = this.#waiting.map((change) => {
      const rank = counts.get(change.caller) ?? 0;
      counts.set(change.caller, rank + 1);
      return { change, rank };
    });
    const ordered = ranked.sort((a, b) => a.rank - b.rank).map(({ change }) => change);
    this.#waiting = ordered.slice(maxServed);
    return ordered.slice(0, maxServed);
  }

  /**
   * Runs queued changes under the lock, synchronously: nothing may happen between read, write and sync. Changes that are
   * too large together wait again, before the others.
   */
  #serve(batch: readonly QueuedChange[]): void {
    const served: QueuedChange[] = [];
    const answers: (() => void)[] = [];
    const changed = new Map<string, Set<string>>();
    let namesBefore = 0;
    try {
      this.#log.mend();
      this.#refresh();
      namesBefore = this.#names();
      const entries: Entry[] = [];
      const { maxFileBytes } = this.#options;
      const begun = Math.max(this.#replica.size, maxHeaderBytes);
      let bytes = begun;
      for (const change of batch) {
        if (bytes - begun >= maxServedBytes) break;
        served.push(change);
        const { namespace, work, signal, resolve, reject } = change;
        try {
          signal?.throwIfAborted();
          const { ops, result } = work(this.#replica.graph(namespace));
          if (ops.length > 0) {
            const entry = { in: namespace, ops };
            const size = maxLineBytes(entry);
            // Refused alone, before it is applied: the changes of others that fit are written.
            if (bytes + size > maxFileBytes) throw new FileFullError(maxFileBytes);
            bytes += size;
            entries.push(entry);
            this.#replica.apply(entry, changed);
          }
          answers.push(() => resolve(result));
        } catch (reason) {
          answers.push(() => reject(reason));
        }
      }
      this.#waiting = [...batch.slice(served.length), ...this.#waiting];
      if (entries.length > 0) this.#log.append(this.#replica, entries, maxFileBytes);
    } catch (reason) {
      // The applied changes are not in the file: read it again.
      this.#replica = new Replica();
      for (const { reject } of served.length > 0 ? served : batch) reject(reason);
      return;
    }
    for (const answer of answers) answer();
    this.#tell(changed, namesBefore);
    this.#compactIfLarge();
  }

  #compactIfLarge(): void {
    const { size, base, damage } = this.#replica;
    if (damage.length > 0 || size - base < Math.max(this.#options.compactBytes, base)) return;
    try {
      this.#rewrite(false);
    } catch (reason) {
      // The changes are on disk; the file is only larger than necessary.
      this.#options.onProblem(`Could not compact: ${(reason as Error).message}`);
    }
  }

  #rewrite(repair: boolean): void {
    this.#log.mend();
    this.#refresh();
    if (this.#replica.damage.length > 0 && !repair) {
      throw new Error("The memory file is damaged; repair it once with --repair before it can be compacted");
    }
    if (this.#replica.damage.length > 0) this.#log.keepCopy();
    this.#replica = this.#log.replace(this.#replica);
  }

  /** Reads what other processes have written. */
  #refresh(): void {
    const known = this.#replica.damage.length;
    const namesBefore = this.#names();
    const changed = new Map<string, Set<string>>();
    if (!this.#log.follow(this.#replica, changed)) {
      const before = this.#replica;
      this.#replica = this.#log.readAll();
      for (const [namespace, names] of compare(before, this.#replica)) changed.set(namespace, names);
    }
    for (const { line, byte, why } of this.#replica.damage.slice(known)) {
      this.#options.onProblem(`The memory file is damaged: line ${line} (byte ${byte}): ${why}`);
    }
    this.#tell(changed, namesBefore);
  }

  #names(): number {
    let count = 0;
    for (const { entities } of this.#replica.graphs.values()) count += entities.size;
    return count;
  }

  #tell(entities: ReadonlyMap<string, ReadonlySet<string>>, namesBefore: number): void {
    if (entities.size === 0 || this.#hearers.size === 0) return;
    const isListChanged =
      namesBefore !== this.#names() || [...entities].some(([namespace, names]) => this.#isGone(namespace, names));
    for (const hear of this.#hearers) {
      try {
        hear({ entities, isListChanged });
      } catch (reason) {
        // The change is on disk: neither its caller nor the other hearers are told otherwise.
        this.#options.onProblem(`A change could not be announced: ${(reason as Error).message}`);
      }
    }
  }

  #isGone(namespace: string, names: ReadonlySet<string>): boolean {
    const { entities } = this.#replica.graph(namespace);
    return [...names].some((name) => !entities.has(name));
  }

  #watch(): void {
    if (this.#unwatch || this.#isClosed) return;
    const { file } = this.#log;
    const name = basename(file);
    try {
      // Watch the folder, because compaction replaces the file.
      const watcher = watch(dirname(file), { persistent: false }, (_, changed) => {
        if (changed === null || changed === name) this.#lookSoon();
      });
      watcher.on("error", (reason) =>
        this.#options.onProblem(`Changes of other processes are noticed late: ${reason.message}`),
      );
      this.#unwatch = () => watcher.close();
    } catch {
      // The system limits the number of watched folders; polling always works.
      const look = () => this.#lookSoon();
      watchFile(file, { persistent: false, interval: 1_000 }, look);
      this.#unwatch = () => unwatchFile(file, look);
    }
  }

  /** Refreshes once for all events of one turn of the event loop. */
  #lookSoon(): void {
    if (this.#isLooking) return;
    this.#isLooking = true;
    setImmediate(() => {
      this.#isLooking = false;
      if (this.#isClosed) return;
      try {
        this.#refresh();
      } catch (reason) {
        this.#options.onProblem((reason as Error).message);
      }
    });
  }
}
