/** A match of a search: how good it is, and which characters were found. */
export interface FuzzyMatch {
  readonly score: number;
  /** Positions in the text, in order. */
  readonly at: readonly number[];
}

const maxChars = 200;

/** Finds the characters of a query in a text in their order, those at the start of words first. */
export function fuzzyMatch(query: string, text: string): FuzzyMatch | undefined {
  const wanted = query.toLowerCase().slice(0, maxChars);
  const from = text.toLowerCase().slice(0, maxChars);
  const whole = from.indexOf(wanted);
  if (whole !== -1) {
    const at = Array.from(wanted, (_, index) => whole + index);
    return { score: (whole === 0 ? 3_000 : 2_000) - from.length - whole, at };
  }
  const at: number[] = [];
  let score = 0;
  let place = 0;
  for (const sign of wanted) {
    const found = from.indexOf(sign, place);
    if (found === -1) return undefined;
    const isStart = found === 0 || /[^\p{L}\p{N}]/u.test(from[found - 1] ?? "");
    score += isStart ? 20 : found === place ? 10 : 0;
    score -= found - place;
    at.push(found);
    place = found + 1;
  }
  return { score: score - from.length, at };
}
