import { realpath } from "node:fs/promises";
import { resolve } from "node:path";
import { ToolError } from "portolan/server";
import type { GitLimits, Identity } from "../options.ts";
import { hardenedEnvironment, overridesFor, type Setting, userEnvironment } from "./hardening.ts";
import { isInsideAny, locate, type RepositoryLocation } from "./jail.ts";
import { checkPath, checkRevision, isPlainPath, quote } from "./names.ts";
import { type Program, type RunOptions, type RunResult, run } from "./run.ts";

/** Settings that all repositories of a server share. */
export interface RepositorySettings {
  readonly program: Program;
  /** Real paths of all allowed folders. */
  readonly roots: readonly string[];
  readonly limits: GitLimits;
  readonly identity: Identity | undefined;
}

type Environment = { readonly [name: string]: string };

/** Options of one run of git. */
export interface GitRunOptions {
  readonly input?: string | Uint8Array;
  /** Default: 32 MiB, for lists that must be read completely. */
  readonly maxBytes?: number;
  readonly env?: Environment;
}

const maxListBytes = 32 * 1024 * 1024;

/** A repository that was checked for one call; its own configuration has no effect on git. */
export class Repository {
  readonly name: string;
  readonly location: RepositoryLocation;
  readonly #shared: RepositorySettings;
  readonly #signal: AbortSignal;
  readonly #env: Environment;

  private constructor(
    name: string,
    location: RepositoryLocation,
    shared: RepositorySettings,
    signal: AbortSignal,
    extra: readonly Setting[],
  ) {
    this.name = name;
    this.location = location;
    this.#shared = shared;
    this.#signal = signal;
    this.#env = hardenedEnvironment(shared.program, location, extra);
  }

  /** Checks a repository and reads its configuration keys, so that all of them can be overridden. */
  static async open(name: string, root: string, shared: RepositorySettings, signal: AbortSignal): Promise<Repository> {
    const location = await locate(root, shared.roots, signal);
    const plain = new Repository(name, location, shared, signal, []);
    return new Repository(name, location, shared, signal, overridesFor(await plain.#configuredKeys()));
  }

  get limits(): GitLimits {
    return this.#shared.limits;
  }

  /** Throws for a bare repository, and for an index with paths that git would follow outside. */
  async expectWorkTree(): Promise<void> {
    if (this.location.workTree === undefined) {
      throw new ToolError(`${this.name} is a bare repository without files; log, show and blame work on commits`);
    }
    for (const path of await this.parts(["ls-files", "-z", "--cached"])) {
      if (isPlainPath(path)) continue;
      throw new ToolError(
        `The index of ${this.name} names ${quote(path)}, which is not a path inside the repository; ask the user to check it`,
      );
    }
  }

  /** Runs git and returns its output and exit code. */
  async run(args: readonly string[], options: GitRunOptions = {}): Promise<RunResult> {
    const { program, limits } = this.#shared;
    const { input, maxBytes = maxListBytes, env = {} } = options;
    const how: RunOptions = {
      cwd: this.location.root,
      env: { ...this.#env, ...env },
      maxBytes,
      timeoutMs: limits.timeoutMs,
      signal: this.#signal,
      ...(input !== undefined && { input }),
    };
    const ran = await run(program.file, ["--no-pager", "--literal-pathspecs", ...args], how);
    if (ran.isTimedOut) {
      throw new ToolError(`git ${args[0]} took longer than ${limits.timeoutMs} ms; request less, such as one path`);
    }
    return ran;
  }

  /** Runs git and returns its output; throws a ToolError with git's message if it fails. */
  async read(args: readonly string[], options: GitRunOptions = {}): Promise<Buffer> {
    const ran = await this.run(args, options);
    if (ran.isCut) throw new ToolError(`git ${args[0]} prints too much; request less, such as one path`);
    if (ran.code !== 0) throw failure(args[0] ?? "", ran);
    return ran.stdout;
  }

  /** Runs git and returns at most `maxBytes` of its output. */
  async atMost(
    maxBytes: number,
    args: readonly string[],
    options: GitRunOptions = {},
  ): Promise<{ bytes: Buffer; isCut: boolean }> {
    const ran = await this.run(args, { ...options, maxBytes });
    if (!ran.isCut && ran.code !== 0) throw failure(args[0] ?? "", ran);
    return { bytes: ran.stdout, isCut: ran.isCut };
  }

  async text(args: readonly string[], options: GitRunOptions = {}): Promise<string> {
    return (await this.read(args, options)).toString();
  }

  /** Runs git and splits its output at NUL. */
  async parts(args: readonly string[], options: GitRunOptions = {}): Promise<string[]> {
    const parts = (await this.text(args, options)).split("\0");
    if (parts.at(-1) === "") parts.pop();
    return parts;
  }

  /** Returns the hash of the commit that a revision names. */
  async commit(revision: string): Promise<string> {
    const found = await this.find(`${checkRevision(revision)}^{commit}`);
    if (found !== undefined) return found;
    throw new ToolError(`${this.name} has no commit ${quote(revision)}; branches, tags and log list the commits`);
  }

  /** Returns the hash of an object; the name must have been checked. */
  async find(name: string): Promise<string | undefined> {
    const { code, stdout } = await this.run(["rev-parse", "--verify", "--quiet", "--end-of-options", name]);
    const hash = stdout.toString().trim();
    return code === 0 && /^[0-9a-f]{40,64}$/.test(hash) ? hash : undefined;
  }

  /** Returns the current commit; undefined before the first commit. */
  head(): Promise<string | undefined> {
    return this.find("HEAD^{commit}");
  }

  /** Returns the current branch; undefined for a detached HEAD. */
  async branch(): Promise<string | undefined> {
    const { code, stdout } = await this.run(["symbolic-ref", "--quiet", "--short", "HEAD"]);
    return code === 0 ? stdout.toString().trim() : undefined;
  }

  path(path: string): string {
    return checkPath(path, this.location.root);
  }

  /** Returns the author as variables for git; empty if the repository's own configuration has one. */
  async committer(): Promise<Environment> {
    const { identity, program } = this.#shared;
    const own = await this.#identity(this.#env, []);
    if (own.name !== undefined && own.email !== undefined) return {};
    const users =
      identity ?? (await this.#identity(userEnvironment(program, this.location), ["--global", "--includes"]));
    const { name, email } = { ...users, ...own };
    if (name === undefined || email === undefined) {
      throw new ToolError(
        "git has no author for the commit; ask the user to set user.name and user.email with git config",
      );
    }
    return { GIT_AUTHOR_NAME: name, GIT_AUTHOR_EMAIL: email, GIT_COMMITTER_NAME: name, GIT_COMMITTER_EMAIL: email };
  }

  async #identity(env: Environment, flags: readonly string[]): Promise<{ name?: string; email?: string }> {
    const { program, limits } = this.#shared;
    const args = ["config", ...flags, "-z", "--get-regexp", "^user\\.(name|email)$"];
    const how = { cwd: this.location.root, env, maxBytes: 100_000, timeoutMs: limits.timeoutMs, signal: this.#signal };
    const { stdout } = await run(program.file, args, how);
    const found: { name?: string; email?: string } = {};
    // If a key is set several times, the last value counts.
    for (const [, key, value = ""] of stdout.toString().matchAll(/user\.(name|email)\n([^\0]*)\0/g)) {
      if (value.trim() !== "") found[key as keyof typeof found] = value;
    }
    return found;
  }

  async #configuredKeys(): Promise<string[]> {
    const listed = await this.parts(["config", "--list", "-z", "--show-origin", "--name-only"]);
    const keys: string[] = [];
    const files = new Set<string>();
    let hasOverrides = false;
    for (let at = 0; at + 1 < listed.length; at += 2) {
      const [origin = "", key = ""] = listed.slice(at, at + 2);
      if (origin.startsWith("file:")) files.add(origin.slice("file:".length));
      else if (key === "core.hookspath") hasOverrides = true;
      keys.push(key);
    }
    // An old git ignores settings in its environment and would obey the repository.
    if (!hasOverrides)
      throw new ToolError("This git is too old to be safe; ask the user to install version 2.38 or newer");
    for (const file of files) {
      const real = await realpath(resolve(this.location.root, file)).catch(() => undefined);
      if (real === undefined || isInsideAny(this.#shared.roots, real)) continue;
      throw new ToolError(`The configuration of ${this.name} includes ${file}, which lies outside the repositories`);
    }
    return keys;
  }
}

function failure(command: string, { code, stderr }: RunResult): ToolError {
  if (/index\.lock|Unable to create .*\.lock/.test(stderr)) {
    return new ToolError(
      "Another git process is using this repository, or one was killed; try again, then ask the user to check",
    );
  }
  const words = stderr.replace(/^(?:fatal|error|hint|warning): /gm, "").trim();
  return new ToolError(`git ${command}: ${words.slice(0, 2_000) || `ended with code ${code}`}`);
}
