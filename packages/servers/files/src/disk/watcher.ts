import type { Stats } from "node:fs";
import { lstat } from "node:fs/promises";
import type { FSWatcher } from "chokidar";
import { RpcError } from "portolan/server";
import { type Jail, type Root, segmentsBelow } from "portolan-server-kit/files";
import type { Limits, Settings } from "../options.ts";

/** A change of a file or folder. */
export interface FileChange {
  readonly real: string;
  /** True if an entry was added or removed. */
  readonly isListChange: boolean;
}

/** For this long chokidar may miss changes of a file after it reported one. */
const blindMs = 120;

/** How long a caller waits for the watcher's first scan. */
const readyTimeoutMs = 10_000;

/** Checks reported files again, because chokidar misses changes soon after a report. */
class Recheck {
  readonly #seen = new Map<string, Stats | undefined>();
  readonly #tell: (real: string) => void;

  constructor(tell: (real: string) => void) {
    this.#tell = tell;
  }

  look(real: string, stats: Stats | undefined): void {
    const isWaiting = this.#seen.has(real);
    this.#seen.set(real, stats);
    if (!isWaiting) this.#wait(real);
  }

  #wait(real: string): void {
    setTimeout(async () => {
      const now = await lstat(real).catch(() => undefined);
      const seen = this.#seen.get(real);
      if (now && !(now.mtimeMs === seen?.mtimeMs && now.size === seen.size && now.ino === seen.ino)) {
        this.#seen.set(real, now);
        this.#tell(real);
        this.#wait(real);
      } else this.#seen.delete(real);
    }, blindMs).unref();
  }
}

/** A place to watch: a real path below a served folder. */
export interface WatchedPlace {
  readonly jail: Jail;
  readonly root: Root;
  readonly real: string;
}

interface Holder {
  readonly caller: string | undefined;
  readonly hear: (change: FileChange) => void;
}

/**
 * The watchers of a server, within limits of watched paths for each caller and for all of them. Subscriptions to one real
 * path share a watcher, whatever their URIs look like.
 */
export class Watchers {
  readonly #settings: Settings;
  readonly #shared = new Map<string, SharedWatcher>();
  readonly #paths: PathBudget;

  constructor(settings: Settings) {
    this.#settings = settings;
    this.#paths = new PathBudget(settings.limits);
  }

  /** The number of watched paths. */
  get watched(): number {
    return this.#paths.total;
  }

  /**
   * Reports changes below a real path to `hear`. Returns a function that ends it; the watcher stops with its last holder.
   * Throws an RpcError if it would watch more paths than `caller`, or all callers together, may.
   */
  async hold(place: WatchedPlace, caller: string | undefined, hear: Holder["hear"]): Promise<() => void> {
    const key = `${place.root.real}\0${place.real}`;
    const shared = this.#shared.get(key) ?? new SharedWatcher(place, this.#settings, this.#paths, caller);
    this.#shared.set(key, shared);
    const holder = { caller, hear };
    shared.add(holder);
    const release = () => {
      if (shared.remove(holder) && this.#shared.get(key) === shared) this.#shared.delete(key);
    };
    try {
      await shared.started;
    } catch (reason) {
      release();
      throw reason;
    }
    return release;
  }
}

/** Counts watched paths, each of which uses memory and resources of the system. */
class PathBudget {
  readonly #limits: Limits;
  readonly #callers = new Map<string, number>();
  total = 0;

  constructor(limits: Limits) {
    this.#limits = limits;
  }

  /** Counts a path of a caller. Returns why it may not be watched; undefined if it may. */
  take(caller: string | undefined): string | undefined {
    const { watchedPerCaller, watchedInAll } = this.#limits;
    if (this.total >= watchedInAll) return `this server watches ${watchedInAll} files and folders, the most it may`;
    if (caller !== undefined && (this.#callers.get(caller) ?? 0) >= watchedPerCaller) {
      return `the subscriptions of this caller watch ${watchedPerCaller} files and folders, the most they may`;
    }
    this.add(caller, 1);
    return undefined;
  }

  add(caller: string | undefined, paths: number): void {
    this.total += paths;
    if (caller === undefined) return;
    const sum = (this.#callers.get(caller) ?? 0) + paths;
    if (sum > 0) this.#callers.set(caller, sum);
    else this.#callers.delete(caller);
  }
}

/** One watcher for all subscriptions to a real path; chokidar is loaded at the first use. */
class SharedWatcher {
  readonly started: Promise<void>;
  readonly #place: WatchedPlace;
  readonly #settings: Settings;
  readonly #budget: PathBudget;
  readonly #holders = new Set<Holder>();
  readonly #paths = new Set<string>();
  readonly #recheck = new Recheck((real) => this.#tell({ real, isListChange: false }));
  /** The caller whose paths these are: the first of the holders. */
  #payer: string | undefined;
  #watcher: FSWatcher | undefined;
  #isStopped = false;
  #isStarted = false;
  #isReported = false;
  #refuse: (why: string) => void = () => {};

  constructor(place: WatchedPlace, settings: Settings, budget: PathBudget, payer: string | undefined) {
    this.#place = place;
    this.#settings = settings;
    this.#budget = budget;
    this.#payer = payer;
    this.started = this.#start();
    this.started.catch(() => {});
  }

  add(holder: Holder): void {
    this.#holders.add(holder);
  }

  /** Removes a holder. Returns true if it was the last one, and stops the watcher then. */
  remove(holder: Holder): boolean {
    this.#holders.delete(holder);
    const [first] = this.#holders;
    if (!first) {
      this.#stop();
      return true;
    }
    const isPaid = [...this.#holders].some(({ caller }) => caller === this.#payer);
    if (!isPaid) {
      this.#budget.add(this.#payer, -this.#paths.size);
      this.#payer = first.caller;
      this.#budget.add(this.#payer, this.#paths.size);
    }
    return false;
  }

  async #start(): Promise<void> {
    const { watch } = await import("chokidar");
    const { limits, signal } = this.#settings;
    const { real } = this.#place;
    if (this.#isStopped || signal?.aborted) return;
    await new Promise<void>((resolve, reject) => {
      const timer = setTimeout(resolve, readyTimeoutMs);
      this.#refuse = (why) => {
        clearTimeout(timer);
        const advice = "end other subscriptions, or subscribe to a smaller folder";
        reject(new RpcError(1_001, `${real} is not watched: ${why}; ${advice}`));
      };
      const watcher = watch(real, {
        ignoreInitial: true,
        persistent: false,
        followSymlinks: false,
        depth: limits.depth,
        // Links are not followed and never listed.
        ignored: (path, stats) => stats?.isSymbolicLink() === true || this.#isIgnored(path, stats !== undefined),
      });
      this.#watcher = watcher;
      signal?.addEventListener("abort", this.#stop);
      watcher.on("all", (event, path, stats) => {
        if ((event === "unlink" || event === "unlinkDir") && this.#paths.delete(path)) {
          this.#budget.add(this.#payer, -1);
        }
        this.#tell({ real: path, isListChange: event !== "change" });
        if (event === "add" || event === "change") this.#recheck.look(path, stats);
      });
      // A path that cannot be watched, for example because of a system limit, can still be read.
      watcher.on("error", (reason) => this.#report(String(reason)));
      watcher.once("ready", () => {
        clearTimeout(timer);
        resolve();
      });
    }).catch((reason) => {
      this.#stop();
      throw reason;
    });
    this.#isStarted = true;
  }

  #isIgnored(path: string, isKnown: boolean): boolean {
    const { jail, root } = this.#place;
    const { limits, ignore } = this.#settings;
    const segments = segmentsBelow(root.real, path);
    if (!segments?.every((name) => jail.isNameShown(name) && !ignore.has(name))) return true;
    if (!isKnown || this.#paths.has(path)) return false;
    if (this.#isStopped || this.#paths.size >= limits.watched) return true;
    const why = this.#budget.take(this.#payer);
    if (why === undefined) {
      this.#paths.add(path);
      return false;
    }
    // A watcher that has begun goes on with the paths that it has.
    if (this.#isStarted) this.#report(why);
    else this.#refuse(why);
    return true;
  }

  #tell(change: FileChange): void {
    for (const { hear } of this.#holders) hear(change);
  }

  #report(why: string): void {
    if (!this.#isReported) console.error(`Cannot watch everything below ${this.#place.real}: ${why}`);
    this.#isReported = true;
  }

  readonly #stop = (): void => {
    if (this.#isStopped) return;
    this.#isStopped = true;
    this.#settings.signal?.removeEventListener("abort", this.#stop);
    this.#budget.add(this.#payer, -this.#paths.size);
    this.#paths.clear();
    this.#watcher?.close().catch(() => {
      // Closing: nothing can be done about a failure.
    });
  };
}
