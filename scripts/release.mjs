// Releases all packages with npm, or shows what a release would do.
//   npm run release -- --dry-run      builds, stages and checks; publishes nothing
//   npm run release                   also publishes, if nothing is missing
//   npm run release -- --provenance   also proves where the packages were built; works only in a job that may sign
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { buildLibrary } from "./build.mjs";
import { release } from "./release/release.mjs";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");
const { values } = parseArgs({ options: { "dry-run": { type: "boolean" }, provenance: { type: "boolean" } } });
try {
  process.exitCode = await release(root, {
    dryRun: values["dry-run"] === true,
    provenance: values.provenance === true,
    build: buildLibrary,
  });
} catch (error) {
  console.error(`The release failed: ${error.message}`);
  process.exitCode = 1;
}
