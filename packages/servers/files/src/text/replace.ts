import { ToolError } from "portolan/server";
import { nextTurn } from "portolan-server-kit";
import { linesOf, withoutEnding } from "portolan-server-kit/files";
import { lineAt } from "./encoding.ts";

/** One replacement in a text. */
export interface Replacement {
  readonly old: string;
  readonly new: string;
  readonly all?: boolean;
}

interface Span {
  readonly start: number;
  readonly end: number;
}

/** Limits of the replacements of one call. */
export interface ReplaceLimits {
  /** Bytes of the text after each replacement. */
  readonly bytes: number;
  /** Places that all replacements change together. */
  readonly places: number;
  /** Stops the replacements when aborted. */
  readonly signal?: AbortSignal;
}

const maxListedLines = 10;

/**
 * Applies all replacements in order; throws a ToolError with advice for one that does not match, and for one whose result
 * would be too large. Takes a turn of the event loop between two replacements.
 */
export async function replaceIn(
  text: string,
  replacements: readonly Replacement[],
  { bytes: maxBytes, places, signal }: ReplaceLimits,
): Promise<{ text: string; count: number }> {
  const ending = endingOf(text);
  let current = text;
  let count = 0;
  for (const [index, replacement] of replacements.entries()) {
    if (index > 0) await nextTurn();
    signal?.throwIfAborted();
    const label = replacements.length === 1 ? "old" : `edit ${index + 1}: old`;
    const spans = findSpans(current, replacement, label, places - count);
    const fitting = withEnding(current, replacement, ending);
    // Before the text is made: a few edits that each multiply its length would fill the memory.
    if (bytesAfter(current, spans, fitting) > maxBytes) throw tooLarge(label, maxBytes);
    let made = "";
    let at = 0;
    for (const { start, end } of spans) {
      made += current.slice(at, start) + fitting;
      at = end;
    }
    current = made + current.slice(at);
    // Half of a surrogate pair is longer than its share of the pair, so the size above can be a little too small.
    if (Buffer.byteLength(current) > maxBytes) throw tooLarge(label, maxBytes);
    count += spans.length;
  }
  return { text: current, count };
}

/** Returns the bytes of a text after its spans are replaced. */
function bytesAfter(text: string, spans: readonly Span[], replacement: string): number {
  const added = spans.length * Buffer.byteLength(replacement);
  return spans.reduce(
    (bytes, { start, end }) => bytes - Buffer.byteLength(text.slice(start, end)),
    Buffer.byteLength(text) + added,
  );
}

function tooLarge(label: string, maxBytes: number): ToolError {
  return new ToolError(
    `${label}: the file would have more than ${maxBytes} bytes, the limit for an edit; nothing was changed. Replace fewer places, or use a shorter text`,
  );
}

function findSpans(text: string, { old, all = false }: Replacement, label: string, most: number): Span[] {
  if (old === "") throw new ToolError(`${label}: expected some text to replace; use write for whole files`);
  const exact = occurrences(text, old, most).map((span) => withWholeEnding(text, span));
  const spans = exact.length > 0 ? exact : withAnyEndings(text, old, most);
  if (spans.length === 0) throw new ToolError(`${label} is not in the file. ${describeNearest(text, old)}`);
  if (spans.length > 1 && !all) {
    const lines = spans.slice(0, maxListedLines).map(({ start }) => lineAt(text, start));
    const more = spans.length > maxListedLines ? ", …" : "";
    const times = spans.length > most ? `more than ${most}` : spans.length;
    throw new ToolError(
      `${label} is in the file ${times} times, at lines ${lines.join(", ")}${more}; add lines around it until it is there once, or set all: true`,
    );
  }
  if (spans.length > most) {
    throw new ToolError(
      `${label} is in the file more than ${most} times, more places than one call may still change; nothing was changed. Add lines around it, or split the edits`,
    );
  }
  return spans;
}

/** Returns the places of a text, but no more than one above `most`. */
function occurrences(text: string, wanted: string, most: number): Span[] {
  const spans: Span[] = [];
  for (let at = text.indexOf(wanted); at >= 0 && spans.length <= most; at = text.indexOf(wanted, at + wanted.length)) {
    spans.push({ start: at, end: at + wanted.length });
  }
  return spans;
}

/** Extends a span that starts in the middle of a Windows line ending. */
function withWholeEnding(text: string, { start, end }: Span): Span {
  return { start: text[start] === "\n" && text[start - 1] === "\r" ? start - 1 : start, end };
}

/** Finds text with different line endings: compares with plain newlines and maps the positions back. */
function withAnyEndings(text: string, old: string, most: number): Span[] {
  if (!old.includes("\n") && !old.includes("\r")) return [];
  const removed: number[] = [];
  const plain = text.replace(/\r(?=\n)/g, (_, at: number) => {
    removed.push(at - removed.length);
    return "";
  });
  const plainOld = old.replaceAll("\r\n", "\n");
  return occurrences(plain, plainOld, most).map(({ start, end }) => ({
    start: start + countBelow(removed, start),
    end: end + countBelow(removed, end),
  }));
}

/** Counts the numbers of a sorted list below a limit. */
function countBelow(sorted: readonly number[], limit: number): number {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((sorted[middle] ?? 0) < limit) low = middle + 1;
    else high = middle;
  }
  return low;
}

type Ending = "\r\n" | "\n" | undefined;

/** Returns the line ending of most lines; undefined for a single line. */
function endingOf(text: string): Ending {
  let [all, windows] = [0, 0];
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) {
    all += 1;
    if (text[at - 1] === "\r") windows += 1;
  }
  if (all === 0) return undefined;
  return windows > all - windows ? "\r\n" : "\n";
}

/** Converts new text to the line endings of the file, unless `old` matches with its own endings. */
function withEnding(text: string, { old, new: wanted }: Replacement, ending: Ending): string {
  if (ending === undefined || (old.includes("\r\n") && text.includes(old))) return wanted;
  return wanted.replaceAll("\r\n", "\n").replaceAll("\n", ending);
}

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

/** Describes where a missing text almost occurs: the closest lines with their numbers and the difference. */
function describeNearest(text: string, wanted: string): string {
  const lines = linesOf(text).map(withoutEnding);
  const sought = linesOf(wanted).map(withoutEnding);
  const best = nearest(lines, sought);
  if (best.length === 0) return "Nothing in the file is similar; read the file again.";
  const places = best.map(({ start }) => describePlace(lines, sought, start));
  return `Closest:\n${places.join("\n")}\nCopy the text from there exactly.`;
}

function nearest(lines: readonly string[], sought: readonly string[]): Candidate[] {
  // The longest line is the best anchor.
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

/** Returns the lines that share the most words with the wanted line. */
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

/** Returns the similarity of two lines from 0 to 1, by shared character pairs. */
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
