import { ToolError } from "portolan/server";
import type { GitLimits } from "../options.ts";
import { quote } from "./names.ts";
import { Repository, type Shared } from "./repository.ts";

/** The repositories of a server, by the names that tools know them by. */
export class Git {
  readonly names: readonly string[];
  readonly limits: GitLimits;
  readonly #shared: Shared;
  readonly #roots: ReadonlyMap<string, string>;
  readonly #lastChange = new Map<string, Promise<unknown>>();
  readonly #moved: () => void;

  /** `moved` is called after a call that may have changed which commits are the last ones. */
  constructor(shared: Shared, roots: ReadonlyMap<string, string>, moved: () => void) {
    this.names = [...roots.keys()];
    this.limits = shared.limits;
    this.#shared = shared;
    this.#roots = roots;
    this.#moved = moved;
  }

  /** Looks a repository through for one call that only reads. */
  open(name: string | undefined, signal: AbortSignal): Promise<Repository> {
    const { key, root } = this.#find(name);
    return Repository.open(key, root, this.#shared, { signal, depth: "for-reading" });
  }

  /** Does what changes a repository, after whatever else changes it. */
  async change<T>(
    name: string | undefined,
    signal: AbortSignal,
    work: (repository: Repository) => Promise<T>,
  ): Promise<T> {
    const { key, root } = this.#find(name);
    const before = this.#lastChange.get(key);
    const mine = (async () => {
      await before?.catch(() => {});
      signal.throwIfAborted();
      const repository = await Repository.open(key, root, this.#shared, { signal, depth: "for-writing" });
      return work(repository);
    })();
    this.#lastChange.set(key, mine);
    try {
      return await mine;
    } finally {
      if (this.#lastChange.get(key) === mine) this.#lastChange.delete(key);
    }
  }

  /** The same for what may lead to another commit, so that clients look anew. */
  async move<T>(
    name: string | undefined,
    signal: AbortSignal,
    work: (repository: Repository) => Promise<T>,
  ): Promise<T> {
    try {
      return await this.change(name, signal, work);
    } finally {
      this.#moved();
    }
  }

  #find(name = this.names.length === 1 ? this.names[0] : undefined): { key: string; root: string } {
    const root = name === undefined ? undefined : this.#roots.get(name);
    if (name !== undefined && root !== undefined) return { key: name, root };
    const got = name === undefined ? "none" : quote(name);
    throw new ToolError(`repository: expected one of ${this.names.join(", ")}, got ${got}`);
  }
}
