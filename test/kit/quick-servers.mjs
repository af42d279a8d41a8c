// Tests start the same programs hundreds of times, and loading the many files of their packages takes most of that time.
// Each program is therefore bundled into a few files before the tests. Portolan is not bundled again.
import { existsSync, readdirSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "rolldown";

const test = join(dirname(fileURLToPath(import.meta.url)), "..");
const folder = join(test, "../node_modules/.cache/portolan-test-servers");

/** Bundles the programs; vitest calls it once. */
export default async function bundleServers() {
  await bundle(["kit/full-server.mjs", "server/fixtures/killed-tasks.mjs", ...filesIn("requirements/servers")]);
  // The packages of peers are installed separately and may be missing.
  if (existsSync(join(test, "peers/node_modules")))
    await bundle([...filesIn("peers/servers"), ...filesIn("peers/http")]);
}

/** Returns the bundled file of a program, or the program itself if there is none. */
export function quickServer(path) {
  const bundled = join(folder, `${nameOf(relative(test, path))}.mjs`);
  return existsSync(bundled) ? bundled : path;
}

function filesIn(place) {
  return readdirSync(join(test, place)).map((name) => `${place}/${name}`);
}

function nameOf(file) {
  return file.replace(/\.m?js$/, "");
}

async function bundle(files) {
  await build({
    input: Object.fromEntries(files.map((file) => [nameOf(file), join(test, file)])),
    platform: "node",
    external: [/^node:/, /^portolan/],
    output: { dir: folder, format: "esm", entryFileNames: "[name].mjs", chunkFileNames: "chunks/[name]-[hash].mjs" },
    // Optional dependencies that are missing are resolved at run time, as without bundling.
    checks: { unresolvedImport: false },
    logLevel: "warn",
  });
}
