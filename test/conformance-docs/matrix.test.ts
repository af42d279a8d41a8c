import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import {
  extensionSource,
  extensionTarget,
  parseExtensions,
  parseMatrix,
  source,
  target,
} from "../../scripts/requirements-matrix.mjs";
import { clientCoverage, matrix, matrixId, revisions, serverCoverage, testedElsewhere } from "./coverage.ts";
import { partOf } from "./document.ts";

const document = readFileSync(join(import.meta.dirname, "../../docs/conformance.md"), "utf8");
const sides = { servers: serverCoverage(), clients: clientCoverage() };

/** The rows of the tables in the document, by their identifiers. */
const printed = new Map(
  partOf(document, "coverage")
    .split("\n")
    .map((line) =>
      line
        .split(/(?<!\\)\|/)
        .slice(1, -1)
        .map((cell) => cell.trim()),
    )
    .filter(([row = "", ...cells]) => matrixId(row) !== undefined && cells.length > 1)
    .map(([row = "", ...cells]) => [row, cells] as const),
);

describe.each(Object.entries(sides))("the conformance table of %s", (_, rows) => {
  const own = rows.filter(({ row }) => matrixId(row) !== undefined);

  test("has every requirement of the specification matrix once, and no other under such an identifier", () => {
    const ids = own.map(({ row }) => matrixId(row) ?? "");
    expect([...ids].sort()).toEqual(Object.keys(matrix).sort());
  });

  test("states each requirement in the words of the matrix", () => {
    for (const { row } of own) {
      const { requirement = "", text = "" } = matrix[matrixId(row) ?? ""] ?? {};
      const words = (text === "" ? requirement : `${requirement}: ${text}`).replaceAll("|", "\\|");
      expect(printed.get(row)?.[0], row).toBe(words);
    }
  });

  test("states the level of each requirement on each revision", () => {
    for (const { row, reason } of own) {
      if (reason !== undefined) continue;
      const cells = printed.get(row)?.slice(2) ?? [];
      const levels = cells.map((cell) => /^(?:(?:MUST|SHOULD|MAY)\/?)*/.exec(cell)?.[0]);
      const expected = revisions.map((date) => matrix[matrixId(row) ?? ""]?.levels[date] ?? "");
      expect(levels, row).toEqual(expected);
    }
  });

  test("has a test for each revision on which a requirement has a level, or names the row that has one", () => {
    const missing = own.flatMap(({ row, at, reason }) => {
      if (reason !== undefined) return [];
      const levels = matrix[matrixId(row) ?? ""]?.levels ?? {};
      return revisions
        .filter((date) => (levels[date] ?? "") !== "" && ![...at].some((place) => place.startsWith(date)))
        .filter((date) => testedElsewhere[row]?.[date] === undefined)
        .map((date) => `${row} on ${date}`);
    });
    expect(missing).toEqual([]);
  });

  test("says of each row that lacks something that it is not fulfilled", () => {
    const said = own.filter(({ row }) => printed.get(row)?.[1]?.includes("**Not fulfilled:**")).map(({ row }) => row);
    expect(said).toEqual(own.filter(({ lacks }) => lacks !== undefined).map(({ row }) => row));
  });
});

const isPresent = existsSync(source);
if (!isPresent) console.log(`skipped: ${source} is not here, so matrix.json is not compared with it`);

test.skipIf(!isPresent)(
  "matrix.json is what the specification matrix says (update: node scripts/requirements-matrix.mjs)",
  () => {
    expect(JSON.parse(readFileSync(target, "utf8"))).toEqual(parseMatrix(readFileSync(source, "utf8")));
  },
);

test.skipIf(!existsSync(extensionSource))(
  "extensions.json is what the requirements on extensions say (update: node scripts/requirements-matrix.mjs)",
  () => {
    const said = parseExtensions(readFileSync(extensionSource, "utf8"));
    expect(JSON.parse(readFileSync(extensionTarget, "utf8"))).toEqual(said);
    expect(Object.keys(said).length).toBeGreaterThan(100);
  },
);

test("the notation of the matrix is read: as before, changed, absent, removed", () => {
  const line = (...cells: string[]) => `| ${cells.join(" | ")} |`;
  const text = [
    line("A1", "One", "MUST", "=", "Δ SHOULD x", "Δ y", "R"),
    line("B2", "Two SHOULD", "—", "—", "P", "=, MAY z", "other words"),
    line("F1", "`Mcp-Name`", "S MUST send it"),
  ].join("\n");
  expect(parseMatrix(text)).toEqual({
    A1: {
      requirement: "One",
      text: "MUST; since 2025-06-18: SHOULD x; since 2025-11-25: y; since 2026-07-28: removed",
      levels: { "2024-11-05": "MUST", "2025-03-26": "MUST", "2025-06-18": "SHOULD", "2025-11-25": "SHOULD" },
    },
    B2: {
      requirement: "Two SHOULD",
      text: "since 2025-06-18; since 2025-11-25: MAY z; since 2026-07-28: other words",
      levels: { "2025-06-18": "SHOULD", "2025-11-25": "SHOULD/MAY", "2026-07-28": "SHOULD" },
    },
    F1: { requirement: "`Mcp-Name`", text: "server MUST send it", levels: { "2026-07-28": "MUST" } },
  });
});
