import { expect, test } from "vitest";
import { manifest as serverManifest } from "../../../http/server/rows/index.ts";
import { runGate } from "../../gate.ts";
import { client, http } from "../../rows/row.ts";
import { manifest as everywhere } from "../manifest.ts";
import { scopeOf } from "./requirement.ts";
import { manifest } from "./rows/index.ts";
import { sections } from "./sections/index.ts";

runGate(manifest, sections, {
  moreThan: { rows: 50, requirements: 60 },
  required: ({ on }) => on,
  covered: scopeOf,
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
