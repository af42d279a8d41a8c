// Tests start the same programs by the hundred, and loading one from the many files of its packages takes longer than all
// else that it does: before the tests, each is bundled into a few files. Portolan stays as it was built.
import { existsSync, readdirSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "rolldown";

const test = join(dirname(fileURLToPath(import.meta.url)), "..");
const folder = join(test, "../node_modules/.cache/portolan-test-servers");

/** Bundles them; called by vitest. */
export default async function bundleServers() {
  await bundle(["kit/full-server.mjs", ...filesIn("requirements/servers")]);
  // Installed apart, and not for every run.
  if (existsSync(join(test, "peers/node_modules")))
    await bundle([...filesIn("peers/servers"), ...filesIn("peers/http")]);
}

/** The bundled file of a program, or the file itself where there is none. */
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
    // What a package would like to have and has not got is looked for when it runs, as it is without bundling.
    checks: { unresolvedImport: false },
    logLevel: "warn",
  });
}
