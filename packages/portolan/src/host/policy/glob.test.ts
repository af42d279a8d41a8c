import { expect, test } from "vitest";
import { compileGlob } from "./glob.ts";

test.each<[string, string, boolean]>([
  ["git.push", "git.push", true],
  ["git.push", "git.pushy", false],
  ["git.push", "gitxpush", false],
  ["*", "", true],
  ["*", "anything.at all", true],
  ["git.*", "git.push", true],
  ["git.*", "git.", true],
  ["git.*", "github.push", false],
  ["*.push", "git.push", true],
  ["*.push", "git.push.more", false],
  ["*.get_*", "a.get_b", true],
  ["*.get_*", "a.forget_b", false],
  ["a*a", "a", false],
  ["a*a", "aa", true],
  ["ab*ba", "aba", false],
  ["*a*b*c*", "xxaxxbxxcxx", true],
  ["*a*b*c*", "xxcxxbxxaxx", false],
  ["a*b*b", "ab", false],
  ["a**b", "axb", true],
  ["[a-z].(x|y)", "[a-z].(x|y)", true],
  ["[a-z].(x|y)", "b.x", false],
])("%s and %s: %s", (pattern, text, expected) => {
  expect(compileGlob(pattern)(text)).toBe(expected);
});

test("a pattern made to be slow is not", () => {
  const glob = compileGlob(`${"a*".repeat(200)}b`);
  expect(glob("a".repeat(200_000))).toBe(false);
});
