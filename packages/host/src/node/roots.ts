import { access, constants, stat } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import type { Clock } from "portolan/client";
import type { RootDefinition } from "../answers/forms.ts";
import { rootCheckMs } from "../limits.ts";

/** Returns a watch over no directories yet. `changed` is called when a directory appears or disappears. */
export function watchRoots(clock: Clock, changed: () => void): RootWatch {
  return new RootWatch(clock, changed);
}

/** Checks which directories exist and can be read, again and again. */
export class RootWatch {
  readonly #clock: Clock;
  readonly #changed: () => void;
  #roots: readonly RootDefinition[] = [];
  #present: ReadonlySet<string> = new Set();
  #stop: (() => void) | undefined;
  #isOver = false;

  constructor(clock: Clock, changed: () => void) {
    this.#clock = clock;
    this.#changed = changed;
  }

  /** The directories that exist. */
  get present(): readonly RootDefinition[] {
    return this.#roots.filter(({ uri }) => this.#present.has(uri));
  }

  async set(roots: readonly RootDefinition[]): Promise<void> {
    this.#roots = roots;
    await this.#look();
    this.#wait();
  }

  end(): void {
    this.#isOver = true;
    this.#stop?.();
  }

  #wait(): void {
    // One timer, even after several concurrent checks.
    this.#stop?.();
    if (this.#isOver || this.#roots.length === 0) return;
    // Polling, because file watchers miss network drives and directories that do not exist yet.
    this.#stop = this.#clock.after(rootCheckMs, async () => {
      if (await this.#look()) this.#changed();
      this.#wait();
    });
  }

  /** Checks all directories. Returns true if the result changed. */
  async #look(): Promise<boolean> {
    const roots = this.#roots;
    const uris = roots.map(({ uri }) => uri);
    const areThere = await Promise.all(uris.map(isReadable));
    // Replaced meanwhile; the call that set the new ones checks them.
    if (roots !== this.#roots) return false;
    const present = new Set(uris.filter((_, at) => areThere[at]));
    const isSame =
      present.size === this.#present.size && uris.every((uri) => present.has(uri) === this.#present.has(uri));
    this.#present = present;
    return !isSame;
  }
}

async function isReadable(uri: string): Promise<boolean> {
  try {
    const path = fileURLToPath(uri);
    await access(path, constants.R_OK);
    return (await stat(path)).isDirectory();
  } catch {
    return false;
  }
}

/** Returns the project of a directory: the nearest parent with a repository, or the directory itself. */
export async function findWorkspace(directory: string): Promise<RootDefinition> {
  const start = resolve(directory);
  for (let path = start; ; path = dirname(path)) {
    // `.git` is a file in worktrees and submodules.
    if (await stat(join(path, ".git")).catch(() => undefined)) return rootAt(path);
    if (path === dirname(path)) return rootAt(start);
  }
}

function rootAt(path: string): RootDefinition {
  return { uri: pathToFileURL(path).href, name: basename(path) || path };
}
