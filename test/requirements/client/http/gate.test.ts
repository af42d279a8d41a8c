import { expect, test } from "vitest";
import { manifest as serverManifest } from "../../../http/server/rows/index.ts";
import { runGate } from "../../gate.ts";
import { client, http } from "../../rows/row.ts";
import { manifest as clientManifest } from "../manifest.ts";
import { scopeOf } from "./requirement.ts";
import { manifest } from "./rows/index.ts";
import { sections } from "./sections/index.ts";

runGate(manifest, sections, {
  moreThan: { rows: 50, requirements: 60 },
  required: ({ on }) => on,
  covered: scopeOf,
});

test("every HTTP row of the server's manifest is in this manifest too", () => {
  const rows = Object.keys(serverManifest).filter((row) => /^[DEF]\d/.test(row));
  expect(rows.length).toBeGreaterThan(40);
  expect(rows.filter((row) => !(`C-${row}` in manifest))).toEqual([]);
});

/** Rows of the server's manifest that have another number here. */
const renamed: { readonly [row: string]: string } = { "E-client": "C-E17", T26: "C-I8" };

test("every row that other manifests leave to a client over HTTP is in this manifest or in the client's", () => {
  const left = Object.entries(serverManifest).flatMap(([row, entry]) =>
    "later" in entry && entry.later === client ? [renamed[row] ?? `C-${row}`] : [],
  );
  const later = Object.entries(clientManifest).flatMap(([row, entry]) =>
    "later" in entry && entry.later === http ? [row] : [],
  );
  expect(left.length).toBeGreaterThan(3);
  expect(later).toContain("C-B15");
  expect(later.filter((row) => !(row in manifest))).toEqual([]);
  expect(left.filter((row) => !(row in manifest) && !(row in clientManifest))).toEqual([]);
});
