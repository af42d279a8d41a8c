import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { manifest as ofChannels } from "../../requirements/manifest.ts";
import { scopeOf as scopeOnChannels } from "../../requirements/requirement.ts";
import { http } from "../../requirements/rows/row.ts";
import { sections as sectionsOfChannels } from "../../requirements/sections/index.ts";
import { standIns } from "./equivalent-rows.ts";
import { otherwise } from "./exceptions.ts";
import { scopeOf } from "./requirement.ts";
import { manifest } from "./rows/index.ts";
import { sections } from "./sections/index.ts";

const matrix = join(import.meta.dirname, "../../../../shared/spec/MATRIX.md");
if (!existsSync(matrix)) console.log("the rows are not compared with the matrix, which is not beside this clone");

/** Chapters of the matrix that say nothing about how a server speaks HTTP. */
const elsewhere: { readonly [chapter: string]: string } = {
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
    otherwise.some((one) => one.row === row && one.says === says && one.on.some((other) => other === date));
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
  // What is about pipes binds nobody here, unless it has an entry of its own.
  if (entry.over && !entry.over.includes("memory")) return [];
  const standIn = standIns[row];
  return entry.on.filter((date) => !covered.get(row)?.has(date) && !(standIn && covered.get(standIn)?.has(date)));
}

test.each(Object.keys(ofChannels))("row %s of the channels is covered over HTTP, or binds nobody there", (row) => {
  expect(gapsOf(row)).toEqual([]);
});

test("every stand-in stands for a row of the channels, and is one of HTTP", () => {
  expect(Object.keys(standIns).filter((row) => !(row in ofChannels))).toEqual([]);
  expect(Object.values(standIns).filter((row) => !(row in manifest))).toEqual([]);
});

test.skipIf(!existsSync(matrix))("every row of the matrix has an entry", () => {
  const rows = [...readFileSync(matrix, "utf8").matchAll(/^\| ([A-Z])(\d+) \|/gm)].filter(
    ([, chapter = ""]) => !(chapter in elsewhere),
  );
  expect(rows.length).toBeGreaterThan(190);
  const missing = rows.map(([, chapter, number]) => `${chapter}${number}`).filter((row) => !isKnown(row));
  expect(missing).toEqual([]);
});

function isKnown(row: string): boolean {
  return row in manifest || row in ofChannels;
}
