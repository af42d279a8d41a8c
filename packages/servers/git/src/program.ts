import { constants } from "node:fs";
import { access, realpath, stat } from "node:fs/promises";
import { delimiter, isAbsolute, join } from "node:path";
import { isInsideAny } from "./inside.ts";

/** The program git, and where it may look for other programs. */
export interface Program {
  readonly file: string;
  readonly path: string;
}

/**
 * Finds git on the search path. Folders that are relative or lie inside a repository are left out: what is in a
 * repository is never run, also where a package manager has put its folder of programs on the path.
 */
export async function findProgram(path: string, roots: readonly string[]): Promise<Program | undefined> {
  const folders: string[] = [];
  for (const folder of path.split(delimiter)) {
    if (!isAbsolute(folder)) continue;
    const real = await realpath(folder).catch(() => undefined);
    if (real !== undefined && !isInsideAny(roots, real)) folders.push(real);
  }
  const name = process.platform === "win32" ? "git.exe" : "git";
  for (const folder of folders) {
    const file = await realpath(join(folder, name)).catch(() => undefined);
    if (file === undefined || isInsideAny(roots, file) || !(await isProgram(file))) continue;
    return { file: join(folder, name), path: folders.join(delimiter) };
  }
  return undefined;
}

async function isProgram(file: string): Promise<boolean> {
  const isAllowed = await access(file, constants.X_OK).then(
    () => true,
    () => false,
  );
  return isAllowed && (await stat(file)).isFile();
}
