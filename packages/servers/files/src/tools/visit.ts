import type { Context, JsonSchema } from "portolan/server";
import { count, nextTurn } from "portolan-server-kit";
import { type Folder, type Jail, type WalkEnd, type WalkedEntry, walk } from "portolan-server-kit/files";
import type { Workspace } from "../workspace.ts";

/** Schema of the number of files and folders that are missing from a result. */
export const unreadableSchema: JsonSchema = count("Files and folders that could not be opened; absent if none");

/** Returns the line that tells the model about them: without it, the result would look complete. */
export function unreadableLines(unreadable: number): string[] {
  return unreadable === 0 ? [] : [`… ${unreadable} files or folders could not be opened; the result lacks them`];
}

/** An entry found on a walk, with its path for callers. */
export interface VisitedEntry extends WalkedEntry {
  readonly path: string;
}

export interface VisitOptions {
  readonly depth?: number;
  /** Also enters folders that are normally skipped. */
  readonly all?: boolean;
}

/** A walk takes a turn of the event loop after this time, so that other calls are served meanwhile. */
const turnMs = 5;

/**
 * Walks below a path, or below all served folders, until `see` returns false. Returns what was left out. Takes a turn of
 * the event loop every few milliseconds: reading a large folder, and matching its names, takes none by itself.
 */
export async function visitBelow(
  workspace: Workspace,
  jail: Jail,
  ctx: Context,
  path: string,
  { depth = workspace.settings.limits.depth, all = false }: VisitOptions,
  see: (found: VisitedEntry) => boolean | Promise<boolean>,
): Promise<WalkEnd & { walked: number }> {
  const { limits } = workspace.settings;
  const end = { isCut: false, unreadable: 0, walked: 0 };
  const options = {
    depth: Math.min(depth, limits.depth),
    signal: ctx.signal,
    isShown: (name: string) => jail.isNameShown(name),
    isEntered: (name: string) => all || !workspace.isIgnored(name),
  };
  let turnAt = performance.now();
  const visit = async (folder: Folder, base: string): Promise<boolean> => {
    const prefix = base === "." ? "" : `${base}/`;
    for await (const found of walk(folder, { ...options, walked: limits.walked - end.walked }, end)) {
      end.walked += 1;
      if (!(await see({ ...found, path: prefix + found.segments.join("/") }))) return false;
      if (performance.now() - turnAt < turnMs) continue;
      await nextTurn();
      ctx.signal.throwIfAborted();
      turnAt = performance.now();
    }
    return true;
  };
  const starts = jail.isTop(path) ? jail.roots.map(({ name }) => name) : [path];
  for (const start of starts) {
    if (!(await jail.inFolder(start, (folder, place) => visit(folder, place.path)))) break;
  }
  return end;
}
