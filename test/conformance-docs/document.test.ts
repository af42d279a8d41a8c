import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { folder, readFindings, toMatrix } from "../../scripts/interop/matrix.mjs";
import { isPresent } from "../json-schema/suite.ts";
import { clientCoverage, serverCoverage } from "./coverage.ts";
import {
  partOf,
  renderCoverage,
  renderInterop,
  renderJsonSchema,
  renderSuite,
  type SuiteScore,
  withPart,
} from "./document.ts";
import { scoreValidators } from "./json-schema.ts";

const root = join(import.meta.dirname, "../..");
const path = join(root, "docs/conformance.md");
const suiteScores = join(root, "node_modules/.cache/portolan/conformance.json");

if (process.env["UPDATE_CONFORMANCE"]) update();
const committed = readFileSync(path, "utf8");

/** Writes what is known now into the document; what no command has left behind stays as it is. */
function update(): void {
  let text = withPart(readFileSync(path, "utf8"), "coverage", renderCoverage());
  if (isPresent) text = withPart(text, "json-schema", renderJsonSchema(scoreValidators()));
  if (existsSync(folder)) text = withPart(text, "interop", renderInterop(toMatrix(readFindings())));
  if (existsSync(suiteScores)) {
    text = withPart(text, "suite", renderSuite(JSON.parse(readFileSync(suiteScores, "utf8")) as SuiteScore[]));
  }
  writeFileSync(path, text);
}

test("docs/conformance.md says which requirements are tested as the manifests do; npm run conformance:docs", () => {
  expect(partOf(committed, "coverage")).toBe(renderCoverage());
});

test.skipIf(!isPresent)(
  "docs/conformance.md says how JSON Schemas are checked as the official test suite finds",
  () => {
    expect(partOf(committed, "json-schema")).toBe(renderJsonSchema(scoreValidators()));
  },
);

const peers = ["SDK v1", "SDK v2", "everything", "filesystem", "memory", "fastmcp", "tmcp", "mcp-lite", "AI SDK"];

test("docs/conformance.md has a table of all peers in which nothing failed", () => {
  const table = partOf(committed, "interop");
  for (const peer of peers) expect(table).toContain(`| ${peer} |`);
  expect(table.split("\n").filter((line) => /\| (FAIL|\?) \|/.test(line))).toEqual([]);
});

test("every requirement has a test or a reason", () => {
  const rows = [...serverCoverage(), ...clientCoverage()];
  expect(rows.length).toBeGreaterThan(400);
  expect(rows.filter(({ reason }) => reason === "no test").map(({ row }) => row)).toEqual([]);
});

test("scores of the official suite stand beside each other", () => {
  const score = { revision: "2025-11-25", side: "server", applicable: 33 };
  const table = renderSuite([
    { ...score, passed: 33, exceptions: [] },
    { ...score, implementation: "SDK v2", passed: 30, exceptions: ["a", "b"] },
  ]);
  expect(table.split("\n")).toEqual([
    "| revision | side | Portolan | SDK v2 |",
    "| --- | --- | --- | --- |",
    "| 2025-11-25 | server | 33 of 33 | 30 of 33, 2 excepted |",
  ]);
});
