import type { ActivityLog, ActivityVerdict } from "./entry.ts";
import { type ActivityOptions, openActivity } from "./log.ts";

/** How a log in a file is kept. */
export interface ActivityFileOptions extends ActivityOptions {
  /** A file that would grow beyond this is put aside as `<file>.1`, `<file>.2`…; 64 MiB unless given. */
  readonly maxBytes?: number;
}

/**
 * Opens a log in a file, for its owner only, which any number of processes may write at once; what a writer that was
 * killed has left unfinished is mended first. On Node.
 */
export async function openActivityFile(path: string, options: ActivityFileOptions = {}): Promise<ActivityLog> {
  const { fileSink } = await import("./node/file.ts");
  return openActivity(await fileSink(path, options), options);
}

/** Checks the log in a file as it is, without mending what a writer that was killed has left unfinished. On Node. */
export async function verifyActivityFile(
  path: string,
  options: { readonly contains?: string } = {},
): Promise<ActivityVerdict> {
  const { verifyFile } = await import("./node/file.ts");
  return verifyFile(path, options.contains);
}
