import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import type { ExtensionRequirement } from "../../scripts/requirements-matrix.mjs";
import { sourceRows } from "../cli/sources-rows.ts";
import { manifest as httpServer } from "../http/server/rows/index.ts";
import { rowsAppHost } from "./apps/rows.ts";
import { manifest as httpClient } from "./client/http/rows/index.ts";
import { manifest as clientManifest } from "./client/manifest.ts";
import { manifest as hostManifest } from "./host/manifest.ts";
import { rowsSkills as hostSkills } from "./host/skills-rows.ts";
import { manifest as server } from "./manifest.ts";
import type { Row } from "./rows/row.ts";

const tasks = { extension: "tasks", from: 10, to: 67 };
const client = withoutPrefix({ ...clientManifest, ...httpClient });

/**
 * Which rows cover the requirements of an extension on one side. To add a side of an extension: write its rows in a file like
 * `rows/tasks.ts`, each with the scopes it applies to, or with the reason why no test covers it (`untestable`, `later`);
 * write its tests like `sections/tasks.ts`; then add a line here. `extensions.json` has the words of every requirement.
 */
const covered: readonly Covered[] = [
  // X6 is a duty of each half, X8 a rule for the frame itself.
  { extension: "frame", from: 1, to: 9, sides: ["S", "both", "SDK", "—"], rows: server },
  { extension: "frame", from: 1, to: 9, sides: ["both", "SDK"], rows: client },
  { extension: "apps", from: 70, to: 79, sides: ["S", "both"], rows: server },
  { extension: "cards", from: 130, to: 139, sides: ["S"], rows: httpServer },
  { extension: "skills", from: 100, to: 129, sides: ["S", "both"], rows: server },
  { extension: "skills", from: 111, to: 127, sides: ["H"], rows: { ...client, ...hostSkills } },
  { ...tasks, sides: ["S", "both"], rows: server },
  { ...tasks, sides: ["C", "both"], rows: client },
  { ...tasks, sides: ["H"], rows: hostManifest },
  { extension: "cards, registries and bundles", from: 130, to: 139, sides: ["C", "CLI"], rows: sourceRows },
  { extension: "apps in hosts", from: 70, to: 99, sides: ["H", "V", "P", "H/P"], rows: rowsAppHost },
];

interface Covered {
  readonly extension: string;
  readonly from: number;
  readonly to: number;
  readonly sides: readonly string[];
  readonly rows: { readonly [row: string]: Row };
}

const requirements: { readonly [id: string]: ExtensionRequirement } = JSON.parse(
  readFileSync(new URL("extensions.json", import.meta.url), "utf8"),
);

test.each(covered)(
  "every requirement on $extension for $sides has a row, with tests or a reason",
  ({ from, to, sides, rows }) => {
    const ids = Object.keys(requirements).filter((id) => Number(id.slice(1)) >= from && Number(id.slice(1)) <= to);
    const wanted = ids.filter((id) => sides.includes(requirements[id]?.side ?? ""));
    expect(wanted.length).toBeGreaterThan(0);
    expect(wanted.filter((id) => rows[id] === undefined)).toEqual([]);
  },
);

test("no requirement is left out", () => {
  const isCovered = (id: string) =>
    covered.some(({ from, to, sides }) => {
      const number = Number(id.slice(1));
      return number >= from && number <= to && sides.includes(requirements[id]?.side ?? "");
    });
  expect(Object.keys(requirements).filter((id) => !isCovered(id))).toEqual([]);
});

/** Rows that the server's manifest leaves to another one. */
const left = Object.entries(server).filter(([id, row]) => requirements[id] !== undefined && "later" in row);
const others = [client, httpServer, hostManifest, hostSkills, rowsAppHost, sourceRows];

test("every row that the server leaves to another side is tested there", () => {
  expect(left.length).toBeGreaterThan(5);
  const isTested = (id: string) => others.some((rows) => "on" in (rows[id] ?? {}));
  expect(left.map(([id]) => id).filter((id) => !isTested(id))).toEqual([]);
});

/** The rows without any test, by their reasons. A further one needs a reason that holds for every implementation. */
test("only advice for a design has no test", () => {
  const all = [server, client, httpServer, hostManifest, hostSkills, rowsAppHost, sourceRows];
  const untested = Object.keys(requirements).filter((id) => !all.some((rows) => "on" in (rows[id] ?? {})));
  expect(untested).toEqual(["X67"]);
});

function withoutPrefix(rows: { readonly [row: string]: Row }): { readonly [row: string]: Row } {
  return Object.fromEntries(Object.entries(rows).map(([id, row]) => [id.replace(/^C-/, ""), row]));
}
