/** Returns the names within a small edit distance of what was typed, the nearest first. */
export function nearest(typed: string, names: readonly string[]): string[] {
  // One or two letters are too short to compare.
  const maxDistance = typed.length === 3 ? 1 : Math.floor(typed.length / 3);
  return names
    .map((name) => ({ name, distance: editDistance(typed.toLowerCase(), name.toLowerCase()) }))
    .filter(({ distance }) => distance <= maxDistance)
    .sort((a, b) => a.distance - b.distance)
    .map(({ name }) => name);
}

/** Returns how many letters to add, remove, change or swap to turn one word into the other. */
function editDistance(from: string, to: string): number {
  // Names of very different length are not similar.
  if (Math.abs(from.length - to.length) > from.length) return Number.POSITIVE_INFINITY;
  let before: number[] = [];
  let row = Array.from({ length: to.length + 1 }, (_, at) => at);
  for (let i = 1; i <= from.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= to.length; j += 1) {
      const isSame = from[i - 1] === to[j - 1];
      const isSwapped = i > 1 && j > 1 && from[i - 1] === to[j - 2] && from[i - 2] === to[j - 1];
      const ways = [(row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1, (row[j - 1] ?? 0) + (isSame ? 0 : 1)];
      if (isSwapped) ways.push((before[j - 2] ?? 0) + 1);
      next.push(Math.min(...ways));
    }
    before = row;
    row = next;
  }
  return row[to.length] ?? 0;
}
