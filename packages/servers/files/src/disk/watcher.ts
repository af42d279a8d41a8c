import type { Stats } from "node:fs";
import { lstat } from "node:fs/promises";
import type { FSWatcher } from "chokidar";
import type { Jail } from "../jail/jail.ts";
import { type Root, segmentsBelow } from "../jail/roots.ts";
import type { Workspace } from "../workspace.ts";

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

/** Reports changes below a real path; chokidar is loaded at the first use. Returns a function that stops it. */
export async function watchBelow(
  workspace: Workspace,
  jail: Jail,
  root: Root,
  real: string,
  hear: (change: FileChange) => void,
): Promise<() => void> {
  const { watch } = await import("chokidar");
  const { limits, signal } = workspace.settings;
  const counted = new Set<string>();
  const isIgnored = (path: string, isKnown: boolean): boolean => {
    const segments = segmentsBelow(root.real, path);
    if (!segments?.every((name) => jail.isNameShown(name) && !workspace.isIgnored(name))) return true;
    // Each watched path uses system resources, so their number is limited.
    if (isKnown && counted.size < limits.watched) counted.add(path);
    return isKnown && !counted.has(path);
  };
  const watcher: FSWatcher = watch(real, {
    ignoreInitial: true,
    persistent: false,
    followSymlinks: false,
    depth: limits.depth,
    // Links are not followed and never listed.
    ignored: (path, stats) => stats?.isSymbolicLink() === true || isIgnored(path, stats !== undefined),
  });
  const stop = () => {
    signal?.removeEventListener("abort", stop);
    watcher.close().catch(() => {
      // Closing: nothing can be done about a failure.
    });
  };
  signal?.addEventListener("abort", stop);
  const recheck = new Recheck((real) => hear({ real, isListChange: false }));
  watcher.on("all", (event, path, stats) => {
    if (event === "unlink" || event === "unlinkDir") counted.delete(path);
    hear({ real: path, isListChange: event !== "change" });
    if (event === "add" || event === "change") recheck.look(path, stats);
  });
  // A path that cannot be watched, for example because of a system limit, can still be read.
  let isReported = false;
  watcher.on("error", (reason) => {
    if (!isReported) console.error(`Cannot watch everything below ${real}: ${String(reason)}`);
    isReported = true;
  });
  await new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, readyTimeoutMs);
    watcher.once("ready", () => {
      clearTimeout(timer);
      resolve();
    });
  });
  if (signal?.aborted) stop();
  return stop;
}
