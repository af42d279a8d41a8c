/** The most work for one match, as a power of two: a fraction of a second. */
const maxWork = 24;
/** Patterns must be usable for texts up to this length. */
const minTextLength = 64;

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
 * The check is strict: it also refuses some harmless patterns.
 */
export function riskOf(source: string): string | undefined {
  if (costOf(source).repeats === Infinity) return "repeats a group that can match in several ways";
  return longestText(source) < minTextLength ? "can match in too many ways" : undefined;
}

/** Returns the longest text that can be matched in acceptable time: each unbounded repeat may try every position. */
export function longestText(source: string): number {
  const { repeats, bits } = costOf(source);
  const isAnchored = source.startsWith("^") && !source.includes("|");
  return Math.floor(2 ** ((maxWork - bits) / (repeats + (isAnchored ? 0 : 1))));
}

/** The number of ways to try a match: the length of the text to the power of `repeats`, times 2 ** `bits`. */
interface Cost {
  repeats: number;
  bits: number;
}

interface Group {
  /** The cost of the current alternative; `most` is that of the costliest one before it. */
  cost: Cost;
  readonly most: Cost;
  /** The first atom of each alternative. */
  readonly starts: string[];
  isAtStart: boolean;
}

/** Calculates the cost of a pattern in one pass. */
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
      // A back-reference matches what another group matched, so it counts as a repeat.
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

/** Returns true if two alternatives can start with the same character. */
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
