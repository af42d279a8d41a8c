import { lstatSync, realpathSync } from "node:fs";
import { lstat, realpath } from "node:fs/promises";
import { basename, isAbsolute, relative, resolve, sep } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import type { Root as ClientRoot } from "portolan";

/** A served folder. */
export interface Root {
  /** First segment of relative paths if there are several folders. */
  readonly name: string;
  /** The path as configured; callers may use it, too. */
  readonly given: string;
  readonly real: string;
}

/** Opens the configured folders; throws if one is not usable. */
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
  if (isSpecial(real)) throw new Error(`${folder}: expected a folder of files, not a system folder`);
  return real;
}

const maxClientRoots = 100;

/** Returns the existing folders among a client's roots. */
export async function clientFolders(roots: readonly ClientRoot[]): Promise<{ given: string; real: string }[]> {
  const found = await Promise.all(
    roots.slice(0, maxClientRoots).map(async ({ uri }) => {
      try {
        const given = fileURLToPath(uri);
        const real = await realpath(given);
        return (await lstat(real)).isDirectory() && !isSpecial(real) ? [{ given, real }] : [];
      } catch {
        // Skip a root that does not exist or is not on this machine.
        return [];
      }
    }),
  );
  return found.flat();
}

/** Returns the folders that both server and client name; of two nested folders the inner one. */
export function narrowed(roots: readonly Root[], wanted: readonly { given: string; real: string }[]): Root[] {
  const inner = roots.flatMap((root) =>
    wanted.flatMap((folder) => {
      if (segmentsBelow(folder.real, root.real)) return [{ given: root.given, real: root.real }];
      return segmentsBelow(root.real, folder.real) ? [folder] : [];
    }),
  );
  return named(inner);
}

/** Returns the server's folders and those of the client. */
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
 * Returns the names that lead from a folder down to a path; undefined if the path is not below it. Compares whole
 * segments: /root-evil is not below /root.
 */
export function segmentsBelow(folder: string, path: string): string[] | undefined {
  const way = relative(folder, path);
  if (way === "") return [];
  if (isAbsolute(way)) return undefined;
  const segments = way.split(sep);
  return segments[0] === ".." ? undefined : segments;
}

/** Returns true for folders of the kernel and of devices. */
export function isSpecial(real: string): boolean {
  if (process.platform === "win32") return false;
  return /^\/(proc|sys|dev)(\/|$)/.test(real) && !/^\/dev\/shm(\/|$)/.test(real);
}

export function uriOf(real: string): string {
  return pathToFileURL(real).href;
}
