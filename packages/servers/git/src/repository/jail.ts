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

/** How thoroughly a repository is checked; before a change also in places where git only writes. */
export type CheckDepth = "for-reading" | "for-writing";

/**
 * Finds the parts of a repository without git, which would obey its configuration. Throws for anything that leads
 * outside the allowed folders.
 */
export async function locate(root: string, roots: readonly string[], depth: CheckDepth): Promise<RepositoryLocation> {
  if ((await realpath(root).catch(() => undefined)) !== root) {
    throw new ToolError(`${root} was moved; restart the server with its new path`);
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

/** Checks alternates: objects may be borrowed only from repositories that are allowed, too. */
async function checkAlternates(objects: string, roots: readonly string[], depth: number): Promise<void> {
  const file = join(objects, "info/alternates");
  const listed = await readFile(file, "utf8").catch(() => "");
  for (const line of listed.split("\n")) {
    if (line === "" || line.startsWith("#")) continue;
    if (line.startsWith('"')) throw new ToolError(`${file}: expected plain paths, got ${line.slice(0, 100)}`);
    const borrowed = await realInside(resolve(objects, line), roots);
    if (depth === 0) throw new ToolError(`${file}: expected a chain of at most ${maxAlternates} repositories`);
    await checkLinks(borrowed, roots);
    await checkLinks(join(borrowed, "pack"), roots);
    await checkAlternates(borrowed, roots, depth - 1);
  }
}

/** Rejects links that lead outside: git writes through links in its own folder, such as a log. */
async function checkLinks(folder: string, roots: readonly string[]): Promise<Dirent[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  for (const entry of entries) if (entry.isSymbolicLink()) await realInside(join(folder, entry.name), roots);
  return entries;
}

/** Folders that need no check: submodules and hooks are never used, objects are checked separately. */
const leftOut = new Set(["objects", "modules", "hooks", "lfs"]);

async function checkLinksBelow(folder: string, roots: readonly string[]): Promise<void> {
  const entries = await checkLinks(folder, roots);
  for (const entry of entries) {
    if (entry.isDirectory() && !leftOut.has(entry.name)) await checkLinksBelow(join(folder, entry.name), roots);
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
