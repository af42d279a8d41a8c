import { expect, test } from "vitest";
import { manifest as serverManifest } from "../manifest.ts";
import { client } from "../rows/row.ts";
import { clientTransports } from "./kit/transports.ts";
import { manifest } from "./manifest.ts";
import { scopeOf } from "./requirement.ts";
import { sections } from "./sections/index.ts";

const requirements = Object.values(sections).flat();

test("the requirements were found", () => {
  expect(Object.keys(manifest).length).toBeGreaterThan(120);
  expect(requirements.length).toBeGreaterThan(120);
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
    (entry.over ?? clientTransports).map((transport) => `${revision} over ${transport}`),
  );
  expect(
    wanted.filter((place) => !covered.has(place)),
    `${row}: ${entry.about}`,
  ).toEqual([]);
});

test("every requirement names a row of the manifest", () => {
  expect(requirements.map(({ row }) => row).filter((row) => !(row in manifest))).toEqual([]);
});

/** Rows that the server's half numbers for itself and leaves to the client. */
const renamed: { readonly [row: string]: string } = { XM14: "C-M4", XI7: "C-XI7" };

test("every row of the matrix that the server's half has is in this one too", () => {
  const rows = Object.keys(serverManifest).filter((row) => !row.startsWith("X"));
  expect(rows.length).toBeGreaterThan(100);
  expect(rows.filter((row) => !(`C-${row}` in manifest))).toEqual([]);
});

test("what the server's half leaves to the client is in this one", () => {
  const left = Object.entries(serverManifest).filter(([, row]) => "later" in row && row.later.includes(client));
  expect(left.length).toBeGreaterThan(5);
  const missing = left.map(([row]) => renamed[row] ?? `C-${row}`).filter((row) => !(row in manifest));
  expect(missing).toEqual([]);
});
