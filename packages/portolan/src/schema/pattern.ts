/** Up to this length of text the cost of a pattern that `riskOf` lets pass stays bearable. */
export const SAFE_TEXT_LENGTH = 1000;

/** How many ways to match, as a power of two, one unbounded repeat has on a text of that length. */
const UNBOUNDED_CHOICES = 10;
const MAX_CHOICES = 32;

/** True when the pattern is a regular expression as JSON Schema means it (with the `u` flag). */
export function isPattern(source: string): boolean {
  try {
    new RegExp(source, "u");
    return true;
  } catch {
    return false;
  }
}

/** True when the cost of the pattern may grow faster than the text. */
export function isCostlyOnLongText(source: string): boolean {
  return choicesOf(source) >= UNBOUNDED_CHOICES;
}

/**
 * Why a stranger's pattern must not be run, or `undefined`. Backtracking explodes when a repeat contains a choice
 * (another repeat, or alternatives that start alike), and when choices follow each other.
 * The answer errs on the careful side: it also refuses some harmless patterns.
 */
export function riskOf(source: string): string | undefined {
  const choices = choicesOf(source);
  if (choices === Infinity) return "repeats a group that can match in several ways";
  return choices > MAX_CHOICES ? "can match in too many ways" : undefined;
}

interface Group {
  /** Choices of the alternative being read, and of the richest one before it. */
  choices: number;
  mostChoices: number;
  /** The first atom of each alternative. */
  readonly starts: string[];
  isAtStart: boolean;
}

/** The number of ways a pattern can try to match a text, as a power of two; read in one pass. */
function choicesOf(source: string): number {
  const open: Group[] = [];
  let group = newGroup();
  let at = 0;
  while (at < source.length) {
    const character = source.charAt(at);
    if (character === "(") {
      at += groupPrefix.exec(source.slice(at, at + 80))?.[0].length ?? 1;
      noteStart(group, "(");
      open.push(group);
      group = newGroup();
      continue;
    }
    if (character === "|") {
      endAlternative(group);
      at += 1;
      continue;
    }
    let inner = 0;
    if (character === ")") {
      inner = endGroup(group);
      group = open.pop() ?? newGroup();
      at += 1;
    } else {
      const atom = readAtom(source, at);
      at += atom.length;
      noteStart(group, atom);
      // What a back-reference matches depends on the text before it.
      if (/^\\[1-9k]/.test(atom)) inner = UNBOUNDED_CHOICES;
    }
    const quantifier = /^(?:[*+?]|\{\d+(?:,\d*)?\})\??/.exec(source.slice(at, at + 24))?.[0] ?? "";
    at += quantifier.length;
    group.choices += quantified(inner, quantifier);
  }
  return endGroup(group);
}

const groupPrefix = /^\((?:\?(?:[:=!]|<[=!]|<[^>]{0,60}>))?/;

function newGroup(): Group {
  return { choices: 0, mostChoices: 0, starts: [], isAtStart: true };
}

function noteStart(group: Group, atom: string): void {
  if (!group.isAtStart) return;
  group.starts.push(atom);
  group.isAtStart = false;
}

function endAlternative(group: Group): void {
  noteStart(group, "");
  group.mostChoices = Math.max(group.mostChoices, group.choices);
  group.choices = 0;
  group.isAtStart = true;
}

function endGroup(group: Group): number {
  endAlternative(group);
  return group.mostChoices + (startAlike(group.starts) ? Math.log2(group.starts.length) : 0);
}

/** Alternatives are told apart at once only when each starts with a character of its own. */
function startAlike(starts: readonly string[]): boolean {
  if (starts.length < 2) return false;
  const characters = starts.map((start) => (/^\\[^\w\s]$/.test(start) ? start.slice(1) : start));
  return characters.some((character) => !/^[^[(.^$\\]$/.test(character)) || new Set(characters).size < starts.length;
}

function readAtom(source: string, at: number): string {
  if (source[at] === "\\") {
    const braced = /^\\[pPuk](?:\{[^}]{0,80}\}|<[^>]{0,80}>)/.exec(source.slice(at, at + 84))?.[0];
    return braced ?? source.slice(at, at + 2);
  }
  if (source[at] !== "[") return source.charAt(at);
  let end = at + 1;
  while (end < source.length && source[end] !== "]") end += source[end] === "\\" ? 2 : 1;
  return source.slice(at, end + 1);
}

function quantified(inner: number, quantifier: string): number {
  if (quantifier === "") return inner;
  const [least, most] = boundsOf(quantifier);
  if (most === Infinity) return inner > 0 ? Infinity : UNBOUNDED_CHOICES;
  return inner * most + Math.log2(most - least + 1);
}

function boundsOf(quantifier: string): [least: number, most: number] {
  if (quantifier.startsWith("*")) return [0, Infinity];
  if (quantifier.startsWith("+")) return [1, Infinity];
  if (quantifier.startsWith("?")) return [0, 1];
  const [least = "", most = least] = quantifier.replace(/[{}?]/g, "").split(",");
  return [Number(least), most === "" ? Infinity : Math.min(Number(most), Number.MAX_SAFE_INTEGER)];
}
