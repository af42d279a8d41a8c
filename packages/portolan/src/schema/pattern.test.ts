import { describe, expect, test } from "vitest";
import { z } from "zod";
import { isPattern, longestText, riskOf } from "./pattern.ts";

const semver =
  "^(0|[1-9]\\d*)\\.(0|[1-9]\\d*)\\.(0|[1-9]\\d*)(?:-((?:0|[1-9]\\d*|\\d*[a-zA-Z-][0-9a-zA-Z-]*)(?:\\.(?:0|[1-9]\\d*|\\d*[a-zA-Z-][0-9a-zA-Z-]*))*))?(?:\\+([0-9a-zA-Z-]+(?:\\.[0-9a-zA-Z-]+)*))?$";
const email = z.toJSONSchema(z.email()).pattern ?? "";

describe("riskOf", () => {
  test.each([
    ["(a+)+"],
    ["(a*)*"],
    ["(?:a+){2,}"],
    ["(a|b+)*"],
    ["((a)+)+"],
    ["(?<name>x+)+"],
    ["(a|a)+"],
    ["(?:a|ab|b)*"],
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
    // Ways around the check: each of them froze a client or made it accept a pattern like the ones above.
    [`(?<${"n".repeat(70)}>a|a)+`],
    [`(?<n${"n".repeat(100)}>a)\\k<n${"n".repeat(100)}>+`],
    ["(?i:a|a)+"],
    ["(?-i:a|a)+"],
    ["(?ims-:a|a)*"],
    ["(?>a|a)+"],
    ["(?#a|a)+"],
    ["(?P<n>a|a)+"],
    ["(?'n'a|a)+"],
    ["(?|a|a)+"],
    ["(?R)"],
    ["(?<=a+)+"],
    ["(?<!a|a)+"],
    [`(?:a+){${"0".repeat(30)}2,}`],
    ["(?:(?:a+)+){0}(?:b+)+"],
    ["(?:(?:a+)+){0,0}|(?:b+)+"],
    ["^(?:a{0}b|b)*$"],
    ["^(?:a?b|c?b|d?b|e?b|b){20}$"],
    [`${"(a)".repeat(10)}\\10+`],
    ["a{30000}b"],
    ["(?:a{1000}){1000}"],
    ["^(?:(?!a{20000}b)a)*$"],
    ["a?".repeat(24)],
    // Like patterns that are accepted, but with a second way.
    ["^([a-z0-9.]+\\.)+[a-z]{2,}$"],
    ["^[\\w-]+(:?[\\w-]+)*$"],
    ["^(?:;\\d+[:|-]?\\d+)*$"],
    ["^(?:x(?:a*|b*))*$"],
    ["^(?:x(?:a*)?)*$"],
    ["^(?:a*a*,)*$"],
    ["^(?:(?:,a)?,a)*$"],
    ["^(?:[^a]|\\P{L})*$"],
    ["^(?:\\u0061|a)*$"],
    ["^(?:\\x61|a)*$"],
    ["^(?:\\b|a)*$"],
    ["^(?:(?=a)|a)*$"],
    ["(?:a,?)*$"].map((pattern) => `^(?:${pattern.slice(0, -1)})*$`),
  ] as [string][])("refuses %s", (pattern) => {
    expect(riskOf(pattern)).toEqual(expect.any(String));
  });

  test("refuses very long patterns, and very large counts", () => {
    const [most, more] = ["9".repeat(400), "9".repeat(401)];
    for (const pattern of ["a".repeat(30_000), `a{${most}}(?:b+)+`, `a{${most},${more}}(?:b+)+`]) {
      expect(riskOf(pattern)).toEqual(expect.any(String));
    }
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
    ["^(?<year>\\d{4})-(?<month>\\d{2})$"],
    [`^(?<${"n".repeat(70)}>a|b)+$`],
    ["^(?=.{3,}$)[a-z]+$"],
    ["(?<!a)b(?<=b)c(?!d)"],
    ["^(a)b\\1$"],
    ["\\(?i:a"],
    ["[(?i:]+"],
    ["^x{0}$"],
    [""],
    // Every text can match these in one way only.
    ["^I?\\d+[:|-]\\d+(?:;\\d+[:|-]\\d+)*$"],
    ["^([a-z0-9]+\\.)+[a-z]{2,}$"],
    ["^[\\w-]+(:[\\w-]+)*$"],
    [semver],
    [email],
    ["^(?:[a-z]{1,5},){1,20}$"],
    ["(?:a,)*b"],
    ["(?:a|ab)*"],
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

  test("decreases with the number of characters that each attempt may read", () => {
    const lengths = ["a", "a{100}b", "a{1000}b", "(?:(?!a{1000}b)a){10}"].map(longestText);
    expect(lengths).toEqual(lengths.toSorted((a, b) => b - a));
    expect(new Set(lengths).size).toBe(4);
    expect(longestText("^a+a{1000}b")).toBeLessThan(longestText("^a+ab"));
  });

  test("is a number for every pattern", () => {
    for (const pattern of [`^${"a?".repeat(24)}`, "(?:(?:a+)+){0}", `a{${"9".repeat(400)}}`, "(?i:a)"]) {
      expect([pattern, Number.isNaN(longestText(pattern))]).toEqual([pattern, false]);
    }
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
