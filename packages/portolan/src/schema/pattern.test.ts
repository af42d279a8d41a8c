import { describe, expect, test } from "vitest";
import { z } from "zod";
import { isPattern, longestText, riskOf } from "./pattern.ts";

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
    ["a?".repeat(30)],
    ["(a|a)".repeat(30)],
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
  ])("accepts %s", (pattern) => {
    expect(riskOf(pattern)).toBeUndefined();
  });

  test("accepts most patterns of zod", () => {
    const formats = [z.uuid(), z.iso.date(), z.iso.datetime(), z.ipv4(), z.cuid(), z.nanoid(), z.base64(), z.e164()];
    for (const format of formats) {
      const { pattern } = z.toJSONSchema(format);
      expect([pattern, riskOf(pattern ?? "")]).toEqual([expect.any(String), undefined]);
    }
  });
});

describe("longestText", () => {
  test("decreases with every repeat and every choice", () => {
    const lengths = ["^a+$", "^a+b+$", "^a+b+c+$", "^a+b+c+(d|d)$"].map(longestText);
    expect(lengths).toEqual(lengths.toSorted((a, b) => b - a));
    expect(new Set(lengths).size).toBe(4);
  });

  test("has no limit for a pattern without choices", () => {
    for (const pattern of ["abc", "^\\d{4}-\\d{2}$", "[a-z]"]) expect(longestText(pattern)).toBeGreaterThan(10_000_000);
  });

  test("is smaller for a pattern without an anchor", () => {
    expect(longestText("a+b")).toBeLessThan(longestText("^a+b"));
    expect(longestText("^a+b|a+c")).toBeLessThan(longestText("^a+b"));
  });
});

test("accepts only regular expressions with the u flag", () => {
  expect(["a", "\\p{L}", "[a-z]"].every(isPattern)).toBe(true);
  expect(["(", "\\_", "a{2,1}"].some(isPattern)).toBe(false);
});
