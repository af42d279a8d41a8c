import { expect, test } from "vitest";
import { mayHoldSecretIn } from "./secret-scan.ts";
import { mayHoldSecret } from "./secrets.ts";

const quick = (text: string) => mayHoldSecretIn(text, new TextEncoder().encode(text));

const signs = [
  ...[
    "auth",
    "akia",
    "asia",
    "aiza",
    "bearer",
    "basic ",
    "cookie",
    "credential",
    "dpop ",
    "eyj",
    "ghp_",
    "gho_",
    "ghu_",
  ],
  ...["ghs_", "ghr_", "github_pat_", "glpat-", "jwt", "key", "npm_", "negotiate ", "pass", "pwd", 'pin"', "rk_"],
  ...["secret", "sessi", "sk-", "sk_", "token", "xoxa-", "xoxs-", "-----begin", "://u:p@h", "assertion"],
  ...["?code", "&code", ";code", "?sig", "&sig", ";sig", "?auth", "&auth", ";auth", "?x-amz", "&x-amz", ";x-amz"],
];

test.each(signs)("%s is found at every place, in both cases, alone and behind letters of several bytes", (sign) => {
  for (const form of [sign, sign.toUpperCase(), `${sign[0]?.toUpperCase()}${sign.slice(1)}`]) {
    expect(mayHoldSecret(form)).toBe(true);
    for (const before of ["", "x", "xy", "xyz", "ä", "日本", "😀x"]) {
      for (const after of ["", "q", "qq"]) expect(quick(before + form + after)).toBe(true);
    }
  }
});

test("says of any text what the pattern says", () => {
  const pieces = [...signs.flatMap((sign) => [sign.slice(0, 2), sign.slice(0, 3), sign.slice(1), sign.slice(0, -1)])];
  pieces.push("", "a", " ", '"', "ä", "The quick brown fox", "://host/path", "ſecret", "to\u212aen", "@");
  let seed = 7;
  const random = (below: number) => {
    seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
    return Math.floor((seed / 2_147_483_648) * below);
  };
  let found = 0;
  for (let round = 0; round < 20_000; round++) {
    const text = Array.from({ length: 1 + random(4) }, () => pieces[random(pieces.length)]).join("");
    expect(quick(text), text).toBe(mayHoldSecret(text));
    if (quick(text)) found += 1;
  }
  expect(found).toBeGreaterThan(2_000);
  expect(found).toBeLessThan(18_000);
});
