import type { ServerEntry } from "../options.ts";
import { type ConfigLevel, isConfigured } from "./configured.ts";

/** Two entries of the same name; the second one is not used. */
export interface ShadowedEntry {
  readonly used: ServerEntry;
  readonly shadowed: ServerEntry;
}

/** The entries that are used, and those that another entry of the same name replaces. */
export interface MergedEntries<Entry> {
  readonly entries: readonly Entry[];
  readonly shadowed: readonly ShadowedEntry[];
}

const ranks: { readonly [level in ConfigLevel]: number } = { managed: 1, local: 2, project: 3, user: 4 };

/** Merges lists of servers to one entry per name. Servers from code win, then the level decides, then the order. */
export function mergeEntries<Entry extends ServerEntry>(lists: readonly (readonly Entry[])[]): MergedEntries<Entry> {
  const used = new Map<string, Entry>();
  const shadowed: ShadowedEntry[] = [];
  const ranked = lists.flat().map((entry) => ({ entry, rank: rankOf(entry) }));
  for (const { entry } of ranked.sort((a, b) => a.rank - b.rank)) {
    const first = used.get(entry.name);
    // An entry with a problem also wins, because the other entry can be a different server.
    if (first) shadowed.push({ used: first, shadowed: entry });
    else used.set(entry.name, entry);
  }
  return { entries: [...used.values()], shadowed };
}

function rankOf(entry: ServerEntry): number {
  if (entry.source.kind === "code") return 0;
  return ranks[isConfigured(entry) ? entry.raw.level : entry.source.scope];
}
