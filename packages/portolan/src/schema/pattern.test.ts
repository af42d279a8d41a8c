import { describe, expect, test } from "vitest";
import { z } from "zod";
import { isCostlyOnLongText, isPattern, riskOf } from "./pattern.ts";

describe("riskOf", () => {
  test.each([
    ["(a+)+"],
    ["(a*)*"],
    ["(?:a+){2,}"],
    ["(a|b+)*"],
    ["((a)+)+"],
    ["(?<name>x+)+"],
    ["(a|a)+"],
    ["(?:a|ab)*"],
    ["(\\w|\\d)+"],
    ["([ab]|a)+"],
    ["(a|)*"],
    ["(a?b?)*"],
    ["(a?){40}"],
    ["a?".repeat(40)],
    ["(a|a)".repeat(40)],
    [".*.*.*.*"],
    ["a{0,900}a{0,900}a{0,900}a{0,900}"],
    ["(a)\\1+\\1+\\1+\\1+"],
  ])("refuses %s", (pattern) => {
    expect(riskOf(pattern)).toEqual(expect.any(String));
  });

  test.each([
    ["^abc$"],
    ["^[a-z0-9_-]+$"],
    ["^\\w+@\\w+\\.\\w+$"],
    ["^(foo|bar)$"],
    ["^(?:a|b)+$"],
    ["^(\\+|-)*$"],
    ["^([0-9a-f]{4}:)*$"],
    ["[*+?(|]+"],
    ["\\(+\\)+"],
    ["^\\p{Lu}+$"],
    ["^[a-z]+(?:-[a-z]+)?$"],
    ["[)(]+x"],
    ["a{2}b{2,3}"],
    [""],
  ])("lets %s pass", (pattern) => {
    expect(riskOf(pattern)).toBeUndefined();
  });

  test("lets most of what zod writes pass", () => {
    const formats = [z.uuid(), z.iso.date(), z.iso.datetime(), z.ipv4(), z.cuid(), z.nanoid(), z.base64(), z.e164()];
    for (const format of formats) {
      const { pattern } = z.toJSONSchema(format);
      expect([pattern, riskOf(pattern ?? "")]).toEqual([expect.any(String), undefined]);
    }
  });
});

test("a pattern with an unbounded repeat is costly on long text, one without is not", () => {
  expect(["a*", "a+b", "(ab){2,}"].every(isCostlyOnLongText)).toBe(true);
  expect(["abc", "^a?b{2,4}$", "(a|b)"].some(isCostlyOnLongText)).toBe(false);
});

test("a pattern must be a regular expression with the u flag", () => {
  expect(["a", "\\p{L}", "[a-z]"].every(isPattern)).toBe(true);
  expect(["(", "\\_", "a{2,1}"].some(isPattern)).toBe(false);
});
