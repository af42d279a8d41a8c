import { expect, test } from "vitest";
import { compileGlob } from "./glob.ts";

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
