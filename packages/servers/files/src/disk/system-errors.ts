import { ToolError } from "portolan/server";
import { Changed } from "../jail/folder.ts";

const meanings: { [code: string]: string } = {
  ENOENT: "it is not there, or was removed meanwhile; list shows what there is",
  EEXIST: "something with this name is there already",
  ENOTDIR: "expected a folder, found a file",
  EISDIR: "expected a file, found a folder",
  ENOTEMPTY: "the folder is not empty",
  EACCES: "the system does not permit it",
  EPERM: "the system does not permit it",
  EROFS: "the disk can only be read",
  ENOSPC: "the disk is full",
  EDQUOT: "the quota of the disk is used up",
  ELOOP: "it changes while it is being opened; try again later",
  ENAMETOOLONG: "the name is too long",
  EXDEV: "the two places are on different disks: copy, then remove",
  EINVAL: "the system refuses it; a folder cannot be moved into itself",
  EMFILE: "too many files are open; try again later",
  EBUSY: "it is in use; try again later",
};

/** Runs a tool's work; what the system refuses becomes a text for the model, with no path but the one it gave. */
export async function withReasons<T>(path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (reason) {
    throw toToolError(path, reason);
  }
}

function toToolError(path: string, reason: unknown): unknown {
  if (reason instanceof Changed) return new ToolError(`${path} changed meanwhile; try again`);
  const code = codeOf(reason);
  const meaning = code === undefined ? undefined : meanings[code];
  return meaning === undefined ? reason : new ToolError(`${path}: ${meaning} (${code})`, { cause: reason });
}

/** The code of an error of the system; undefined for everything else. */
export function codeOf(reason: unknown): string | undefined {
  return reason instanceof Error && "syscall" in reason && "code" in reason ? String(reason.code) : undefined;
}
