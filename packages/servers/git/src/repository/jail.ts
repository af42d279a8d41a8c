import type { Dirent } from "node:fs";
import { lstat, readdir, readFile, realpath } from "node:fs/promises";
import { isAbsolute, join, relative, resolve, sep } from "node:path";
import { ToolError } from "portolan/server";

/** Where the parts of a repository are; all of them are real paths inside the allowed folders. */
export interface Place {
  readonly root: string;
  /** None in a bare repository. */
  readonly workTree: string | undefined;
  readonly gitDir: string;
  readonly commonDir: string;
}

/** How thoroughly a repository is looked through: before it is changed, also where git only writes. */
export type Depth = "for-reading" | "for-writing";

/**
 * Finds the parts of a repository without git, which would obey its configuration, and refuses whatever leads outside
 * the allowed folders.
 */
export async function locate(root: string, roots: readonly string[], depth: Depth): Promise<Place> {
  if ((await realpath(root).catch(() => undefined)) !== root) {
    throw new ToolError(`${root} is no longer where it was; start the server again with the folder's new place`);
  }
  const gitDir = await findGitDir(root, roots);
  const commonDir = await findCommonDir(gitDir, roots);
  const objects = await realInside(join(commonDir, "objects"), roots);
  await checkAlternates(objects, roots, maxAlternates);
  for (const folder of new Set([gitDir, commonDir])) {
    if (depth === "for-writing") await checkLinksBelow(folder, roots);
    else await checkLinks(folder, roots);
  }
  for (const folder of [objects, join(objects, "pack"), join(objects, "info"), join(commonDir, "info")]) {
    await checkLinks(folder, roots);
  }
  return { root, workTree: gitDir === root ? undefined : root, gitDir, commonDir };
}

const maxPointerBytes = 64 * 1024;
const maxAlternates = 5;

async function findGitDir(root: string, roots: readonly string[]): Promise<string> {
  const entry = join(root, ".git");
  const found = await lstat(entry).catch(() => undefined);
  if (found === undefined) {
    if (await isGitDir(root)) return root;
    throw new ToolError(`${root} is no git repository: expected the folder that .git lies in`);
  }
  if (!found.isFile()) return realInside(entry, roots);
  const pointer = found.size > maxPointerBytes ? "" : await readFile(entry, "utf8");
  const target = /^gitdir: (.+?)[\r\n]*$/s.exec(pointer)?.[1];
  if (target === undefined) throw new ToolError(`${entry}: expected a folder, or a file that says gitdir: <folder>`);
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
    `${path} leads to ${real}, outside the repositories that this server may use; name that repository at the start too`,
  );
}

/** Objects may be borrowed from other repositories, but only from those that are allowed as well. */
async function checkAlternates(objects: string, roots: readonly string[], depth: number): Promise<void> {
  const file = join(objects, "info/alternates");
  const listed = await readFile(file, "utf8").catch(() => "");
  for (const line of listed.split("\n")) {
    if (line === "" || line.startsWith("#")) continue;
    if (line.startsWith('"')) throw new ToolError(`${file}: expected plain paths, got ${line.slice(0, 100)}`);
    const borrowed = await realInside(resolve(objects, line), roots);
    if (depth === 0) throw new ToolError(`${file}: expected at most ${maxAlternates} repositories behind each other`);
    await checkLinks(borrowed, roots);
    await checkLinks(join(borrowed, "pack"), roots);
    await checkAlternates(borrowed, roots, depth - 1);
  }
}

/** git writes through links in its own folder, such as that of a log, so that none may lead outside. */
async function checkLinks(folder: string, roots: readonly string[]): Promise<Dirent[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  for (const entry of entries) if (entry.isSymbolicLink()) await realInside(join(folder, entry.name), roots);
  return entries;
}

/** Submodules and hooks are never used, and objects are checked elsewhere. */
const leftOut = new Set(["objects", "modules", "hooks", "lfs"]);

async function checkLinksBelow(folder: string, roots: readonly string[]): Promise<void> {
  const entries = await checkLinks(folder, roots);
  for (const entry of entries) {
    if (entry.isDirectory() && !leftOut.has(entry.name)) await checkLinksBelow(join(folder, entry.name), roots);
  }
}

/** Whether a real path is this folder or lies below it: compared by names, never by the beginning of the text. */
export function isInside(folder: string, path: string): boolean {
  const rest = relative(folder, path);
  return rest !== ".." && !rest.startsWith(`..${sep}`) && !isAbsolute(rest);
}

/** Whether a real path lies in one of these folders. */
export function isInsideAny(folders: readonly string[], path: string): boolean {
  return folders.some((folder) => isInside(folder, path));
}
