/** Positions of a pattern, and comparisons of them, beyond which it is not analysed. */
const maxPositions = 300;
const maxComparisons = 300_000;
const maxDepth = 50;

/** The facts of a pattern that every text can match in one way only. */
export interface Unambiguous {
  /** The positions of its automaton: a match takes at most this many steps for each character. */
  readonly positions: number;
  /** It matches at the beginning of a text only. */
  readonly isAnchored: boolean;
}

/**
 * Analyses a pattern. Returns undefined if a text may lead to the same position in two ways, or if the pattern has parts
 * that are not analysed, such as back-references. Otherwise a backtracking matcher visits each position at most once for
 * each character, because two different ways to the same place would be needed to repeat work.
 */
export function analyse(source: string): Unambiguous | undefined {
  try {
    const { main, lookaheads, isAnchored } = new Parser(source).parse();
    if (lookaheads.length > 0 && !isAnchored) return undefined;
    const positions = [main, ...lookaheads].reduce((sum, node) => sum + new Automaton(node).size, 0);
    return { positions, isAnchored };
  } catch (thrown) {
    if (thrown === notAnalysed) return undefined;
    throw thrown;
  }
}

/** Thrown to end an analysis. */
const notAnalysed = new Error("not analysed");

/** Inclusive ranges of code points. Too large a set is safe: it makes more patterns ambiguous. */
type Characters = readonly (readonly [from: number, to: number])[];
type Node =
  | { readonly kind: "characters"; readonly characters: Characters }
  | { readonly kind: "sequence" | "choice"; readonly parts: readonly Node[] }
  | { readonly kind: "repeat"; readonly part: Node; readonly least: number; readonly most: number };

const last = 0x10ffff;
const every: Characters = [[0, last]];
const digits: Characters = [[48, 57]];
const words: Characters = [...digits, [65, 90], [95, 95], [97, 122]];
const newlines: Characters = [[10, 10], [13, 13], [0x2028, 0x2029]]; // biome-ignore format: one line
const spaces: Characters = [[9, 13], [32, 32], [160, 160], [0x1680, 0x1680], [0x2000, 0x200a], [0x2028, 0x2029], [0x202f, 0x202f], [0x205f, 0x205f], [0x3000, 0x3000], [0xfeff, 0xfeff]]; // biome-ignore format: one line
const classes: { readonly [letter: string]: Characters } = {
  d: digits,
  w: words,
  s: spaces,
  D: complement(digits),
  W: complement(words),
  S: complement(spaces),
};
const controls: { readonly [letter: string]: number } = { n: 10, r: 13, t: 9, f: 12, v: 11, 0: 0 };

function complement(characters: Characters): Characters {
  const sorted = [...characters].sort(([a], [b]) => a - b);
  const rest: [number, number][] = [];
  let from = 0;
  for (const [start, end] of sorted) {
    if (start > from) rest.push([from, start - 1]);
    from = Math.max(from, end + 1);
  }
  return from > last ? rest : [...rest, [from, last]];
}

function overlap(a: Characters, b: Characters): boolean {
  return a.some(([from, to]) => b.some(([start, end]) => from <= end && start <= to));
}

/** Reads a regular expression that is known to be valid with the `u` flag. */
class Parser {
  readonly #source: string;
  #at = 0;
  #depth = 0;
  readonly #lookaheads: Node[] = [];

  constructor(source: string) {
    this.#source = source;
  }

  parse(): { main: Node; lookaheads: readonly Node[]; isAnchored: boolean } {
    const isAnchored = this.#take("^");
    // Behind an anchor, lookaheads are tried once.
    while (isAnchored && (this.#take("(?=") || this.#take("(?!"))) {
      this.#lookaheads.push(this.#choice(true));
      if (!this.#take(")")) throw notAnalysed;
    }
    const main = this.#choice(true);
    if (this.#at < this.#source.length) throw notAnalysed;
    // The anchor is part of the first alternative only.
    if (isAnchored && main.kind === "choice") throw notAnalysed;
    return { main, lookaheads: this.#lookaheads, isAnchored };
  }

  #take(text: string): boolean {
    if (!this.#source.startsWith(text, this.#at)) return false;
    this.#at += text.length;
    return true;
  }

  #choice(mayEnd: boolean): Node {
    const parts = [this.#sequence(mayEnd)];
    while (this.#take("|")) parts.push(this.#sequence(mayEnd));
    return parts.length === 1 ? (parts[0] as Node) : { kind: "choice", parts };
  }

  #sequence(mayEnd: boolean): Node {
    const parts: Node[] = [];
    for (;;) {
      const next = this.#source[this.#at];
      if (next === undefined || next === "|" || next === ")") return { kind: "sequence", parts };
      if (next === "$") {
        const after = this.#source[this.#at + 1];
        if (!mayEnd || (after !== undefined && after !== "|" && after !== ")")) throw notAnalysed;
        this.#at += 1;
        continue;
      }
      parts.push(this.#quantified(this.#atom()));
    }
  }

  #quantified(part: Node): Node {
    quantifier.lastIndex = this.#at;
    const [text = "", sign, least = "", comma, most = ""] = quantifier.exec(this.#source) ?? [];
    this.#at += text.length;
    if (text === "") return part;
    if (sign === "*") return { kind: "repeat", part, least: 0, most: Infinity };
    if (sign === "+") return { kind: "repeat", part, least: 1, most: Infinity };
    if (sign === "?") return { kind: "repeat", part, least: 0, most: 1 };
    const from = Number(least);
    return {
      kind: "repeat",
      part,
      least: from,
      most: comma === undefined ? from : most === "" ? Infinity : Number(most),
    };
  }

  #atom(): Node {
    if (this.#take("(")) {
      group.lastIndex = this.#at;
      const prefix = group.exec(this.#source)?.[0];
      this.#depth += 1;
      if (prefix === undefined || this.#depth > maxDepth) throw notAnalysed;
      this.#at += prefix.length;
      const inner = this.#choice(false);
      this.#depth -= 1;
      if (!this.#take(")")) throw notAnalysed;
      return inner;
    }
    if (this.#take("[")) return { kind: "characters", characters: this.#set() };
    if (this.#take(".")) return { kind: "characters", characters: complement(newlines) };
    if (this.#take("\\")) return { kind: "characters", characters: this.#escape(false) };
    return { kind: "characters", characters: this.#literal() };
  }

  #literal(): Characters {
    const code = this.#source.codePointAt(this.#at) ?? 0;
    this.#at += code > 0xffff ? 2 : 1;
    if (code === 94) throw notAnalysed;
    return [[code, code]];
  }

  /** Reads the characters of an escape; those outside the plain ones count as every character. */
  #escape(isInSet: boolean): Characters {
    const letter = this.#source[this.#at] ?? "";
    this.#at += 1;
    const known = Object.hasOwn(classes, letter) ? classes[letter] : undefined;
    if (known) return known;
    const control = Object.hasOwn(controls, letter) ? controls[letter] : undefined;
    if (control !== undefined) return [[control, control]];
    if (letter === "p" || letter === "P") {
      this.#at = this.#source.indexOf("}", this.#at) + 1;
      return every;
    }
    // Back-references, boundaries and numeric escapes are rare.
    if (/[\da-zA-Z]/.test(letter)) throw notAnalysed;
    if (letter === "-" && !isInSet) throw notAnalysed;
    return [[letter.charCodeAt(0), letter.charCodeAt(0)]];
  }

  #set(): Characters {
    const isNegated = this.#take("^");
    const found: (readonly [number, number])[] = [];
    while (!this.#take("]")) {
      if (this.#at >= this.#source.length) throw notAnalysed;
      const first = this.#member();
      const [[from, to] = [0, 0]] = first;
      if (first.length === 1 && from === to && this.#source[this.#at] === "-" && this.#source[this.#at + 1] !== "]") {
        this.#at += 1;
        const [[, end] = [0, 0], ...others] = this.#member();
        if (others.length > 0) throw notAnalysed;
        found.push([from, end]);
      } else found.push(...first);
    }
    // The complement of a set that is too large would be too small.
    if (isNegated && found.some((range) => range === every[0])) return every;
    return isNegated ? complement(found) : found;
  }

  #member(): Characters {
    if (this.#take("\\")) return this.#escape(true);
    const code = this.#source.codePointAt(this.#at) ?? 0;
    this.#at += code > 0xffff ? 2 : 1;
    return [[code, code]];
  }
}

const quantifier = /(?:([*+?])|\{(\d+)(?:(,)(\d*))?\})\??/y;
const group = /(?!\?)|\?:|\?<[^=!>][^>]*>/y;

/** The part of an automaton that a node of the pattern becomes. */
interface Fragment {
  readonly isEmptyAllowed: boolean;
  readonly first: readonly number[];
  readonly last: readonly number[];
}

const emptyFragment: Fragment = { isEmptyAllowed: true, first: [], last: [] };

/** A position automaton (Glushkov). Throws if two ways of one text meet. */
class Automaton {
  readonly #characters: Characters[] = [];
  readonly #next: number[][] = [];
  #comparisons = 0;

  constructor(node: Node) {
    const { first } = this.#build(node);
    this.#requireOneWay(first);
  }

  get size(): number {
    return this.#characters.length;
  }

  #build(node: Node): Fragment {
    switch (node.kind) {
      case "characters": {
        const position = this.#characters.push(node.characters) - 1;
        if (position >= maxPositions) throw notAnalysed;
        this.#next.push([]);
        return { isEmptyAllowed: false, first: [position], last: [position] };
      }
      case "sequence":
        return node.parts.reduce<Fragment>((before, part) => this.#join(before, this.#build(part)), emptyFragment);
      case "choice": {
        const parts = node.parts.map((part) => this.#build(part));
        // Two alternatives that match nothing are two ways.
        if (parts.filter(({ isEmptyAllowed }) => isEmptyAllowed).length > 1) throw notAnalysed;
        return {
          isEmptyAllowed: parts.some(({ isEmptyAllowed }) => isEmptyAllowed),
          first: parts.flatMap(({ first }) => first),
          last: parts.flatMap((part) => part.last),
        };
      }
      default:
        return this.#repeat(node.part, node.least, node.most);
    }
  }

  #join(before: Fragment, after: Fragment): Fragment {
    this.#connect(before.last, after.first);
    return {
      isEmptyAllowed: before.isEmptyAllowed && after.isEmptyAllowed,
      first: before.isEmptyAllowed ? [...before.first, ...after.first] : before.first,
      last: after.isEmptyAllowed ? [...after.last, ...before.last] : after.last,
    };
  }

  #repeat(part: Node, least: number, most: number): Fragment {
    if (most === 0) return emptyFragment;
    let whole = emptyFragment;
    for (let copy = 1; copy < least; copy += 1) whole = this.#join(whole, this.#repeated(part));
    if (most === Infinity) {
      const body = this.#repeated(part);
      this.#connect(body.last, body.first);
      return this.#join(whole, { ...body, isEmptyAllowed: least === 0 });
    }
    if (least > 0) whole = this.#join(whole, this.#repeated(part));
    // Each further copy needs the one before it: x{0,2} is (?:x(?:x)?)?, which has one way for each count.
    const copies = Array.from({ length: Math.min(most - least, maxPositions + 1) }, () => this.#repeated(part));
    let rest = emptyFragment;
    for (const body of copies.reverse()) rest = { ...this.#join(body, rest), isEmptyAllowed: true };
    return this.#join(whole, rest);
  }

  /** A repeated part that may be empty has several ways to match nothing. */
  #repeated(part: Node): Fragment {
    const body = this.#build(part);
    if (body.isEmptyAllowed) throw notAnalysed;
    return body;
  }

  /** Adds transitions. One that exists already is a second way. */
  #connect(from: readonly number[], to: readonly number[]): void {
    for (const position of from) {
      const next = this.#next[position] as number[];
      for (const target of to) {
        this.#count();
        if (next.includes(target)) throw notAnalysed;
        next.push(target);
      }
    }
  }

  #count(): void {
    this.#comparisons += 1;
    if (this.#comparisons > maxComparisons) throw notAnalysed;
  }

  /** Throws if a text can lead to one position in two ways: follows all pairs of positions that one text leads to. */
  #requireOneWay(first: readonly number[]): void {
    const seen = new Set<number>();
    const open: [number, number][] = [];
    const compare = (some: readonly number[], others: readonly number[], isSame: boolean) => {
      for (const [index, a] of some.entries()) {
        for (const b of isSame ? others.slice(index + 1) : others) {
          this.#count();
          if (a === b) throw notAnalysed;
          const [low, high] = a < b ? [a, b] : [b, a];
          const key = low * maxPositions + high;
          if (seen.has(key) || !overlap(this.#characters[a] ?? every, this.#characters[b] ?? every)) continue;
          seen.add(key);
          open.push([low, high]);
        }
      }
    };
    for (const together of [first, ...this.#next]) compare(together, together, true);
    for (let pair = open.pop(); pair; pair = open.pop())
      compare(this.#next[pair[0]] ?? [], this.#next[pair[1]] ?? [], false);
  }
}
