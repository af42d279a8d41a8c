import type { ServerEntry } from "../options.ts";
import { type ConfigLevel, isConfigured } from "./configured.ts";

/** Two entries of one name, of which the second is not used. */
export interface Shadowed {
  readonly used: ServerEntry;
  readonly shadowed: ServerEntry;
}

export interface Merged<Entry> {
  readonly entries: readonly Entry[];
  readonly shadowed: readonly Shadowed[];
}

const ranks: { readonly [level in ConfigLevel]: number } = { managed: 1, local: 2, project: 3, user: 4 };

/** One entry for each name: the application's own, then by its level; of equal ones the first named wins. */
export function mergeEntries<Entry extends ServerEntry>(lists: readonly (readonly Entry[])[]): Merged<Entry> {
  const used = new Map<string, Entry>();
  const shadowed: Shadowed[] = [];
  const ranked = lists.flat().map((entry) => ({ entry, rank: rankOf(entry) }));
  for (const { entry } of ranked.sort((a, b) => a.rank - b.rank)) {
    const first = used.get(entry.name);
    // One with a problem wins too: what it hides might be another server altogether.
    if (first) shadowed.push({ used: first, shadowed: entry });
    else used.set(entry.name, entry);
  }
  return { entries: [...used.values()], shadowed };
}

function rankOf(entry: ServerEntry): number {
  if (entry.source.kind === "code") return 0;
  return ranks[isConfigured(entry) ? entry.raw.level : entry.source.scope];
}
