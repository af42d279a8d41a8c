import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { readList, toPublishedTable } from "../../scripts/interop/published.mjs";
import { partOf } from "./document.ts";

const committed = readFileSync(join(import.meta.dirname, "../../docs/conformance.md"), "utf8");

test("at least thirty published servers are listed once, with pinned versions", () => {
  const list = readList();
  expect(list.length).toBeGreaterThanOrEqual(30);
  expect(new Set(list.map((one) => one.package)).size).toBe(list.length);
  expect(list.filter(({ version }) => !/^\d+\.\d+\.\d+$/.test(version))).toEqual([]);
  expect(list.filter(({ call }) => call !== undefined).length).toBeGreaterThanOrEqual(8);
});

test("docs/conformance.md has a result of every published server (update: npm run interop -- --published)", () => {
  const part = partOf(committed, "published");
  const rows = part.split("\n").filter((line) => /^\| [^-]/.test(line) && !line.startsWith("| server"));
  expect(rows.map((row) => row.split(" | ").slice(0, 2).join("@").slice(2))).toEqual(
    readList().map((one) => `${one.package}@${one.version}`),
  );
  const results = rows.flatMap((row) => row.replace(/ \|$/, "").split(" | ").slice(4));
  expect(results.filter((result) => !/^(ok|–|FAIL \d+)$/.test(result))).toEqual([]);
  const failures = new Set(results.flatMap((result) => /^FAIL (\d+)$/.exec(result)?.[1] ?? []));
  const reasons = [...part.matchAll(/^(\d+)\. \S/gm)].map(([, number]) => number);
  expect([...failures].sort()).toEqual([...reasons].sort());
});

test("a failure of a published server is shown as a failure, with its cause below the table", () => {
  const fine = { ok: true } as const;
  const base = { version: "1.0.0", revision: "2025-11-25", tools: "3", ls: fine };
  const { lines, reasons } = toPublishedTable([
    { ...base, package: "a", call: fine, "served ls": { why: "it hangs" }, "served call": { why: "it hangs" } },
    { ...base, package: "b", call: {}, "served ls": { why: "it exits" }, "served call": {} },
  ]);
  expect(lines.map((line) => line.slice(4))).toEqual([
    ["ok", "ok", "FAIL 1", "FAIL 1"],
    ["ok", "–", "FAIL 2", "–"],
  ]);
  expect(reasons).toEqual(["1. it hangs", "2. it exits"]);
});
