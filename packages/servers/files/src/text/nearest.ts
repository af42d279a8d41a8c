import { linesOf, withoutEnding } from "./lines.ts";

interface Candidate {
  /** The first line, from zero. */
  readonly start: number;
  readonly likeness: number;
}

const anchors = 5;
const shown = 2;
const maxCompared = 2_000;
const comparedLength = 200;
const shownLength = 160;
const shownLines = 12;

/** Says where a text that is not in a file almost is: the closest lines, with their numbers, and what differs. */
export function describeNearest(text: string, wanted: string): string {
  const lines = linesOf(text).map(withoutEnding);
  const sought = linesOf(wanted).map(withoutEnding);
  const best = nearest(lines, sought);
  if (best.length === 0) return "Nothing in it looks like it; read the file again.";
  const places = best.map(({ start }) => describePlace(lines, sought, start));
  return `Closest:\n${places.join("\n")}\nCopy the text from there exactly.`;
}

function nearest(lines: readonly string[], sought: readonly string[]): Candidate[] {
  // The longest line says most about the place.
  const anchor = sought.reduce(
    (longest, line, at) => (line.trim().length > (sought[longest] ?? "").trim().length ? at : longest),
    0,
  );
  const pairs = pairsOf(sought[anchor] ?? "");
  const ranked = promising(lines, sought[anchor] ?? "")
    .map((at) => ({ start: at - anchor, likeness: likeness(pairs, sought[anchor] ?? "", lines[at] ?? "") }))
    .sort((a, b) => b.likeness - a.likeness)
    .slice(0, anchors)
    .map(({ start }) => Math.max(0, start))
    .filter((start, index, all) => all.indexOf(start) === index)
    .map((start) => ({ start, likeness: likenessAt(lines, sought, start) }))
    .sort((a, b) => b.likeness - a.likeness);
  const [first] = ranked;
  if (!first || first.likeness < 0.4) return [];
  return ranked.filter(({ likeness }) => likeness > first.likeness - 0.1).slice(0, shown);
}

/** The lines that are worth a closer look: those that have most words of the one that is sought. */
function promising(lines: readonly string[], sought: string): number[] {
  const words = (sought.slice(0, comparedLength).match(/\w{3,}/g) ?? []).slice(0, 8);
  const hits = lines.map((line) => words.filter((word) => line.includes(word)).length);
  const ranked = [...lines.keys()].sort((a, b) => (hits[b] ?? 0) - (hits[a] ?? 0));
  return ranked.slice(0, maxCompared);
}

function likenessAt(lines: readonly string[], sought: readonly string[], start: number): number {
  const compared = sought.slice(0, comparedLength);
  const sum = compared.reduce((all, line, at) => all + likeness(pairsOf(line), line, lines[start + at] ?? ""), 0);
  return sum / compared.length;
}

/** Between 0 and 1: by the pairs of characters that two lines have in common. */
function likeness(pairs: ReadonlyMap<string, number>, a: string, b: string): number {
  if (a === b) return 1;
  if (plain(a) === plain(b)) return 0.95;
  const others = pairsOf(b);
  let common = 0;
  let size = 0;
  for (const [pair, times] of pairs) {
    common += Math.min(times, others.get(pair) ?? 0);
    size += times;
  }
  for (const times of others.values()) size += times;
  return size === 0 ? 0 : (2 * common) / size;
}

function pairsOf(line: string): Map<string, number> {
  const text = plain(line).slice(0, comparedLength);
  const pairs = new Map<string, number>();
  for (let at = 0; at + 1 < text.length; at += 1) {
    const pair = text.slice(at, at + 2);
    pairs.set(pair, (pairs.get(pair) ?? 0) + 1);
  }
  return pairs;
}

function plain(line: string): string {
  return line.trim().replace(/\s+/g, " ");
}

function describePlace(lines: readonly string[], sought: readonly string[], start: number): string {
  const end = Math.min(lines.length, start + sought.length);
  const there = lines.slice(start, end);
  const differing = sought.findIndex((line, at) => line !== there[at]);
  const isSpace = sought.every((line, at) => plain(line) === plain(there[at] ?? ""));
  const why = isSpace ? "differs only in white space" : `differs first in line ${start + differing + 1}`;
  const rows = there.slice(0, shownLines).map((line, at) => `${start + at + 1}| ${line.slice(0, shownLength)}`);
  const title = start + 1 === end ? `line ${end}` : `lines ${start + 1}–${end}`;
  return [`${title} (${why}):`, ...rows, ...(there.length > shownLines ? ["…"] : [])].join("\n");
}
