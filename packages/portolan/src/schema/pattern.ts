import { analyse } from "./ambiguity.ts";

/** The most work for one match, as a power of two: a fraction of a second. */
const maxWork = 24;
/** Patterns must be usable for texts up to this length. */
const minTextLength = 64;
/** Characters that one way through a pattern may match without counting as work. */
const freeSteps = 16;
/** The longest way through a pattern: more may not compile, which is found out only when the pattern is run. */
const maxSteps = 20_000;

/** Returns true for a regular expression of JSON Schema (with the `u` flag). */
export function isPattern(source: string): boolean {
  try {
    new RegExp(source, "u");
    return true;
  } catch {
    return false;
  }
}

/**
 * Returns the reason why a pattern of an untrusted schema must not be run, or undefined. Backtracking is exponential if
 * a repeat contains a choice (another repeat, or alternatives that start alike), and costly if choices follow each other.
 * A pattern that every text can match in one way only is accepted. The check is strict: it also refuses some harmless
 * patterns.
 */
export function riskOf(source: string): string | undefined {
  const cost = costOf(source);
  const isLong = cost !== undefined && cost.steps > maxSteps;
  if (!isLong && analyse(source) && longestText(source) >= minTextLength) return undefined;
  if (cost === undefined) return "has a group of an unknown kind";
  if (cost.repeats === Infinity) return "repeats a group that can match in several ways";
  if (isLong) return "is too long";
  return longestText(source) < minTextLength ? "can match in too many ways" : undefined;
}

/** Returns the longest text that can be matched in acceptable time: each unbounded repeat may try every position. */
export function longestText(source: string): number {
  const cost = costOf(source) ?? { repeats: Infinity, bits: 0, steps: 0 };
  const longest = longestBy(cost, source.startsWith("^") && !source.includes("|"));
  const single = analyse(source);
  if (!single) return longest;
  const singleCost = { repeats: 1, bits: Math.log2(Math.max(1, single.positions)), steps: 1 };
  return Math.max(longest, longestBy(singleCost, single.isAnchored));
}

function longestBy({ repeats, bits, steps }: Cost, isAnchored: boolean): number {
  const positions = repeats + (isAnchored ? 0 : 1);
  const left = maxWork - bits - Math.log2(Math.max(1, steps / freeSteps));
  if (positions === 0) return left < 0 ? 0 : Infinity;
  return Math.floor(2 ** (left / positions));
}

/** The number of ways to try a match: the length of the text to the power of `repeats`, times 2 ** `bits`. */
interface Cost {
  repeats: number;
  bits: number;
  /** The most characters of one way, where an unbounded repeat counts once. */
  steps: number;
}

interface Group {
  /** The cost of the current alternative; `most` is that of the costliest one before it. */
  cost: Cost;
  readonly most: Cost;
  /** The first atom of each alternative. */
  readonly starts: string[];
  isAtStart: boolean;
}

/** Calculates the cost of a pattern in one pass. Returns undefined for a group of an unknown kind. */
function costOf(source: string): Cost | undefined {
  const open: Group[] = [];
  let group = newGroup();
  let at = 0;
  while (at < source.length) {
    const character = source.charAt(at);
    if (character === "(") {
      const prefix = readAt(groupPrefix, source, at);
      // Flags such as `(?i:` and all that later engines add: their content must not be taken for plain characters.
      if (prefix === "") return undefined;
      at += prefix.length;
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
    let inner = noCost();
    let isStart = false;
    if (character === ")") {
      inner = endGroup(group);
      group = open.pop() ?? newGroup();
      at += 1;
    } else {
      const atom = readAtom(source, at);
      at += atom.length;
      isStart = group.isAtStart;
      noteStart(group, atom);
      inner.steps = 1;
      // A back-reference matches what another group matched, so it counts as a repeat.
      if (/^\\[1-9k]/.test(atom)) inner.repeats = 1;
    }
    const quantifier = readAt(quantifiers, source, at);
    at += quantifier.length;
    const bounds = boundsOf(quantifier);
    // An alternative whose first atom may be left out can start with any character.
    if (isStart && bounds[0] === 0) group.starts[group.starts.length - 1] = "";
    const { repeats, bits, steps } = quantified(inner, bounds);
    group.cost.repeats += repeats;
    group.cost.bits += bits;
    group.cost.steps += steps;
  }
  return endGroup(group);
}

/** The beginnings of all groups that are analysed. A name has any length. */
const groupPrefix = /\((?:(?!\?)|\?(?:[:=!]|<[=!]|<[^=!>][^>]*>))/y;
const quantifiers = /(?:[*+?]|\{\d+(?:,\d*)?\})\??/y;
const escapes = /\\(?:[pPu]\{[^}]*\}|k<[^>]*>|[1-9]\d*|[\s\S])/y;

/** Returns the text that the pattern matches at this place, or an empty one. */
function readAt(pattern: RegExp, source: string, at: number): string {
  pattern.lastIndex = at;
  return pattern.exec(source)?.[0] ?? "";
}

function noCost(): Cost {
  return { repeats: 0, bits: 0, steps: 0 };
}

function newGroup(): Group {
  return { cost: noCost(), most: noCost(), starts: [], isAtStart: true };
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
  group.most.steps = Math.max(group.most.steps, group.cost.steps);
  group.cost = noCost();
  group.isAtStart = true;
}

function endGroup(group: Group): Cost {
  endAlternative(group);
  const { repeats, bits, steps } = group.most;
  return { repeats, bits: bits + (startAlike(group.starts) ? Math.log2(group.starts.length) : 0), steps };
}

/** Returns true if two alternatives can start with the same character. */
function startAlike(starts: readonly string[]): boolean {
  if (starts.length < 2) return false;
  const characters = starts.map((start) => (/^\\[^\w\s]$/.test(start) ? start.slice(1) : start));
  return characters.some((character) => !/^[^[(.^$\\]$/.test(character)) || new Set(characters).size < starts.length;
}

function readAtom(source: string, at: number): string {
  if (source[at] === "\\") return readAt(escapes, source, at) || "\\";
  if (source[at] !== "[") return source.charAt(at);
  let end = at + 1;
  while (end < source.length && source[end] !== "]") end += source[end] === "\\" ? 2 : 1;
  return source.slice(at, end + 1);
}

function quantified(inner: Cost, [least, most]: readonly [number, number]): Cost {
  const { repeats, bits, steps } = inner;
  // Never a product with zero: Infinity times zero is no number, and no comparison refuses that.
  if (most === 0) return { repeats, bits, steps };
  if (most === Infinity) return { repeats: repeats + bits > 0 ? Infinity : 1, bits: 0, steps };
  return { repeats: repeats * most, bits: bits * most + Math.log2(most - least + 1), steps: steps * most };
}

/** Returns the bounds of a quantifier; those of no quantifier are once. */
function boundsOf(quantifier: string): readonly [least: number, most: number] {
  if (quantifier === "") return [1, 1];
  if (quantifier.startsWith("*")) return [0, Infinity];
  if (quantifier.startsWith("+")) return [1, Infinity];
  if (quantifier.startsWith("?")) return [0, 1];
  const [least = "", most = least] = quantifier.replace(/[{}?]/g, "").split(",");
  return [toCount(least), most === "" ? Infinity : toCount(most)];
}

function toCount(digits: string): number {
  return Math.min(Number(digits), Number.MAX_SAFE_INTEGER);
}
