import { ToolError } from "portolan/server";
import { PathChanged } from "./folder.ts";

const meanings: { [code: string]: string } = {
  ENOENT: "it does not exist, or was removed; list shows the entries",
  EEXIST: "the name already exists",
  ENOTDIR: "expected a folder, found a file",
  EISDIR: "expected a file, found a folder",
  ENOTEMPTY: "the folder is not empty",
  EACCES: "the system does not permit it",
  EPERM: "the system does not permit it",
  EROFS: "the disk is read-only",
  ENOSPC: "the disk is full",
  EDQUOT: "the disk quota is used up",
  EFBIG: "the system allows no larger file",
  ELOOP: "it changed while it was being opened; try again later",
  ENAMETOOLONG: "the name is too long",
  EXDEV: "the two paths are on different disks; copy, then remove",
  EINVAL: "the system refuses it; for example, a folder cannot be moved into itself",
  EMFILE: "too many files are open; try again later",
  EBUSY: "it is in use; try again later",
};

/** Runs the work of a tool; turns system errors into ToolErrors that contain only the path given by the caller. */
export async function explainSystemErrors<T>(path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (reason) {
    throw toToolError(path, reason);
  }
}

/** Returns a ToolError for a system error that a caller can understand; other errors as they are. */
export function toToolError(path: string, reason: unknown): unknown {
  if (reason instanceof PathChanged) return new ToolError(`${path} has changed in the meantime; try again`);
  const code = systemCodeOf(reason);
  const meaning = code === undefined ? undefined : meanings[code];
  return meaning === undefined ? reason : new ToolError(`${path}: ${meaning} (${code})`, { cause: reason });
}

/** Returns the code of a system error; undefined for other errors. */
export function systemCodeOf(reason: unknown): string | undefined {
  return reason instanceof Error && "syscall" in reason && "code" in reason ? String(reason.code) : undefined;
}
