import { constants as flags, fstatSync, lstatSync, type Stats } from "node:fs";
import { type FileHandle, lstat, mkdir, realpath, stat } from "node:fs/promises";
import { basename, dirname, isAbsolute, join, normalize, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { ToolError } from "portolan/server";
import { bestHolding, type Folder, type Holding, openByPath, openFolder, PathChanged } from "./folder.ts";
import { nameProblem, pathProblem } from "./names.ts";
import { isSpecial, type Root, segmentsBelow } from "./roots.ts";

/** A resolved path inside a root. */
export interface Place {
  readonly root: Root;
  /** The existing part, without links. */
  readonly real: string;
  /** Names at the end that do not exist yet. */
  readonly missing: readonly string[];
  /** The path to show to callers. */
  readonly path: string;
}

/** Returns the real path, including the part that does not exist yet. */
export function fullPath({ real, missing }: Place): string {
  return join(real, ...missing);
}

/** An open file that is proven to be the requested one. */
export interface OpenFile {
  readonly handle: FileHandle;
  readonly stats: Stats;
  readonly place: Place;
}

export interface JailOptions {
  readonly hidden: boolean;
  readonly holding?: Holding;
  /** Why there may be no folders, for the error of every access. */
  readonly whyEmpty?: string;
}

/** Thrown for a folder where a file was expected. */
export class IsFolderError extends ToolError {}

const attempts = 8;
const openOne = "it has no roots. Ask the user to open a folder";

/** The folders of a caller, and the only access to their content. */
export class Jail {
  readonly roots: readonly Root[];
  readonly #hidden: boolean;
  readonly #holding: Holding;
  readonly #whyEmpty: string;

  constructor(roots: readonly Root[], { hidden, holding = bestHolding, whyEmpty = openOne }: JailOptions) {
    this.roots = roots;
    this.#whyEmpty = whyEmpty;
    this.#hidden = hidden;
    this.#holding = holding;
  }

  /** Returns true if a path means the list of several roots, not something in one of them. */
  isTop(path: string): boolean {
    return this.roots.length > 1 && isTopName(path);
  }

  /** Returns the reason why this caller has no folder at all; undefined if it has one. */
  get emptiness(): string | undefined {
    return this.roots.length === 0 ? `No folder is served to this client: ${this.#whyEmpty}` : undefined;
  }

  isNameShown(name: string): boolean {
    return nameProblem(name, this.#hidden, process.platform) === undefined;
  }

  /** Returns the path to show to callers, who can pass it back. */
  pathOf(root: Root, real: string): string {
    const segments = segmentsBelow(root.real, real) ?? [];
    return [...(this.roots.length > 1 ? [root.name] : []), ...segments].join("/") || ".";
  }

  /** Resolves a path with its links; with `follow: false` a link at the end is not followed. */
  async locate(path: string, { follow = true }: { follow?: boolean } = {}): Promise<Place> {
    const { root, segments } = this.#parse(path);
    const lexical = join(root.real, ...segments);
    if (segments.length === 0 && !follow)
      throw new ToolError(`${path}: the served folder itself cannot be moved or removed`);
    const { real, missing } = follow
      ? await deepest(path, lexical)
      : await deepest(path, dirname(lexical)).then((found) => withName(path, found, basename(lexical)));
    const inside = this.#rootOf(real);
    if (!inside) throw leadsOutside(path);
    for (const name of [...inside.segments, ...missing]) this.#checkName(path, name);
    return { root: inside.root, real, missing, path: this.pathOf(inside.root, join(real, ...missing)) };
  }

  /** Holds an existing folder while `use` runs. */
  async inFolder<T>(path: string, use: (folder: Folder, place: Place) => Promise<T>): Promise<T> {
    const [folder, place] = await retryOnChange(path, async () => {
      const found = await this.locate(path);
      if (found.missing.length > 0) throw notThere(found.path);
      return [await openFolder(found.real, this.#holding), found] as const;
    });
    return use(folder, place).finally(() => folder.close());
  }

  /** Holds the parent folder of an entry while `use` runs; `make` creates missing folders. */
  async atEntry<T>(
    path: string,
    { follow = true, make = false }: { follow?: boolean; make?: boolean },
    use: (folder: Folder, name: string, place: Place) => Promise<T>,
  ): Promise<T> {
    const [folder, name, place] = await retryOnChange(path, () => this.#openEntry(path, follow, make));
    return use(folder, name, place).finally(() => folder.close());
  }

  async #openEntry(path: string, follow: boolean, make: boolean): Promise<readonly [Folder, string, Place]> {
    const place = await this.locate(path, { follow });
    const { real, missing, root } = place;
    if (missing.length === 0) {
      if (real === root.real)
        throw new ToolError(`${path}: expected a path inside the served folder, not the folder itself`);
      return [await openFolder(dirname(real), this.#holding), basename(real), place];
    }
    const name = missing.at(-1) ?? "";
    if (missing.length > 1 && !make) throw notThere(place.path);
    let folder = await openFolder(real, this.#holding);
    for (const next of missing.slice(0, -1)) {
      const parent = folder;
      try {
        folder = await makeFolder(parent, next);
      } finally {
        await parent.close();
      }
    }
    return [folder, name, place];
  }

  /** Opens a regular file; the caller closes it. */
  openFile(path: string): Promise<OpenFile> {
    return retryOnChange(path, async () => {
      const place = await this.locate(path);
      const { real, missing } = place;
      if (missing.length > 0) throw notThere(place.path);
      // Synchronous on purpose: the kernel has just cached this path, and two fewer thread-pool trips make reads faster.
      expectRegular(lstatSync(real), place.path);
      return { ...(await provenRegular(await openByPath(real, this.#holding), place.path)), place };
    });
  }

  #parse(path: string): { root: Root; segments: string[] } {
    const problem = pathProblem(path);
    if (problem) throw new ToolError(`The path ${problem}`);
    if (this.emptiness !== undefined) throw new ToolError(this.emptiness);
    const named = path.startsWith("file:") ? pathOfUri(path) : path;
    if (isAbsolute(named)) {
      const found = this.#rootOf(normalize(named), true);
      if (!found) throw this.#outside(path);
      return this.#checked(path, found);
    }
    const separator = process.platform === "win32" ? /[/\\]/ : "/";
    const parts = normalize(named)
      .split(separator)
      .filter((name) => name !== "" && name !== ".");
    if (parts[0] === "..") throw this.#outside(path);
    const [only, ...others] = this.roots;
    if (only && others.length === 0) return this.#checked(path, { root: only, segments: parts });
    const root = this.roots.find(({ name }) => name === parts[0]);
    if (!root) throw this.#outside(path);
    return this.#checked(path, { root, segments: parts.slice(1) });
  }

  #checked(path: string, found: { root: Root; segments: string[] }): { root: Root; segments: string[] } {
    for (const name of found.segments) this.#checkName(path, name);
    return found;
  }

  #checkName(path: string, name: string): void {
    const problem = nameProblem(name, this.#hidden, process.platform);
    if (problem) throw new ToolError(`${path}: ${JSON.stringify(name)} ${problem}`);
  }

  /** Returns the innermost root that contains a path. */
  #rootOf(path: string, asGiven = false): { root: Root; segments: string[] } | undefined {
    if (isSpecial(path)) return undefined;
    const found = this.roots.flatMap((root) => {
      const segments = segmentsBelow(root.real, path) ?? (asGiven ? segmentsBelow(root.given, path) : undefined);
      return segments ? [{ root, segments }] : [];
    });
    return found.sort((a, b) => a.segments.length - b.segments.length)[0];
  }

  #outside(path: string): ToolError {
    const [only, ...others] = this.roots;
    const names = this.roots.map(({ name, real }) => `${name} (${real})`).join(", ");
    const advice =
      only && others.length === 0
        ? `paths are relative to ${only.real}`
        : `paths start with one of the folders: ${names}`;
    return new ToolError(`${path} is outside the served folders; ${advice}`);
  }
}

/** Returns true for the paths that mean everything that is served. */
export function isTopName(path: string): boolean {
  return ["", ".", "/"].includes(path);
}

/** Opens a regular file in a held folder; refuses pipes, sockets and devices before opening them. */
export async function openRegular(
  folder: Folder,
  name: string,
  path: string,
): Promise<{ handle: FileHandle; stats: Stats }> {
  expectRegular(await lstat(folder.at(name)), path);
  return provenRegular(await folder.openFile(name, flags.O_RDONLY), path);
}

/** Checks an open file again, because it may not be the one that was checked before. */
async function provenRegular(handle: FileHandle, path: string): Promise<{ handle: FileHandle; stats: Stats }> {
  try {
    const stats = fstatSync(handle.fd);
    expectRegular(stats, path);
    if (stats.dev === (await kernelDevice))
      throw new ToolError(`${path}: expected a regular file, found a kernel file`);
    return { handle, stats };
  } catch (reason) {
    await handle.close();
    throw reason;
  }
}

/** Device of the /proc file system, wherever it is mounted. */
const kernelDevice: Promise<number | undefined> = stat("/proc/self").then(
  ({ dev }) => dev,
  () => undefined,
);

function expectRegular(stats: Stats, path: string): void {
  if (stats.isFile()) return;
  if (stats.isDirectory()) throw new IsFolderError(`${path} is a folder; list shows its entries`);
  // The entry was not a link when it was resolved.
  if (stats.isSymbolicLink()) throw new PathChanged(path);
  throw new ToolError(`${path} is neither a file nor a folder (a pipe, socket or device); it cannot be used`);
}

/** Creates a folder if needed, and opens it. */
async function makeFolder(parent: Folder, name: string): Promise<Folder> {
  await parent.check();
  await mkdir(parent.at(name)).catch((reason) => {
    if (reason.code !== "EEXIST") throw reason;
  });
  return parent.openFolder(name);
}

/** Retries a few times when a path changes while it is being opened. */
async function retryOnChange<T>(path: string, attempt: () => Promise<T>): Promise<T> {
  for (let left = attempts; ; left -= 1) {
    try {
      return await attempt();
    } catch (reason) {
      const hasChanged = reason instanceof PathChanged || (reason as NodeJS.ErrnoException).code === "ELOOP";
      if (!hasChanged) throw reason;
      if (left === 1) throw new ToolError(`${path} keeps changing while it is being opened; try again later`);
    }
  }
}

function pathOfUri(uri: string): string {
  try {
    return fileURLToPath(uri);
  } catch (cause) {
    throw new ToolError(`${uri}: expected a path, or a file URI of this machine`, { cause });
  }
}

export function notThere(path: string): ToolError {
  return new ToolError(`${path} does not exist; list or find shows the files`);
}

/** Returns the real path of the existing part of a path, and the names after it. */
async function deepest(path: string, lexical: string): Promise<{ real: string; missing: string[] }> {
  const missing: string[] = [];
  for (let current = resolve(lexical); ; current = dirname(current)) {
    try {
      return { real: await realpath(current), missing };
    } catch (reason) {
      const { code } = reason as NodeJS.ErrnoException;
      if (code === "ENOTDIR") throw new ToolError(`${path}: part of the path is a file, not a folder`);
      if (code === "ELOOP") throw leadsOutside(path);
      if (code !== "ENOENT" || current === dirname(current)) throw reason;
    }
    // A dangling link exists although its target does not: a file created through it could be anywhere.
    if (await isThere(current)) throw leadsOutside(path);
    missing.unshift(basename(current));
  }
}

/** Adds an entry name to what `deepest` found; a link is not followed. */
async function withName(
  path: string,
  { real, missing }: { real: string; missing: string[] },
  name: string,
): Promise<{ real: string; missing: string[] }> {
  if (missing.length > 0) return { real, missing: [...missing, name] };
  const entry = join(real, name);
  if (!(await lstat(real)).isDirectory()) throw new ToolError(`${path}: part of the path is a file, not a folder`);
  return (await isThere(entry)) ? { real: entry, missing: [] } : { real, missing: [name] };
}

async function isThere(path: string): Promise<boolean> {
  try {
    await lstat(path);
    return true;
  } catch (reason) {
    const { code } = reason as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") return false;
    throw reason;
  }
}

function leadsOutside(path: string): ToolError {
  return new ToolError(`${path} is reached by a link that leads outside the served folders, or to nothing`);
}
