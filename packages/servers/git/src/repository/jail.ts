import type { Dirent } from "node:fs";
import { lstat, readdir, readFile, realpath } from "node:fs/promises";
import { isAbsolute, join, relative, resolve, sep } from "node:path";
import { ToolError } from "portolan/server";

/** The parts of a repository; all are real paths inside the allowed folders. */
export interface RepositoryLocation {
  readonly root: string;
  /** Undefined in a bare repository. */
  readonly workTree: string | undefined;
  readonly gitDir: string;
  readonly commonDir: string;
}

/**
 * Finds the parts of a repository without git, which would obey its configuration. Throws for anything that leads
 * outside the allowed folders.
 */
export async function locate(root: string, roots: readonly string[], signal: AbortSignal): Promise<RepositoryLocation> {
  if ((await realpath(root).catch(() => undefined)) !== root) {
    throw new ToolError(`${root} was moved; restart the server with its new path`);
  }
  const gitDir = await findGitDir(root, roots);
  const commonDir = await findCommonDir(gitDir, roots);
  const objects = await realInside(join(commonDir, "objects"), roots);
  const borrowed = await alternatesOf(objects, roots, maxAlternates);
  const unused = [gitDir, commonDir].flatMap((folder) => leftOut.map((name) => join(folder, name)));
  await checkLinksBelow([gitDir, commonDir, objects, ...borrowed], { roots, unused, signal });
  return { root, workTree: gitDir === root ? undefined : root, gitDir, commonDir };
}

const maxPointerBytes = 64 * 1024;
const maxAlternates = 5;

async function findGitDir(root: string, roots: readonly string[]): Promise<string> {
  const entry = join(root, ".git");
  const found = await lstat(entry).catch(() => undefined);
  if (found === undefined) {
    if (await isGitDir(root)) return root;
    throw new ToolError(`${root} is not a git repository: expected the folder that contains .git`);
  }
  if (!found.isFile()) return realInside(entry, roots);
  const pointer = found.size > maxPointerBytes ? "" : await readFile(entry, "utf8");
  const target = /^gitdir: (.+?)[\r\n]*$/s.exec(pointer)?.[1];
  if (target === undefined)
    throw new ToolError(`${entry}: expected a folder, or a file with the line gitdir: <folder>`);
  return realInside(resolve(root, target), roots);
}

async function isGitDir(folder: string): Promise<boolean> {
  const parts = await Promise.all(
    ["HEAD", "objects", "refs"].map((part) => lstat(join(folder, part)).catch(() => null)),
  );
  return parts.every((part) => part !== null);
}

async function findCommonDir(gitDir: string, roots: readonly string[]): Promise<string> {
  const pointer = join(gitDir, "commondir");
  const found = await lstat(pointer).catch(() => undefined);
  if (found === undefined) return gitDir;
  if (!found.isFile() || found.size > maxPointerBytes) throw new ToolError(`${pointer}: expected a short file`);
  return realInside(resolve(gitDir, (await readFile(pointer, "utf8")).replace(/[\r\n]+$/, "")), roots);
}

async function realInside(path: string, roots: readonly string[]): Promise<string> {
  const real = await realpath(path).catch(() => undefined);
  if (real === undefined) throw new ToolError(`${path}: expected a folder of a git repository, found nothing`);
  if (isInsideAny(roots, real)) return real;
  throw new ToolError(
    `${path} leads to ${real}, outside the repositories of this server; also pass that repository when you start the server`,
  );
}

/** Returns the folders of borrowed objects, which must belong to repositories that are allowed, too. */
async function alternatesOf(objects: string, roots: readonly string[], depth: number): Promise<string[]> {
  const file = join(objects, "info/alternates");
  // The file itself may be a link that leads outside.
  if (!(await lstat(file).catch(() => undefined))) return [];
  const real = await realInside(file, roots);
  if ((await lstat(real)).size > maxPointerBytes) throw new ToolError(`${file}: expected a short file`);
  const listed = await readFile(real, "utf8");
  const found: string[] = [];
  for (const line of listed.split("\n")) {
    if (line === "" || line.startsWith("#")) continue;
    if (line.startsWith('"')) throw new ToolError(`${file}: expected plain paths, got ${line.slice(0, 100)}`);
    const borrowed = await realInside(resolve(objects, line), roots);
    if (depth === 0) throw new ToolError(`${file}: expected a chain of at most ${maxAlternates} repositories`);
    found.push(borrowed, ...(await alternatesOf(borrowed, roots, depth - 1)));
  }
  return found;
}

/** Folders of a git directory that are never used: those of submodules, hooks and large files. */
const leftOut = ["modules", "hooks", "lfs"];
/** Folders that are read at the same time. */
const atOnce = 16;
/** Files and folders of one repository that are checked in a call. */
const maxChecked = 1_000_000;

/**
 * Rejects links that lead outside, at any depth: git reads through a link such as a branch, and writes through one such
 * as a log.
 */
async function checkLinksBelow(
  starts: readonly string[],
  { roots, unused, signal }: { roots: readonly string[]; unused: readonly string[]; signal: AbortSignal },
): Promise<void> {
  const seen = new Set(unused);
  const waiting: string[] = [];
  const enter = (folder: string) => {
    if (!seen.has(folder)) waiting.push(folder);
    seen.add(folder);
  };
  starts.forEach(enter);
  let checked = 0;
  while (waiting.length > 0) {
    signal.throwIfAborted();
    const folders = waiting.splice(-atOnce);
    const listed = await Promise.all(folders.map((folder) => entriesOf(folder)));
    for (const [at, entries] of listed.entries()) {
      const folder = folders[at] ?? "";
      checked += entries.length;
      if (checked > maxChecked) {
        throw new ToolError(`${folder}: the repository has more than ${maxChecked} internal files; run git gc in it`);
      }
      for (const entry of entries) {
        const path = join(folder, entry.name);
        if (entry.isDirectory()) enter(path);
        // A link may lead to another folder inside, which can have links itself.
        if (entry.isSymbolicLink()) enter(await realInside(path, roots));
      }
    }
  }
}

/** Returns the entries of a folder; none if it vanished or is no folder. Any other failure leaves links unchecked. */
async function entriesOf(folder: string): Promise<Dirent[]> {
  try {
    return await readdir(folder, { withFileTypes: true });
  } catch (reason) {
    const { code } = reason as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") return [];
    throw new ToolError(`${folder}: cannot be checked for links (${code}); ask the user to check its permissions`);
  }
}

/** Returns true if a real path is this folder or below it; compares whole names, so /work-evil is not below /work. */
export function isInside(folder: string, path: string): boolean {
  const rest = relative(folder, path);
  return rest !== ".." && !rest.startsWith(`..${sep}`) && !isAbsolute(rest);
}

/** Returns true if a real path is in one of these folders. */
export function isInsideAny(folders: readonly string[], path: string): boolean {
  return folders.some((folder) => isInside(folder, path));
}
