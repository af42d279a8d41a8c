import { lstatSync, realpathSync } from "node:fs";
import { lstat, realpath } from "node:fs/promises";
import { basename, isAbsolute, relative, resolve, sep } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import type { Root as ClientRoot } from "portolan";

/** A folder that is served. */
export interface Root {
  /** What relative paths begin with where there are several. */
  readonly name: string;
  /** As it was given: paths may be spelled this way too. */
  readonly given: string;
  readonly real: string;
}

/** The folders a server was started with; throws what is wrong with one. */
export function openRoots(folders: readonly string[]): Root[] {
  return named(folders.map((folder) => ({ given: resolve(folder), real: realFolder(folder) })));
}

function realFolder(folder: string): string {
  let real: string;
  try {
    real = realpathSync.native(resolve(folder));
    if (!lstatSync(real).isDirectory()) throw new Error("not a folder");
  } catch (cause) {
    throw new Error(`${folder}: expected a folder that exists`, { cause });
  }
  if (isSpecial(real)) throw new Error(`${folder}: expected a folder of files, not one of the system's own`);
  return real;
}

const maxClientRoots = 100;

/** The folders that a client names, as far as they are there. */
export async function clientFolders(roots: readonly ClientRoot[]): Promise<{ given: string; real: string }[]> {
  const found = await Promise.all(
    roots.slice(0, maxClientRoots).map(async ({ uri }) => {
      try {
        const given = fileURLToPath(uri);
        const real = await realpath(given);
        return (await lstat(real)).isDirectory() && !isSpecial(real) ? [{ given, real }] : [];
      } catch {
        // A root that is not there, or not of this machine, has nothing to offer.
        return [];
      }
    }),
  );
  return found.flat();
}

/** What both the server and the client name: of two folders, one in the other, the inner one. */
export function narrowed(roots: readonly Root[], wanted: readonly { given: string; real: string }[]): Root[] {
  const inner = roots.flatMap((root) =>
    wanted.flatMap((folder) => {
      if (segmentsBelow(folder.real, root.real)) return [{ given: root.given, real: root.real }];
      return segmentsBelow(root.real, folder.real) ? [folder] : [];
    }),
  );
  return named(inner);
}

/** The server's folders and those of the client. */
export function joined(roots: readonly Root[], more: readonly { given: string; real: string }[]): Root[] {
  return named([...roots, ...more]);
}

function named(folders: readonly { given: string; real: string }[]): Root[] {
  const roots = new Map<string, Root>();
  const names = new Set<string>();
  for (const { given, real } of folders) {
    if (roots.has(real)) continue;
    const base = basename(real) || "root";
    let name = base;
    for (let number = 2; names.has(name); number += 1) name = `${base}-${number}`;
    names.add(name);
    roots.set(real, { name, given, real });
  }
  return [...roots.values()];
}

/**
 * The names that lead from a folder down to a path, or undefined where the path is not below it. Compares whole
 * segments: /root-evil is not below /root.
 */
export function segmentsBelow(folder: string, path: string): string[] | undefined {
  const way = relative(folder, path);
  if (way === "") return [];
  if (isAbsolute(way)) return undefined;
  const segments = way.split(sep);
  return segments[0] === ".." ? undefined : segments;
}

/** Folders in which files are no files: kernel, devices. */
export function isSpecial(real: string): boolean {
  if (process.platform === "win32") return false;
  return /^\/(proc|sys|dev)(\/|$)/.test(real) && !/^\/dev\/shm(\/|$)/.test(real);
}

export function uriOf(real: string): string {
  return pathToFileURL(real).href;
}
