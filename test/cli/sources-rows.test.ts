import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { sourceRows } from "./sources-rows.ts";

const texts = readdirSync(import.meta.dirname)
  .filter((name) => name.endsWith(".test.ts"))
  .map((name) => readFileSync(`${import.meta.dirname}/${name}`, "utf8"));

test.each(Object.keys(sourceRows))("a group of tests names the row %s", (row) => {
  const named = new RegExp(`^describe\\(".*\\b${row}\\b.*", \\(\\) => \\{$`, "m");
  expect(texts.filter((text) => named.test(text)).length).toBeGreaterThan(0);
});
