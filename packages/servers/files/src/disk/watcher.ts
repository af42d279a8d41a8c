import type { Stats } from "node:fs";
import { lstat } from "node:fs/promises";
import type { FSWatcher } from "chokidar";
import type { Jail } from "../jail/jail.ts";
import { type Root, segmentsBelow } from "../jail/roots.ts";
import type { Desk } from "../workspace.ts";

/** What happened to a file or folder. */
export interface FileChange {
  readonly real: string;
  /** It came or went, so that lists differ. */
  readonly isListChange: boolean;
}

/** How long the watcher may be deaf to a file after it told of it. */
const deafMs = 120;

/** How long a caller waits for the watcher to know its files. */
const patienceMs = 10_000;

/** Looks again at files that were told of: what happens to one soon after is not told by the watcher. */
class Echo {
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
    }, deafMs).unref();
  }
}

/** Hears of changes below a real path; the watcher is loaded when somebody first listens. */
export async function watchBelow(
  desk: Desk,
  jail: Jail,
  root: Root,
  real: string,
  hear: (change: FileChange) => void,
): Promise<() => void> {
  const { watch } = await import("chokidar");
  const { limits, signal } = desk.settings;
  const counted = new Set<string>();
  const isIgnored = (path: string, isKnown: boolean): boolean => {
    const segments = segmentsBelow(root.real, path);
    if (!segments?.every((name) => jail.isNameShown(name) && !desk.isIgnored(name))) return true;
    // Each watched path costs the system something: there is an end to it.
    if (isKnown && counted.size < limits.watched) counted.add(path);
    return isKnown && !counted.has(path);
  };
  const watcher: FSWatcher = watch(real, {
    ignoreInitial: true,
    persistent: false,
    followSymlinks: false,
    depth: limits.depth,
    // Links are not followed, and are nothing that could be listed.
    ignored: (path, stats) => stats?.isSymbolicLink() === true || isIgnored(path, stats !== undefined),
  });
  const stop = () => {
    signal?.removeEventListener("abort", stop);
    watcher.close().catch(() => {
      // Nothing is left to tell it to.
    });
  };
  signal?.addEventListener("abort", stop);
  const told = new Echo((real) => hear({ real, isListChange: false }));
  watcher.on("all", (event, path, stats) => {
    if (event === "unlink" || event === "unlinkDir") counted.delete(path);
    hear({ real: path, isListChange: event !== "change" });
    if (event === "add" || event === "change") told.look(path, stats);
  });
  // What cannot be watched, such as one folder too many for the system, is read all the same.
  let isTold = false;
  watcher.on("error", (reason) => {
    if (!isTold) console.error(`Cannot watch everything below ${real}: ${String(reason)}`);
    isTold = true;
  });
  await new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, patienceMs);
    watcher.once("ready", () => {
      clearTimeout(timer);
      resolve();
    });
  });
  if (signal?.aborted) stop();
  return stop;
}
