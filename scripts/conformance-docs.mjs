// Writes docs/conformance.md from the manifests of the tests and the results of the last `npm run interop` and
// `npm run conformance`.
import { spawnSync } from "node:child_process";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");
const vitest = join(root, "node_modules/vitest/vitest.mjs");
const env = { ...process.env, UPDATE_CONFORMANCE: "1" };
const args = [vitest, "run", "--project", "system", "test/conformance-docs"];
process.exitCode = spawnSync(process.execPath, args, { cwd: root, env, stdio: "inherit" }).status ?? 1;
