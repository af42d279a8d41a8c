/** Something that can be found and opened. */
export interface FindEntry {
  readonly kind: "action" | "server" | "tool" | "resource" | "prompt" | "skill" | "conversation" | "message";
  readonly id: string;
  readonly name: string;
  /** Where it belongs, such as the name of its server. */
  readonly from: string;
  readonly href?: string;
  readonly run?: () => void;
}

/** An entry that fits, with the places of the letters that were searched for. */
export interface FoundEntry {
  readonly entry: FindEntry;
  readonly hits: readonly number[];
  readonly score: number;
}

const maxFound = 60;

/** Finds entries whose name has the letters in this order. Beginnings of words and letters in a row count more. */
export function findEntries(entries: readonly FindEntry[], text: string): readonly FoundEntry[] {
  const wanted = text.trim().toLowerCase();
  if (wanted === "") return [];
  const found: FoundEntry[] = [];
  for (const entry of entries) {
    const own = match(entry.name, wanted);
    if (own !== undefined) {
      found.push({ entry, ...own });
      continue;
    }
    // "travel sea" finds search_flights of travel.
    const [first = "", ...rest] = wanted.split(" ");
    if (rest.length === 0 || !entry.from.toLowerCase().includes(first)) continue;
    const other = match(entry.name, rest.join(" "));
    if (other !== undefined) found.push({ entry, ...other });
  }
  return found.sort((one, other) => other.score - one.score).slice(0, maxFound);
}

function match(name: string, wanted: string): { readonly hits: readonly number[]; readonly score: number } | undefined {
  const lower = name.toLowerCase();
  const at = lower.indexOf(wanted);
  if (at !== -1) {
    const isStart = at === 0 || isBoundary(name, at);
    return {
      hits: Array.from({ length: wanted.length }, (_, index) => at + index),
      score: (isStart ? 200 : 120) - at - name.length / 10,
    };
  }
  const hits: number[] = [];
  let score = 60 - name.length / 10;
  let from = 0;
  for (const letter of wanted) {
    if (letter === " ") continue;
    const next = lower.indexOf(letter, from);
    if (next === -1) return undefined;
    score += isBoundary(name, next) ? 6 : next === (hits.at(-1) ?? -2) + 1 ? 4 : -1;
    hits.push(next);
    from = next + 1;
  }
  return score < 40 ? undefined : { hits, score };
}

function isBoundary(name: string, at: number): boolean {
  if (at === 0) return true;
  const [before = "", here = ""] = [name[at - 1], name[at]];
  return /[^\p{L}\p{N}]/u.test(before) || (/\p{Lu}/u.test(here) && /\p{Ll}/u.test(before));
}
