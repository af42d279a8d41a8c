import { expect, test } from "vitest";
import { manifest as serverManifest } from "../../../http/server/rows/index.ts";
import { client, http } from "../../rows/row.ts";
import { manifest as everywhere } from "../manifest.ts";
import { scopeOf } from "./requirement.ts";
import { manifest } from "./rows/index.ts";
import { sections } from "./sections/index.ts";

const requirements = Object.values(sections).flat();

test("the requirements were found", () => {
  expect(Object.keys(manifest).length).toBeGreaterThan(50);
  expect(requirements.length).toBeGreaterThan(60);
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

test("every row on HTTP that the server's half has is in this one too", () => {
  const rows = Object.keys(serverManifest).filter((row) => /^[DEF]\d/.test(row));
  expect(rows.length).toBeGreaterThan(40);
  expect(rows.filter((row) => !(`C-${row}` in manifest))).toEqual([]);
});

/** Rows that the server's half numbers for itself and leaves to the client. */
const renamed: { readonly [row: string]: string } = { "E-client": "C-E17", T26: "C-I8" };

test("what others leave to a client over HTTP is here, or where every transport is", () => {
  const left = Object.entries(serverManifest).flatMap(([row, entry]) =>
    "later" in entry && entry.later === client ? [renamed[row] ?? `C-${row}`] : [],
  );
  const later = Object.entries(everywhere).flatMap(([row, entry]) =>
    "later" in entry && entry.later === http ? [row] : [],
  );
  expect(left.length).toBeGreaterThan(3);
  expect(later).toContain("C-B15");
  expect(later.filter((row) => !(row in manifest))).toEqual([]);
  expect(left.filter((row) => !(row in manifest) && !(row in everywhere))).toEqual([]);
});
