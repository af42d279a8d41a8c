/** The work one match may take, as a power of two: a fraction of a second. */
const MAX_WORK = 24;
/** A pattern must be of use for texts up to this length. */
const SHORT_TEXT = 64;

/** True when the pattern is a regular expression as JSON Schema means it (with the `u` flag). */
export function isPattern(source: string): boolean {
  try {
    new RegExp(source, "u");
    return true;
  } catch {
    return false;
  }
}

/**
 * Why a stranger's pattern must not be run, or `undefined`. Backtracking explodes when a repeat contains a choice
 * (another repeat, or alternatives that start alike), and when choices follow each other.
 * The answer errs on the careful side: it also refuses some harmless patterns.
 */
export function riskOf(source: string): string | undefined {
  if (costOf(source).repeats === Infinity) return "repeats a group that can match in several ways";
  return longestText(source) < SHORT_TEXT ? "can match in too many ways" : undefined;
}

/** The length up to which text can be matched in bearable time: each unbounded repeat may try every position. */
export function longestText(source: string): number {
  const { repeats, bits } = costOf(source);
  const isAnchored = source.startsWith("^") && !source.includes("|");
  return Math.floor(2 ** ((MAX_WORK - bits) / (repeats + (isAnchored ? 0 : 1))));
}

/** In how many ways a pattern can try to match: the length of the text to the power of `repeats`, times 2 ** `bits`. */
interface Cost {
  repeats: number;
  bits: number;
}

interface Group {
  /** Of the alternative being read, and of the costliest ones before it. */
  cost: Cost;
  readonly most: Cost;
  /** The first atom of each alternative. */
  readonly starts: string[];
  isAtStart: boolean;
}

/** Reads a pattern in one pass. */
function costOf(source: string): Cost {
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
    let inner: Cost = { repeats: 0, bits: 0 };
    if (character === ")") {
      inner = endGroup(group);
      group = open.pop() ?? newGroup();
      at += 1;
    } else {
      const atom = readAtom(source, at);
      at += atom.length;
      noteStart(group, atom);
      // What a back-reference matches depends on the text before it.
      if (/^\\[1-9k]/.test(atom)) inner.repeats = 1;
    }
    const quantifier = /^(?:[*+?]|\{\d+(?:,\d*)?\})\??/.exec(source.slice(at, at + 24))?.[0] ?? "";
    at += quantifier.length;
    const { repeats, bits } = quantified(inner, quantifier);
    group.cost.repeats += repeats;
    group.cost.bits += bits;
  }
  return endGroup(group);
}

const groupPrefix = /^\((?:\?(?:[:=!]|<[=!]|<[^>]{0,60}>))?/;

function newGroup(): Group {
  return { cost: { repeats: 0, bits: 0 }, most: { repeats: 0, bits: 0 }, starts: [], isAtStart: true };
}

function noteStart(group: Group, atom: string): void {
  if (!group.isAtStart) return;
  group.starts.push(atom);
  group.isAtStart = false;
}

function endAlternative(group: Group): void {
  noteStart(group, "");
  group.most.repeats = Math.max(group.most.repeats, group.cost.repeats);
  group.most.bits = Math.max(group.most.bits, group.cost.bits);
  group.cost = { repeats: 0, bits: 0 };
  group.isAtStart = true;
}

function endGroup(group: Group): Cost {
  endAlternative(group);
  const { repeats, bits } = group.most;
  return { repeats, bits: bits + (startAlike(group.starts) ? Math.log2(group.starts.length) : 0) };
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

function quantified(inner: Cost, quantifier: string): Cost {
  if (quantifier === "") return inner;
  const [least, most] = boundsOf(quantifier);
  if (most === Infinity) return { repeats: inner.repeats + inner.bits > 0 ? Infinity : 1, bits: 0 };
  return { repeats: inner.repeats * most, bits: inner.bits * most + Math.log2(most - least + 1) };
}

function boundsOf(quantifier: string): [least: number, most: number] {
  if (quantifier.startsWith("*")) return [0, Infinity];
  if (quantifier.startsWith("+")) return [1, Infinity];
  if (quantifier.startsWith("?")) return [0, 1];
  const [least = "", most = least] = quantifier.replace(/[{}?]/g, "").split(",");
  return [Number(least), most === "" ? Infinity : Math.min(Number(most), Number.MAX_SAFE_INTEGER)];
}
