import { expect, test } from "vitest";
import { analyse } from "./ambiguity.ts";

type Part =
  | { readonly letters: string; readonly source: string }
  | { readonly sequence: readonly Part[] }
  | { readonly choice: readonly Part[] }
  | { readonly part: Part; readonly least: number; readonly most: number; readonly sign: string };

/** Returns the same numbers in every run. */
function createRandom(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

function randomPart(random: (below: number) => number, depth: number): Part {
  const what = depth === 0 ? 0 : random(6);
  const some = () => Array.from({ length: 1 + random(3) }, () => randomPart(random, depth - 1));
  if (what < 2) {
    const letters = ["a", "b", "c", "ab", "bc", "abc"][random(6)] ?? "a";
    return { letters, source: letters.length === 1 ? letters : `[${letters}]` };
  }
  if (what === 2) return { sequence: some() };
  if (what === 3) return { choice: some() };
  const [sign, least, most] = (
    [
      ["*", 0, Infinity],
      ["+", 1, Infinity],
      ["?", 0, 1],
      ["{1,3}", 1, 3],
      ["{2,}", 2, Infinity],
    ] as const
  )[random(5)] ?? ["*", 0, Infinity];
  return { part: randomPart(random, depth - 1), least, most, sign };
}

function sourceOf(part: Part): string {
  if ("letters" in part) return part.source;
  if ("sequence" in part) return part.sequence.map(sourceOf).join("");
  if ("choice" in part) return `(?:${part.choice.map(sourceOf).join("|")})`;
  return `(?:${sourceOf(part.part)})${part.sign}`;
}

/** Matches as engines do, by backtracking, and counts the steps. Stops at `limit`. */
function stepsOf(part: Part, text: string, limit: number): number {
  let steps = 0;
  const match = (current: Part, at: number, then: (at: number) => boolean): boolean => {
    steps += 1;
    if (steps > limit) return true;
    if ("letters" in current) return current.letters.includes(text[at] ?? "!") && then(at + 1);
    if ("choice" in current) return current.choice.some((each) => match(each, at, then));
    if ("sequence" in current) {
      const from = (index: number, place: number): boolean => {
        const next = current.sequence[index];
        return next ? match(next, place, (end) => from(index + 1, end)) : then(place);
      };
      return from(0, at);
    }
    const repeat = (count: number, place: number): boolean => {
      const again = (end: number) => (end === place && count >= current.least ? false : repeat(count + 1, end));
      return (count < current.most && match(current.part, place, again)) || (count >= current.least && then(place));
    };
    return repeat(0, at);
  };
  match(part, 0, (end) => end === text.length);
  return steps;
}

test("a pattern with one way for every text takes a number of steps that grows with the text only", () => {
  const random = createRandom(17);
  let accepted = 0;
  let nested = 0;
  for (let round = 0; round < 20_000; round += 1) {
    const part = randomPart(random, 4);
    const source = `^(?:${sourceOf(part)})$`;
    const found = analyse(source);
    if (!found) continue;
    accepted += 1;
    if (/[*+}]\)[*+{]/.test(source)) nested += 1;
    // Each position is visited at most once for each character, through at most all nodes of the pattern.
    const limit = (length: number) => (length + 2) * (found.positions + 1) * (source.length + 1) * 2;
    for (let trial = 0; trial < 4; trial += 1) {
      const word = Array.from({ length: 1 + random(4) }, () => "abc"[random(3)]).join("");
      const text = `${word.repeat(40).slice(0, 60)}${random(2) === 0 ? "!" : ""}`;
      const steps = stepsOf(part, text, limit(text.length));
      expect([source, text, steps <= limit(text.length)]).toEqual([source, text, true]);
    }
  }
  // The test must not be empty: many patterns are accepted, and many of these have a repeat in a repeat.
  expect(accepted).toBeGreaterThan(2_000);
  expect(nested).toBeGreaterThan(20);
});

test("the steps of a pattern with many ways exceed the limit, so that the test above can fail", () => {
  const a: Part = { letters: "a", source: "a" };
  const plus = (part: Part): Part => ({ part, least: 1, most: Infinity, sign: "+" });
  expect(analyse("^(?:a+)+$")).toBeUndefined();
  expect(stepsOf(plus(plus(a)), `${"a".repeat(60)}!`, 100_000)).toBeGreaterThan(100_000);
});

test("patterns that are too large to analyse are not accepted, and end the analysis early", () => {
  for (const pattern of ["^(?:a{100}b){100}$", "(".repeat(100) + ")".repeat(100), `^(?:${"[ab]?".repeat(200)}c)*$`]) {
    expect(analyse(pattern)).toBeUndefined();
  }
});
