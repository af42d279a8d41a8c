import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { folder, readFindings, toMatrix } from "../../scripts/interop/matrix.mjs";
import { isPresent } from "../json-schema/suite.ts";
import { clientCoverage, serverCoverage } from "./coverage.ts";
import {
  partOf,
  renderCoverage,
  renderExceptions,
  renderInterop,
  renderJsonSchema,
  renderSuite,
  type SuiteScore,
  withPart,
} from "./document.ts";
import { renderExtensionPeers } from "./extension-peers.ts";
import { scoreValidators } from "./json-schema.ts";

const root = join(import.meta.dirname, "../..");
const path = join(root, "docs/conformance.md");
const suiteScores = join(root, "node_modules/.cache/portolan/conformance.json");

if (process.env["UPDATE_CONFORMANCE"]) update();
const committed = readFileSync(path, "utf8");

/** Updates the document from the current results; parts without results stay unchanged. */
function update(): void {
  let text = withPart(readFileSync(path, "utf8"), "coverage", renderCoverage());
  text = withPart(text, "extension-peers", renderExtensionPeers());
  if (isPresent) text = withPart(text, "json-schema", renderJsonSchema(scoreValidators()));
  if (existsSync(folder)) text = withPart(text, "interop", renderInterop(toMatrix(readFindings())));
  if (existsSync(suiteScores)) {
    const scores = JSON.parse(readFileSync(suiteScores, "utf8")) as SuiteScore[];
    const { server, client } = JSON.parse(readFileSync(join(root, "test/conformance/exceptions.json"), "utf8"));
    text = withPart(text, "suite", renderSuite(scores) + renderExceptions({ ...server, ...client }));
  }
  writeFileSync(path, text);
}

test("docs/conformance.md lists the tested requirements of the manifests (update: npm run conformance:docs)", () => {
  expect(partOf(committed, "coverage")).toBe(renderCoverage());
});

test.skipIf(!isPresent)("docs/conformance.md has the scores of the official JSON Schema test suite", () => {
  expect(partOf(committed, "json-schema")).toBe(renderJsonSchema(scoreValidators()));
});

test("docs/conformance.md lists the other implementations of extensions with the versions of the lock files", () => {
  expect(partOf(committed, "extension-peers")).toBe(renderExtensionPeers());
});

test("docs/conformance.md names the scenarios of the official suite that are excepted", () => {
  const exceptions = JSON.parse(readFileSync(join(root, "test/conformance/exceptions.json"), "utf8"));
  for (const [name, reason] of Object.entries({ ...exceptions.server, ...exceptions.client })) {
    expect(partOf(committed, "suite")).toContain(`\`${name}\`: ${reason}`);
  }
});

const peers = ["SDK v1", "SDK v2", "everything", "filesystem", "memory", "fastmcp", "tmcp", "mcp-lite", "AI SDK"];

test("docs/conformance.md has a table of all peers without failures", () => {
  const table = partOf(committed, "interop");
  for (const peer of peers) expect(table).toContain(`| ${peer} |`);
  expect(table.split("\n").filter((line) => /\| (FAIL|\?) \|/.test(line))).toEqual([]);
});

test("every requirement has a test or a reason", () => {
  const rows = [...serverCoverage(), ...clientCoverage()];
  expect(rows.length).toBeGreaterThan(400);
  expect(rows.filter(({ reason }) => reason === "no test").map(({ row }) => row)).toEqual([]);
});

test("the suite table has one column per implementation", () => {
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
