/** Of the names that there are, those that are a slip or two away from what was typed, the nearest first. */
export function nearest(typed: string, names: readonly string[]): string[] {
  // Of one or two letters nothing is left after a slip.
  const most = typed.length === 3 ? 1 : Math.floor(typed.length / 3);
  return names
    .map((name) => ({ name, slips: slipsBetween(typed.toLowerCase(), name.toLowerCase()) }))
    .filter(({ slips }) => slips <= most)
    .sort((a, b) => a.slips - b.slips)
    .map(({ name }) => name);
}

/** How many letters have to be added, left out, changed or swapped with their neighbour to make one word of another. */
function slipsBetween(from: string, to: string): number {
  // Long names that are nothing alike are not worth the work.
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
