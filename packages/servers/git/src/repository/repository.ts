import { realpath } from "node:fs/promises";
import { resolve } from "node:path";
import { ToolError } from "portolan/server";
import type { GitLimits, Identity } from "../options.ts";
import { answersTo, hardened, personal, type Setting } from "./hardening.ts";
import { type Depth, isInsideAny, locate, type Place } from "./jail.ts";
import { checkPath, checkRevision, isPlainPath, quote } from "./names.ts";
import { type Program, type Ran, type RunOptions, run } from "./run.ts";

/** What all repositories of a server share. */
export interface Shared {
  readonly program: Program;
  /** Real paths. */
  readonly roots: readonly string[];
  readonly limits: GitLimits;
  readonly identity: Identity | undefined;
}

/** Variables for git. */
type Environment = { readonly [name: string]: string };

/** How one run of git differs from others. */
export interface GitRun {
  readonly input?: string | Uint8Array;
  /** Less than what is read of lists; for patches and files. */
  readonly maxBytes?: number;
  readonly env?: Environment;
}

/** The most that is read of what has to be read whole. */
const maxListBytes = 32 * 1024 * 1024;

/** A repository that was looked through for one call: git runs in it with nothing of its own to say. */
export class Repository {
  readonly name: string;
  readonly place: Place;
  readonly #shared: Shared;
  readonly #signal: AbortSignal;
  readonly #env: Environment;

  private constructor(name: string, place: Place, shared: Shared, signal: AbortSignal, extra: readonly Setting[]) {
    this.name = name;
    this.place = place;
    this.#shared = shared;
    this.#signal = signal;
    this.#env = hardened(shared.program, place, extra);
  }

  /** Looks a repository through and learns what it configures, so that none of it is obeyed. */
  static async open(
    name: string,
    root: string,
    shared: Shared,
    options: { readonly signal: AbortSignal; readonly depth: Depth },
  ): Promise<Repository> {
    const place = await locate(root, shared.roots, options.depth);
    const plain = new Repository(name, place, shared, options.signal, []);
    return new Repository(name, place, shared, options.signal, answersTo(await plain.#configuredKeys()));
  }

  get limits(): GitLimits {
    return this.#shared.limits;
  }

  /** For what cannot be done without files, before the index leads git to them. */
  async expectWorkTree(): Promise<void> {
    if (this.place.workTree === undefined) {
      throw new ToolError(`${this.name} is a bare repository and has no files; log, show and blame work on commits`);
    }
    for (const path of await this.parts(["ls-files", "-z", "--cached"])) {
      if (isPlainPath(path)) continue;
      throw new ToolError(
        `The index of ${this.name} names ${quote(path)}, which is no path inside; ask the user to look`,
      );
    }
  }

  /** Runs git; whatever it says and however it ends. */
  async run(args: readonly string[], options: GitRun = {}): Promise<Ran> {
    const { program, limits } = this.#shared;
    const { input, maxBytes = maxListBytes, env = {} } = options;
    const how: RunOptions = {
      cwd: this.place.root,
      env: { ...this.#env, ...env },
      maxBytes,
      timeoutMs: limits.timeoutMs,
      signal: this.#signal,
      ...(input !== undefined && { input }),
    };
    const ran = await run(program.file, ["--no-pager", "--literal-pathspecs", ...args], how);
    if (ran.isTimedOut) {
      throw new ToolError(`git ${args[0]} took longer than ${limits.timeoutMs} ms; ask for less, such as one path`);
    }
    return ran;
  }

  /** Runs git and gives what it said; a ToolError with its own words when it fails. */
  async read(args: readonly string[], options: GitRun = {}): Promise<Buffer> {
    const ran = await this.run(args, options);
    if (ran.isCut)
      throw new ToolError(`git ${args[0]} has more to say than can be read; ask for less, such as one path`);
    if (ran.code !== 0) throw failure(args[0] ?? "", ran);
    return ran.stdout;
  }

  /** What git said, as far as it may be told. */
  async atMost(
    maxBytes: number,
    args: readonly string[],
    options: GitRun = {},
  ): Promise<{ bytes: Buffer; isCut: boolean }> {
    const ran = await this.run(args, { ...options, maxBytes });
    if (!ran.isCut && ran.code !== 0) throw failure(args[0] ?? "", ran);
    return { bytes: ran.stdout, isCut: ran.isCut };
  }

  async text(args: readonly string[], options: GitRun = {}): Promise<string> {
    return (await this.read(args, options)).toString();
  }

  /** What git said in parts that are separated by NUL. */
  async parts(args: readonly string[], options: GitRun = {}): Promise<string[]> {
    const parts = (await this.text(args, options)).split("\0");
    if (parts.at(-1) === "") parts.pop();
    return parts;
  }

  /** The hash of the commit that a revision names. */
  async commit(revision: string): Promise<string> {
    const found = await this.find(`${checkRevision(revision)}^{commit}`);
    if (found !== undefined) return found;
    throw new ToolError(`${this.name} has no commit ${quote(revision)}; branches, tags and log list what there is`);
  }

  /** The hash of an object, by a name that was checked before. */
  async find(name: string): Promise<string | undefined> {
    const { code, stdout } = await this.run(["rev-parse", "--verify", "--quiet", "--end-of-options", name]);
    const hash = stdout.toString().trim();
    return code === 0 && /^[0-9a-f]{40,64}$/.test(hash) ? hash : undefined;
  }

  /** The current commit; none where nothing was committed yet. */
  head(): Promise<string | undefined> {
    return this.find("HEAD^{commit}");
  }

  /** The current branch; none where a commit is checked out. */
  async branch(): Promise<string | undefined> {
    const { code, stdout } = await this.run(["symbolic-ref", "--quiet", "--short", "HEAD"]);
    return code === 0 ? stdout.toString().trim() : undefined;
  }

  path(path: string): string {
    return checkPath(path, this.place.root);
  }

  /** Who commits, as variables for git; empty where the repository's own configuration says it. */
  async committer(): Promise<Environment> {
    const { identity, program } = this.#shared;
    const own = await this.#identity(this.#env, []);
    if (own.name !== undefined && own.email !== undefined) return {};
    const users = identity ?? (await this.#identity(personal(program, this.place), ["--global", "--includes"]));
    const { name, email } = { ...users, ...own };
    if (name === undefined || email === undefined) {
      throw new ToolError(
        "git does not know who commits; the user has to set user.name and user.email with git config",
      );
    }
    return { GIT_AUTHOR_NAME: name, GIT_AUTHOR_EMAIL: email, GIT_COMMITTER_NAME: name, GIT_COMMITTER_EMAIL: email };
  }

  async #identity(env: Environment, flags: readonly string[]): Promise<{ name?: string; email?: string }> {
    const { program, limits } = this.#shared;
    const args = ["config", ...flags, "-z", "--get-regexp", "^user\\.(name|email)$"];
    const how = { cwd: this.place.root, env, maxBytes: 100_000, timeoutMs: limits.timeoutMs, signal: this.#signal };
    const { stdout } = await run(program.file, args, how);
    const found: { name?: string; email?: string } = {};
    // Where a key is set several times, the last one counts.
    for (const [, key, value = ""] of stdout.toString().matchAll(/user\.(name|email)\n([^\0]*)\0/g)) {
      if (value.trim() !== "") found[key as keyof typeof found] = value;
    }
    return found;
  }

  async #configuredKeys(): Promise<string[]> {
    const listed = await this.parts(["config", "--list", "-z", "--show-origin", "--name-only"]);
    const keys: string[] = [];
    const files = new Set<string>();
    let isObeyed = false;
    for (let at = 0; at + 1 < listed.length; at += 2) {
      const [origin = "", key = ""] = listed.slice(at, at + 2);
      if (origin.startsWith("file:")) files.add(origin.slice("file:".length));
      else if (key === "core.hookspath") isObeyed = true;
      keys.push(key);
    }
    // An old git knows nothing of settings in its environment, and would do whatever the repository says.
    if (!isObeyed) throw new ToolError("This git is too old to be used safely; ask the user to install 2.38 or newer");
    for (const file of files) {
      const real = await realpath(resolve(this.place.root, file)).catch(() => undefined);
      if (real === undefined || isInsideAny(this.#shared.roots, real)) continue;
      throw new ToolError(`The configuration of ${this.name} includes ${file}, which lies outside the repositories`);
    }
    return keys;
  }
}

function failure(command: string, { code, stderr }: Ran): ToolError {
  if (/index\.lock|Unable to create .*\.lock/.test(stderr)) {
    return new ToolError(
      "Another git works on this repository, or one was killed; try again, then ask the user to look",
    );
  }
  const words = stderr.replace(/^(?:fatal|error|hint|warning): /gm, "").trim();
  return new ToolError(`git ${command}: ${words.slice(0, 2_000) || `ended with code ${code}`}`);
}
