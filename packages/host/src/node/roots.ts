import { access, constants, stat } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import type { Clock } from "portolan/client";
import type { RootDefinition } from "../answers/forms.ts";
import { rootCheckMs } from "../limits.ts";

/** Which of some directories are there and can be read, looked at again and again. */
export class RootWatch {
  readonly #clock: Clock;
  readonly #changed: () => void;
  #roots: readonly RootDefinition[] = [];
  #present: ReadonlySet<string> = new Set();
  #stop: (() => void) | undefined;
  #isOver = false;

  /** `changed` is called when one has come or gone. */
  constructor(clock: Clock, changed: () => void) {
    this.#clock = clock;
    this.#changed = changed;
  }

  /** Those that are there. */
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
    // There is one timer, however many have looked at once.
    this.#stop?.();
    if (this.#isOver || this.#roots.length === 0) return;
    // Watchers of the system miss what happens on network drives and to directories that are not there yet.
    this.#stop = this.#clock.after(rootCheckMs, async () => {
      if (await this.#look()) this.#changed();
      this.#wait();
    });
  }

  /** Whether anything is not as it was. */
  async #look(): Promise<boolean> {
    const roots = this.#roots;
    const uris = roots.map(({ uri }) => uri);
    const areThere = await Promise.all(uris.map(isReadable));
    // Others have been set meanwhile, and are looked at by whoever set them.
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

/** The project that a directory belongs to: the nearest one above with a repository, or the directory itself. */
export async function findWorkspace(directory: string): Promise<RootDefinition> {
  const start = resolve(directory);
  for (let path = start; ; path = dirname(path)) {
    // A file in worktrees and submodules, a directory elsewhere.
    if (await stat(join(path, ".git")).catch(() => undefined)) return rootAt(path);
    if (path === dirname(path)) return rootAt(start);
  }
}

function rootAt(path: string): RootDefinition {
  return { uri: pathToFileURL(path).href, name: basename(path) || path };
}
