import { expect, test } from "vitest";
import { transports } from "../kit/revisions.ts";
import { manifest } from "./manifest.ts";
import { scopeOf } from "./requirement.ts";
import { sections } from "./sections/index.ts";

const requirements = Object.values(sections).flat();

test("the requirements were found", () => {
  expect(Object.keys(manifest).length).toBeGreaterThan(100);
  expect(requirements.length).toBeGreaterThan(100);
});

test.each(Object.entries(manifest))("row %s is covered on every revision and transport that has it", (row, entry) => {
  if (!("on" in entry)) {
    expect("untestable" in entry ? entry.untestable : entry.later).not.toBe("");
    return;
  }
  const covered = new Set<string>();
  for (const requirement of requirements.filter((candidate) => candidate.row === row)) {
    const { on, over } = scopeOf(requirement);
    for (const revision of on) for (const transport of over) covered.add(`${revision} over ${transport}`);
  }
  const wanted = entry.on.flatMap((revision) =>
    (entry.over ?? transports).map((transport) => `${revision} over ${transport}`),
  );
  expect(
    wanted.filter((place) => !covered.has(place)),
    `${row}: ${entry.about}`,
  ).toEqual([]);
});

test("every requirement names a row of the manifest", () => {
  expect(requirements.map(({ row }) => row).filter((row) => !(row in manifest))).toEqual([]);
});
