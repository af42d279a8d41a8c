import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { rowsT } from "../http/server/rows/t.ts";
import { threats } from "./threats.ts";

const root = new URL("../../", import.meta.url);
const all = Array.from({ length: 28 }, (_, at) => `T${String(at + 1).padStart(2, "0")}`);

test("every threat to a server over HTTP has an entry", () => {
  expect(Object.keys(threats)).toEqual(all);
  expect(Object.keys(rowsT)).toEqual(all);
});

test.each(all)("%s has tests, and each exists in the named file", (threat) => {
  const tests = threats[threat] ?? [];
  expect(tests.length).toBeGreaterThan(0);
  for (const [file, name] of tests) {
    const source = readFileSync(fileURLToPath(new URL(file, root)), "utf8");
    expect([file, name, source.includes(name)]).toEqual([file, name, true]);
  }
});
