import { isAbsolute, relative, sep } from "node:path";

/** Whether a real path is this folder or lies below it: compared by names, never by the beginning of the text. */
export function isInside(folder: string, path: string): boolean {
  const rest = relative(folder, path);
  return rest !== ".." && !rest.startsWith(`..${sep}`) && !isAbsolute(rest);
}

/** Whether a real path lies in one of these folders. */
export function isInsideAny(folders: readonly string[], path: string): boolean {
  return folders.some((folder) => isInside(folder, path));
}
