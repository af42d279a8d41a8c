import type { Context } from "portolan/server";
import { type Found, type WalkEnd, walk } from "../disk/walk.ts";
import type { Folder } from "../jail/folder.ts";
import type { Jail } from "../jail/jail.ts";
import type { Desk } from "../workspace.ts";

/** Something found on a walk, with the name it has in answers. */
export interface Visited extends Found {
  readonly path: string;
}

export interface VisitOptions {
  readonly depth?: number;
  /** Also what is usually passed by. */
  readonly all?: boolean;
}

/**
 * Walks below a path, or below all served folders, until `see` says that it has seen enough. Says what was left out.
 */
export async function visitBelow(
  desk: Desk,
  jail: Jail,
  ctx: Context,
  path: string,
  { depth = desk.settings.limits.depth, all = false }: VisitOptions,
  see: (found: Visited) => boolean | Promise<boolean>,
): Promise<WalkEnd & { walked: number }> {
  const { limits } = desk.settings;
  const end = { isCut: false, unreadable: 0, walked: 0 };
  const options = {
    depth: Math.min(depth, limits.depth),
    signal: ctx.signal,
    isShown: (name: string) => jail.isNameShown(name),
    isEntered: (name: string) => all || !desk.isIgnored(name),
  };
  const visit = async (folder: Folder, base: string): Promise<boolean> => {
    const prefix = base === "." ? "" : `${base}/`;
    for await (const found of walk(folder, { ...options, walked: limits.walked - end.walked }, end)) {
      end.walked += 1;
      if (!(await see({ ...found, path: prefix + found.way.join("/") }))) return false;
    }
    return true;
  };
  const starts = jail.isTop(path) ? jail.roots.map(({ name }) => name) : [path];
  for (const start of starts) {
    if (!(await jail.inFolder(start, (folder, place) => visit(folder, place.path)))) break;
  }
  return end;
}
