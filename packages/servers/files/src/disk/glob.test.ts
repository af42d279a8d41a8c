import { expect, test } from "vitest";
import { compileGlob, expandBraces } from "./glob.ts";

const fits = (pattern: string, path: string, options = {}) => compileGlob(pattern, options)(path.split("/"));

test.each([
  ["*.md", "a.md", true],
  ["*.md", "deep/er/a.md", true],
  ["*.md", "a.mdx", false],
  ["a?c", "abc", true],
  ["a?c", "ac", false],
  ["[a-c]x", "bx", true],
  ["[!a-c]x", "bx", false],
  ["{one,two}.txt", "two.txt", true],
  ["{one,two}.txt", "three.txt", false],
  ["src/**/index.ts", "src/index.ts", true],
  ["src/**/index.ts", "src/a/b/index.ts", true],
  ["src/**/index.ts", "lib/a/index.ts", false],
  ["src/*.ts", "src/a/b.ts", false],
  ["**/x/*", "a/b/x/c", true],
  ["\\*", "*", true],
  ["\\*", "a", false],
  ["*", "🎈", true],
  ["?", "🎈", true],
])("%s and %s: %s", (pattern, path, expected) => {
  expect(fits(pattern, path)).toBe(expected);
});

test("is case-sensitive unless ignoreCase is set", () => {
  expect(fits("*.MD", "a.md")).toBe(false);
  expect(fits("*.MD", "a.md", { ignoreCase: true })).toBe(true);
});

test("matches a pathological pattern quickly", () => {
  const pattern = `${"*a".repeat(100)}b`;
  expect(fits(pattern, "a".repeat(250))).toBe(false);
  expect(fits(`${"**/".repeat(60)}x`, Array.from({ length: 60 }, () => "y").join("/"))).toBe(false);
});

test("does not expand too many alternatives", () => {
  expect(fits("{a,b}".repeat(12), "ab".repeat(6))).toBe(false);
});

test("drops equal alternatives, and expands no further than 8,000 characters", () => {
  expect(expandBraces(`a{${",".repeat(63)}}`)).toEqual(["a"]);
  expect(expandBraces("{a,b,a}{c,c}")).toEqual(["ac", "bc"]);
  const long = `${"x".repeat(480)}{1,2,3,4}`;
  expect(expandBraces(`${long}{a,b}`)).toHaveLength(8);
  expect(expandBraces(`${long}{a,b,c,d,e}`)).toHaveLength(4);
});

test("a pattern without a slash is matched against the last name only", () => {
  expect(fits("**", "a/b")).toBe(true);
  expect(fits("{a,x/y}", "x/y")).toBe(true);
  expect(fits("{a,x/y}", "b/a")).toBe(true);
  expect(fits("a", "a/b")).toBe(false);
});
