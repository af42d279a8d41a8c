/** Text between two markers, a link, or an escaped sign. */
export interface InlineMarker {
  readonly start: number;
  readonly end: number;
  readonly kind: "code" | "bold" | "italic" | "strikethrough" | "link" | "escape";
  readonly text: string;
  /** Where a link leads. */
  readonly address?: string;
}

/** Matches the beginning of a marker. Looks at most one sign ahead and back. */
const opening =
  /(?<!`)`{1,3}(?!`)|\*\*(?=\S)|(?<!\w)__(?=\S)|(?<![\w*])\*(?=[^\s*])|(?<!\w)_(?=[^\s_])|~~(?=\S)|!?\[|\\[!-/:-@[-`{-~]/g;

/** How the text after a marker ends: `next` finds the only candidate, and `isEnd` must match there. */
const closings: {
  readonly [marker: string]: {
    readonly kind: InlineMarker["kind"];
    readonly next: RegExp;
    readonly isEnd?: RegExp;
  };
} = {
  "`": { kind: "code", next: /(?<!`)`(?!`)/g },
  "``": { kind: "code", next: /(?<!`)``(?!`)/g },
  "```": { kind: "code", next: /(?<!`)```(?!`)/g },
  "**": { kind: "bold", next: /(?<=\S)\*\*/g },
  __: { kind: "bold", next: /(?<=\S)__(?!\w)/g },
  "*": { kind: "italic", next: /\*/g, isEnd: /(?<=\S)\*(?![\w*])/y },
  _: { kind: "italic", next: /_/g, isEnd: /(?<=\S)_(?!\w)/y },
  "~~": { kind: "strikethrough", next: /(?<=\S)~~/g },
};

const bracket = /[[\]]/g;
const beforeAddress = /\s*<?/y;
const afterAddress = /[\s)>]/g;
const endOfLink = /(?:\s+"[^"]*")?\s*\)/y;

/**
 * Yields the inline markers of a line that are complete, from left to right. The text is hostile: a search that began
 * at an earlier marker is not repeated, so the time is in proportion to the length of the line.
 */
export function* inlineMarkers(line: string): Generator<InlineMarker> {
  const search = new Search(line);
  for (let from = 0; ; ) {
    opening.lastIndex = from;
    const found = opening.exec(line);
    if (!found) return;
    const marker = markerAt(search, found[0], found.index);
    from = marker?.end ?? found.index + 1;
    if (marker) yield marker;
  }
}

/** Returns where a link begins that may still become complete; -1 if there is none. */
export function openLink(line: string): number {
  const lastParenthesis = line.lastIndexOf(")");
  let start = line.indexOf("[");
  while (start >= 0) {
    const end = line.indexOf("]", start);
    const isOpen = end < 0 || end === line.length - 1 || (line[end + 1] === "(" && lastParenthesis < end);
    if (isOpen) return start;
    start = line.indexOf("[", end);
  }
  return -1;
}

function markerAt(search: Search, sign: string, start: number): InlineMarker | undefined {
  const { line } = search;
  const from = start + sign.length;
  if (sign.startsWith("\\")) return { start, end: from, kind: "escape", text: sign.slice(1) };
  if (sign.endsWith("[")) return linkAt(search, start, from);
  const closing = closings[sign];
  if (!closing) return undefined;
  const end = search.next(closing.next, from + 1);
  if (end < 0 || (closing.isEnd && search.lengthAt(closing.isEnd, end) === 0)) return undefined;
  return { start, end: end + sign.length, kind: closing.kind, text: line.slice(from, end) };
}

function linkAt(search: Search, start: number, from: number): InlineMarker | undefined {
  const { line } = search;
  const labelEnd = search.next(bracket, from);
  if (labelEnd < 0 || !line.startsWith("](", labelEnd)) return undefined;
  const address = labelEnd + 2 + search.lengthAt(beforeAddress, labelEnd + 2);
  const addressEnd = search.next(afterAddress, address);
  if (addressEnd < 0) return undefined;
  const rest = line[addressEnd] === ">" ? addressEnd + 1 : addressEnd;
  const restLength = search.lengthAt(endOfLink, rest);
  if (restLength === 0) return undefined;
  return {
    ...{ start, end: rest + restLength, kind: "link" },
    ...{ text: line.slice(from, labelEnd), address: line.slice(address, addressEnd) },
  };
}

/** Searches a line from left to right, and remembers the last place of each pattern. */
class Search {
  readonly line: string;
  readonly #next = new Map<RegExp, number>();
  readonly #lengths = new Map<RegExp, { readonly at: number; readonly length: number }>();

  constructor(line: string) {
    this.line = line;
  }

  /** Returns the first match at or after `from`; -1 if there is none. `from` never decreases for a pattern. */
  next(pattern: RegExp, from: number): number {
    const last = this.#next.get(pattern);
    if (last !== undefined && (last < 0 || last >= from)) return last;
    pattern.lastIndex = from;
    const next = pattern.exec(this.line)?.index ?? -1;
    this.#next.set(pattern, next);
    return next;
  }

  /** Returns how much of the line a sticky pattern matches here. */
  lengthAt(pattern: RegExp, at: number): number {
    const last = this.#lengths.get(pattern);
    if (last?.at === at) return last.length;
    pattern.lastIndex = at;
    const length = pattern.exec(this.line)?.[0].length ?? 0;
    this.#lengths.set(pattern, { at, length });
    return length;
  }
}
