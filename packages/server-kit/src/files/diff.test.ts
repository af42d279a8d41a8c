import fc from "fast-check";
import { expect, test } from "vitest";
import { unifiedDiff } from "./diff.ts";

/** Applies a diff to a text. */
function apply(before: string, diff: string): string {
  const old = before.match(/[^\n]*\n|[^\n]+$/g) ?? [];
  const made: string[] = [];
  let at = 0;
  const rows = diff.split("\n").slice(2);
  for (const [index, row] of rows.entries()) {
    const header = /^@@ -(\d+),(\d+) \+/.exec(row);
    if (header) {
      const start = Number(header[1]) - (header[2] === "0" ? 0 : 1);
      made.push(...old.slice(at, start));
      at = start;
      continue;
    }
    const text = row.slice(1) + (rows[index + 1]?.startsWith("\\") ? "" : "\n");
    if (row.startsWith(" ")) expect(old[at]).toBe(text);
    if (row.startsWith("-")) expect(old[at]).toBe(text);
    if (row.startsWith(" ") || row.startsWith("-")) at += 1;
    if (row.startsWith(" ") || row.startsWith("+")) made.push(text);
  }
  return [...made, ...old.slice(at)].join("");
}

test("shows changes with three lines of context", () => {
  const before = Array.from({ length: 20 }, (_, at) => `line ${at + 1}\n`).join("");
  expect(unifiedDiff("a.txt", before, before.replace("line 10\n", "ten\nand more\n"))).toBe(
    "--- a.txt\n+++ a.txt\n@@ -7,7 +7,8 @@\n line 7\n line 8\n line 9\n-line 10\n+ten\n+and more\n line 11\n line 12\n line 13",
  );
  expect(unifiedDiff("a.txt", before, before)).toBe("");
});

const texts = fc
  .array(fc.constantFrom("a\n", "b\n", "c\n", "\n", "d"), { maxLength: 30 })
  .map((lines) => lines.join("").replace(/d(?!$)/g, ""));

test("every diff turns the old text into the new one", () => {
  fc.assert(
    fc.property(texts, texts, (before, after) => {
      if (before !== after) expect(apply(before, unifiedDiff("x", before, after))).toBe(after);
    }),
    { numRuns: 500 },
  );
});

test("shows completely different texts as one change, quickly", () => {
  const [before, after] = ["a", "b"].map((name) => Array.from({ length: 5_000 }, (_, at) => `${name}${at}\n`).join(""));
  expect(unifiedDiff("x", before!, after!)).toContain("@@ -1,5000 +1,5000 @@");
});
