import { expect, test } from "vitest";
import { scopeOf } from "./requirement.ts";
import { manifest } from "./rows/index.ts";
import { sections } from "./sections/index.ts";

const requirements = Object.values(sections).flat();

test("the requirements were found", () => {
  expect(Object.keys(manifest).length).toBeGreaterThan(80);
  expect(requirements.length).toBeGreaterThan(120);
});

test.each(Object.entries(manifest))("row %s is covered on every revision that has it", (row, entry) => {
  if (!("on" in entry)) {
    expect("untestable" in entry ? entry.untestable : entry.later).not.toBe("");
    return;
  }
  const covered = new Set(requirements.filter((requirement) => requirement.row === row).flatMap(scopeOf));
  expect(
    entry.on.filter((revision) => !covered.has(revision)),
    `${row}: ${entry.about}`,
  ).toEqual([]);
});

test("every requirement names a row of the manifest", () => {
  expect(requirements.map(({ row }) => row).filter((row) => !(row in manifest))).toEqual([]);
});
