// Runs the interop tests and prints the results as one table. Fails if a test failed.
//   --quick   runs two of the pairings if the other implementations are installed, and prints no table
//   --published [text]   runs published servers of npm (those whose name has the text), and updates docs/conformance.md
//   --table   prints the results of the last runs, and runs nothing
import { spawnSync } from "node:child_process";
import { existsSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { folder, readFindings, toMatrix } from "./interop/matrix.mjs";
import { toTable } from "./interop/table.mjs";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");
const flags = new Set(process.argv.slice(2));

const quick = [
  ...["test/interop/sdk-clients.test.ts", "test/interop/client/mcp-lite-http.test.ts"],
  ...["-t", "(SDK v2 2026-07-28|mcp-lite 2025-06-18)"],
];

if (flags.has("--quick")) process.exitCode = runQuickly();
else if (flags.has("--published")) {
  const { runPublished } = await import("./interop/published.mjs");
  process.exitCode = await runPublished(process.argv[process.argv.indexOf("--published") + 1]);
} else if (flags.has("--table")) process.exitCode = printTable();
else {
  rmSync(folder, { recursive: true, force: true });
  const status = runTests(["test/interop"]);
  process.exitCode = printTable() || status;
}

function runQuickly() {
  if (existsSync(join(root, "test/peers/node_modules"))) return runTests(quick);
  console.log("interop: skipped, the other implementations are not installed; npm run interop installs them");
  return 0;
}

function runTests(what) {
  const vitest = join(root, "node_modules/vitest/vitest.mjs");
  const args = [vitest, "run", "--project", "system", "--silent=true", ...what];
  return spawnSync(process.execPath, args, { cwd: root, stdio: "inherit" }).status ?? 1;
}

function printTable() {
  const { heading, rows, reasons, problems } = toMatrix(existsSync(folder) ? readFindings() : []);
  const legend = [
    "ok: what both sides have works; ?: not run",
    "–: not in this revision, not over this transport, or nothing to see from this side",
    "a number: the peer lacks it, or a part of it, because",
    ...reasons.map((reason, at) => `${String(at + 1).padStart(4)}  ${reason}`),
  ];
  console.log([toTable(heading, rows), "", ...legend, ...problems].join("\n"));
  console.log(`interop: ${rows.length} ways to speak, ${problems.length} problems`);
  return rows.length === 0 || problems.length > 0 ? 1 : 0;
}
