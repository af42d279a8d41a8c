import { expect, test } from "vitest";
import { runGate, scopesOf } from "../gate.ts";
import { manifest as serverManifest } from "../manifest.ts";
import { client } from "../rows/row.ts";
import { clientTransports } from "./kit/transports.ts";
import { manifest } from "./manifest.ts";
import { scopeOf } from "./requirement.ts";
import { sections } from "./sections/index.ts";

runGate(manifest, sections, {
  moreThan: { rows: 120, requirements: 120 },
  required: ({ on, over = clientTransports }) => scopesOf({ on, over }),
  covered: (requirement) => scopesOf(scopeOf(requirement)),
});

/** Rows of the server's manifest that have another number here. */
const renamed: { readonly [row: string]: string } = { XM14: "C-M4", XI7: "C-XI7" };

test("every row of the matrix in the server's manifest is in this manifest too", () => {
  const rows = Object.keys(serverManifest).filter((row) => !row.startsWith("X"));
  expect(rows.length).toBeGreaterThan(100);
  expect(rows.filter((row) => !(`C-${row}` in manifest))).toEqual([]);
});

test("every row that the server's manifest leaves to the client is in this manifest", () => {
  const left = Object.entries(serverManifest).filter(([, row]) => "later" in row && row.later.includes(client));
  expect(left.length).toBeGreaterThan(5);
  const missing = left.map(([row]) => renamed[row] ?? `C-${row}`).filter((row) => !(row in manifest));
  expect(missing).toEqual([]);
});
