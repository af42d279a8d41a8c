import { type RequestContext, ToolError } from "portolan/server";
import type { GitLimits } from "../options.ts";
import { quote } from "./names.ts";
import { Repository, type RepositorySettings } from "./repository.ts";

/** The repositories of a server, by the names that tools use. */
export class Repositories {
  readonly names: readonly string[];
  readonly limits: GitLimits;
  readonly #shared: RepositorySettings;
  readonly #roots: ReadonlyMap<string, string>;
  readonly #lastChange = new Map<string, Promise<unknown>>();
  readonly #moved: () => void;

  /** `moved` is called after a call that may have changed the latest commits. */
  constructor(shared: RepositorySettings, roots: ReadonlyMap<string, string>, moved: () => void) {
    this.names = [...roots.keys()];
    this.limits = shared.limits;
    this.#shared = shared;
    this.#roots = roots;
    this.#moved = moved;
  }

  /** Checks and opens a repository for one call that only reads. */
  open(name: string | undefined, signal: AbortSignal): Promise<Repository> {
    const { key, root } = this.#find(name);
    return Repository.open(key, root, this.#shared, signal);
  }

  /**
   * Opens these repositories and reads from each; one that fails does not hide the others, and is reported as a log
   * message. Throws if all fail.
   */
  async readEach<T>(
    names: readonly string[],
    ctx: Pick<RequestContext<undefined>, "signal" | "log">,
    read: (repository: Repository) => Promise<T>,
  ): Promise<T[]> {
    const found: T[] = [];
    const failures: ToolError[] = [];
    for (const name of names) {
      try {
        found.push(await read(await this.open(name, ctx.signal)));
      } catch (reason) {
        if (!(reason instanceof ToolError)) throw reason;
        failures.push(reason);
      }
    }
    const [first] = failures;
    if (first && found.length === 0) throw first;
    for (const { message } of failures) ctx.log("warning", message);
    return found;
  }

  /** Runs `work`, which changes a repository; changes of one repository run one after the other. */
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
      const repository = await Repository.open(key, root, this.#shared, signal);
      return work(repository);
    })();
    this.#lastChange.set(key, mine);
    try {
      return await mine;
    } finally {
      if (this.#lastChange.get(key) === mine) this.#lastChange.delete(key);
    }
  }

  /** Like `change`, for work that may move a branch; clients are notified afterwards. */
  async changeHead<T>(
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
