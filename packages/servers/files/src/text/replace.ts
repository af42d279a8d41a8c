import { ToolError } from "portolan/server";
import { lineAt } from "./lines.ts";
import { describeNearest } from "./nearest.ts";

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

const shownLines = 10;

/** Makes all replacements, one after the other; throws what the model should do about one that does not fit. */
export function replaceIn(text: string, replacements: readonly Replacement[]): { text: string; count: number } {
  const ending = endingOf(text);
  let current = text;
  let count = 0;
  for (const [index, replacement] of replacements.entries()) {
    const label = replacements.length === 1 ? "old" : `edit ${index + 1}: old`;
    const spans = findSpans(current, replacement, label);
    const fitting = withEnding(current, replacement, ending);
    let made = "";
    let at = 0;
    for (const { start, end } of spans) {
      made += current.slice(at, start) + fitting;
      at = end;
    }
    current = made + current.slice(at);
    count += spans.length;
  }
  return { text: current, count };
}

function findSpans(text: string, { old, all = false }: Replacement, label: string): Span[] {
  if (old === "") throw new ToolError(`${label}: expected some text to replace; write makes whole files`);
  const exact = occurrences(text, old).map((span) => withWholeEnding(text, span));
  const spans = exact.length > 0 ? exact : withAnyEndings(text, old);
  if (spans.length === 0) throw new ToolError(`${label} is not in the file. ${describeNearest(text, old)}`);
  if (spans.length > 1 && !all) {
    const lines = spans.slice(0, shownLines).map(({ start }) => lineAt(text, start));
    const more = spans.length > shownLines ? ", …" : "";
    throw new ToolError(
      `${label} is in the file ${spans.length} times, at lines ${lines.join(", ")}${more}; add lines around it until it is there once, or set all: true`,
    );
  }
  return spans;
}

function occurrences(text: string, wanted: string): Span[] {
  const spans: Span[] = [];
  for (let at = text.indexOf(wanted); at >= 0; at = text.indexOf(wanted, at + wanted.length)) {
    spans.push({ start: at, end: at + wanted.length });
  }
  return spans;
}

/** A span that begins in the middle of a Windows line ending begins before it. */
function withWholeEnding(text: string, { start, end }: Span): Span {
  return { start: text[start] === "\n" && text[start - 1] === "\r" ? start - 1 : start, end };
}

/** Finds text whose lines end otherwise: both are compared with plain newlines, and the places carried back. */
function withAnyEndings(text: string, old: string): Span[] {
  if (!old.includes("\n") && !old.includes("\r")) return [];
  const removed: number[] = [];
  const plain = text.replace(/\r(?=\n)/g, (_, at: number) => {
    removed.push(at - removed.length);
    return "";
  });
  const plainOld = old.replaceAll("\r\n", "\n");
  return occurrences(plain, plainOld).map(({ start, end }) => ({
    start: start + countBelow(removed, start),
    end: end + countBelow(removed, end),
  }));
}

/** How many numbers of a sorted list are smaller than one. */
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

/** How most lines of a text end; undefined where it has but one. */
function endingOf(text: string): Ending {
  let [all, windows] = [0, 0];
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) {
    all += 1;
    if (text[at - 1] === "\r") windows += 1;
  }
  if (all === 0) return undefined;
  return windows > all - windows ? "\r\n" : "\n";
}

/** New text with the line endings of the file, unless the model wrote those that are there itself. */
function withEnding(text: string, { old, new: wanted }: Replacement, ending: Ending): string {
  if (ending === undefined || (old.includes("\r\n") && text.includes(old))) return wanted;
  return wanted.replaceAll("\r\n", "\n").replaceAll("\n", ending);
}
