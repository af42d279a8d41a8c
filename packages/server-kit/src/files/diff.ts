/** A replacement of lines `oldFrom` to `oldTo` by lines `newFrom` to `newTo`. */
interface Change {
  readonly oldFrom: number;
  oldTo: number;
  readonly newFrom: number;
  newTo: number;
}

const context = 3;
const maxSteps = 400;

/** Returns the difference of two texts as a unified diff; empty if they are equal. */
export function unifiedDiff(path: string, before: string, after: string): string {
  if (before === after) return "";
  const old = linesOf(before);
  const now = linesOf(after);
  const hunks = grouped(changesBetween(old, now)).map((changes) => writeHunk(old, now, changes));
  return [`--- ${path}`, `+++ ${path}`, ...hunks].join("\n");
}

function changesBetween(old: readonly string[], now: readonly string[]): Change[] {
  let start = 0;
  while (start < old.length && start < now.length && old[start] === now[start]) start += 1;
  let tail = 0;
  while (
    tail < old.length - start &&
    tail < now.length - start &&
    old[old.length - 1 - tail] === now[now.length - 1 - tail]
  )
    tail += 1;
  const [oldEnd, newEnd] = [old.length - tail, now.length - tail];
  const found = shortest(old.slice(start, oldEnd), now.slice(start, newEnd));
  if (!found) return [{ oldFrom: start, oldTo: oldEnd, newFrom: start, newTo: newEnd }];
  return found.map(({ oldFrom, oldTo, newFrom, newTo }) => ({
    oldFrom: oldFrom + start,
    oldTo: oldTo + start,
    newFrom: newFrom + start,
    newTo: newTo + start,
  }));
}

/** Myers' algorithm; undefined if the texts differ too much to be worth the time. */
function shortest(old: readonly string[], now: readonly string[]): Change[] | undefined {
  const furthest = new Map<number, number>([[1, 0]]);
  const trace: Map<number, number>[] = [];
  const most = Math.min(maxSteps, old.length + now.length);
  for (let steps = 0; steps <= most; steps += 1) {
    trace.push(new Map(furthest));
    for (let diagonal = -steps; diagonal <= steps; diagonal += 2) {
      let x = comesFromAbove(furthest, diagonal, steps)
        ? (furthest.get(diagonal + 1) ?? 0)
        : (furthest.get(diagonal - 1) ?? 0) + 1;
      while (x < old.length && x - diagonal < now.length && old[x] === now[x - diagonal]) x += 1;
      furthest.set(diagonal, x);
      if (x >= old.length && x - diagonal >= now.length) return changesOf(trace, old.length, now.length);
    }
  }
  return undefined;
}

function comesFromAbove(furthest: ReadonlyMap<number, number>, diagonal: number, steps: number): boolean {
  if (diagonal === -steps) return true;
  return diagonal !== steps && (furthest.get(diagonal - 1) ?? -1) < (furthest.get(diagonal + 1) ?? -1);
}

/** Walks back from the end, and joins consecutive steps. */
function changesOf(trace: readonly Map<number, number>[], oldLength: number, newLength: number): Change[] {
  const changes: Change[] = [];
  let [x, y] = [oldLength, newLength];
  for (let steps = trace.length - 1; steps > 0; steps -= 1) {
    const furthest = trace[steps] ?? new Map<number, number>();
    const isAdded = comesFromAbove(furthest, x - y, steps);
    const diagonal = x - y + (isAdded ? 1 : -1);
    const beforeX = furthest.get(diagonal) ?? 0;
    const beforeY = beforeX - diagonal;
    changes.unshift({
      oldFrom: beforeX,
      oldTo: beforeX + (isAdded ? 0 : 1),
      newFrom: beforeY,
      newTo: beforeY + (isAdded ? 1 : 0),
    });
    [x, y] = [beforeX, beforeY];
  }
  const joined: Change[] = [];
  for (const change of changes) {
    const last = joined.at(-1);
    if (last && last.oldTo === change.oldFrom && last.newTo === change.newFrom) {
      last.oldTo = change.oldTo;
      last.newTo = change.newTo;
    } else joined.push(change);
  }
  return joined;
}

/** Groups changes whose context lines touch. */
function grouped(changes: readonly Change[]): Change[][] {
  const groups: Change[][] = [];
  for (const change of changes) {
    const last = groups.at(-1)?.at(-1);
    if (last && change.oldFrom - last.oldTo <= 2 * context) groups.at(-1)?.push(change);
    else groups.push([change]);
  }
  return groups;
}

function writeHunk(old: readonly string[], now: readonly string[], changes: readonly Change[]): string {
  const [first, last] = [changes[0], changes.at(-1)];
  if (!first || !last) return "";
  const oldStart = Math.max(0, first.oldFrom - context);
  const newStart = first.newFrom - (first.oldFrom - oldStart);
  const oldEnd = Math.min(old.length, last.oldTo + context);
  const newEnd = last.newTo + (oldEnd - last.oldTo);
  const rows: string[] = [];
  let at = oldStart;
  for (const { oldFrom, oldTo, newFrom, newTo } of changes) {
    rows.push(...rowsOf(" ", old.slice(at, oldFrom)));
    rows.push(...rowsOf("-", old.slice(oldFrom, oldTo)), ...rowsOf("+", now.slice(newFrom, newTo)));
    at = oldTo;
  }
  rows.push(...rowsOf(" ", old.slice(at, oldEnd)));
  const span = (start: number, end: number) => `${start === end ? start : start + 1},${end - start}`;
  return [`@@ -${span(oldStart, oldEnd)} +${span(newStart, newEnd)} @@`, ...rows].join("\n");
}

function rowsOf(sign: string, lines: readonly string[]): string[] {
  return lines.flatMap((line) => {
    const row = sign + withoutEnding(line);
    return line.endsWith("\n") ? [row] : [row, "\\ No newline at end of file"];
  });
}

/** Splits a text into lines, each with its line ending. */
export function linesOf(text: string): string[] {
  return text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
}

export function withoutEnding(line: string): string {
  return line.replace(/\r?\n$/, "");
}
