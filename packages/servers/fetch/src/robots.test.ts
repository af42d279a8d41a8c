import { expect, test } from "vitest";
import { mayFetch, parseRobots } from "./robots.ts";

const may = (robots: string, path: string) => mayFetch(parseRobots(robots), new URL(path, "https://example.com"));

test.each([
  ["", "/x", true],
  ["User-agent: *\nDisallow: /", "/x", false],
  ["User-agent: *\nDisallow:", "/x", true],
  ["User-agent: other\nDisallow: /", "/x", true],
  ["User-agent: *\nDisallow: /\n\nUser-agent: portolan-fetch\nAllow: /", "/x", true],
  ["User-agent: *\nAllow: /\nUser-agent: Portolan-Fetch\nDisallow: /private", "/private/x", false],
  // Consecutive names share rules, and a second group of the same name adds to the first.
  ["User-agent: a\nUser-agent: *\nDisallow: /x", "/x", false],
  ["User-agent: *\nDisallow: /a\nUser-agent: b\nDisallow: /\nUser-agent: *\nDisallow: /x", "/x", false],
  // The longest pattern decides; of two with equal length, the one that allows.
  ["User-agent: *\nDisallow: /a\nAllow: /a/b", "/a/b/c", true],
  ["User-agent: *\nAllow: /a\nDisallow: /a/b", "/a/b/c", false],
  ["User-agent: *\nDisallow: /a\nAllow: /a", "/a", true],
  // Wildcards and ends.
  ["User-agent: *\nDisallow: /*.pdf$", "/a/b.pdf", false],
  ["User-agent: *\nDisallow: /*.pdf$", "/a/b.pdf?x", true],
  ["User-agent: *\nDisallow: /*?session=", "/a?session=1", false],
  ["User-agent: *\nDisallow: /a*b*c", "/aXbYc", false],
  ["User-agent: *\nDisallow: /a*b*c", "/acb", true],
  ["User-agent: *\nDisallow: /x$", "/x/y", true],
  // Percent-encoding.
  ["user-AGENT : * # all\r\nDISALLOW : /x # this", "/x", false],
  ["\uFEFFUser-agent: *\nDisallow: /x", "/x", false],
  ["User-agent: *\nDisallow: /%7Eada", "/~ada", false],
  ["User-agent: *\nDisallow: /a%2fb", "/a%2Fb", false],
  ["Disallow: /x", "/x", true],
  ["<html>no robots</html>", "/x", true],
  // The start of a very long pattern can forbid, but not allow.
  [`User-agent: *\nDisallow: /\nAllow: /${"*".repeat(3_000)}nothing`, "/x", false],
  [`User-agent: *\nDisallow: /${"*".repeat(3_000)}nothing`, "/x", false],
  // Parts that are found only after a partial match.
  ["User-agent: *\nDisallow: /*abcabcabcabd", "/abcabcabcabcabd", false],
  ["User-agent: *\nDisallow: /*abcabcabcabd", "/abcabcabcabcab", true],
])("%j for %s: %s", (robots, path, isAllowed) => {
  expect(may(robots, path)).toBe(isAllowed);
});

test("matches a pattern with many stars quickly", () => {
  const stars = `/${"*a".repeat(900)}$`;
  expect(may(`User-agent: *\nDisallow: ${stars}`, `/${"a".repeat(3_000)}b`)).toBe(true);
});

test("reads at most one rule more than the limit, and none of other agents", () => {
  const rules = (count: number) => "Disallow: /x\n".repeat(count);
  expect(parseRobots(`User-agent: *\n${rules(20_000)}`).length).toBe(5_001);
  expect(parseRobots(`User-agent: other\n${rules(20_000)}\nUser-agent: *\n${rules(3)}`).length).toBe(3);
});
