import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { manifest as ofChannels } from "../../requirements/manifest.ts";
import { scopeOf as scopeOnChannels } from "../../requirements/requirement.ts";
import { http } from "../../requirements/rows/row.ts";
import { sections as sectionsOfChannels } from "../../requirements/sections/index.ts";
import { equivalentRows } from "./equivalent-rows.ts";
import { exceptions } from "./exceptions.ts";
import { scopeOf } from "./requirement.ts";
import { manifest } from "./rows/index.ts";
import { sections } from "./sections/index.ts";

const matrix = join(import.meta.dirname, "../../../../shared/spec/MATRIX.md");
if (!existsSync(matrix))
  console.log("The rows are not compared with the matrix: shared/spec/MATRIX.md was not found beside this clone.");

/** Chapters of the matrix without requirements on a server over HTTP. */
const otherChapters: { readonly [chapter: string]: string } = {
  L: "the tasks extension",
  N: "authorization",
  O: "extensions",
  P: "the host",
};

/** The revisions on which a row is tested over HTTP. */
const covered = new Map<string, Set<string>>();
function cover(row: string, on: readonly string[]): void {
  covered.set(row, new Set([...(covered.get(row) ?? []), ...on]));
}
for (const requirement of Object.values(sectionsOfChannels).flat()) {
  const { row, says } = requirement;
  const { on, over } = scopeOnChannels(requirement);
  const isExcepted = (date: string) =>
    exceptions.some((one) => one.row === row && one.says === says && one.on.some((other) => other === date));
  if (over.includes("memory"))
    cover(
      row,
      on.filter((date) => !isExcepted(date)),
    );
}
for (const requirement of Object.values(sections).flat()) cover(requirement.row, scopeOf(requirement));

/** The revisions of a row of the channels that no test over HTTP covers. */
function gapsOf(row: string): readonly string[] {
  const entry = ofChannels[row];
  if (!entry) return [];
  if (!("on" in entry)) return "later" in entry && entry.later === http && !(row in manifest) ? ["all"] : [];
  // Requirements on stdio do not apply over HTTP, except those with an entry in this manifest.
  if (entry.over && !entry.over.includes("memory")) return [];
  const equivalent = equivalentRows[row];
  return entry.on.filter((date) => !covered.get(row)?.has(date) && !(equivalent && covered.get(equivalent)?.has(date)));
}

test.each(Object.keys(ofChannels))("row %s of the channels is covered over HTTP or does not apply there", (row) => {
  expect(gapsOf(row)).toEqual([]);
});

test("every equivalent row replaces a row of the channels and exists in the HTTP manifest", () => {
  expect(Object.keys(equivalentRows).filter((row) => !(row in ofChannels))).toEqual([]);
  expect(Object.values(equivalentRows).filter((row) => !(row in manifest))).toEqual([]);
});

test.skipIf(!existsSync(matrix))("every row of the matrix has an entry", () => {
  const rows = [...readFileSync(matrix, "utf8").matchAll(/^\| ([A-Z])(\d+) \|/gm)].filter(
    ([, chapter = ""]) => !(chapter in otherChapters),
  );
  expect(rows.length).toBeGreaterThan(190);
  const missing = rows.map(([, chapter, number]) => `${chapter}${number}`).filter((row) => !isKnown(row));
  expect(missing).toEqual([]);
});

function isKnown(row: string): boolean {
  return row in manifest || row in ofChannels;
}
