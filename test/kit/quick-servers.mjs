// Rows of requirements start their servers by the hundred, and loading zod from its many files takes longer than all else
// that they do: before the tests, each is bundled into one file, with zod in it and Portolan as it was built beside it.
import { existsSync, readdirSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "rolldown";

const test = join(dirname(fileURLToPath(import.meta.url)), "..");
const folder = join(test, "../node_modules/.cache/portolan-test-servers");

/** Bundles them; called by vitest. */
export default async function bundleServers() {
  const rows = join(test, "requirements/servers");
  const input = [join(test, "kit/full-server.mjs"), ...readdirSync(rows).map((name) => join(rows, name))];
  await build({
    input,
    platform: "node",
    external: [/^node:/, /^portolan/],
    output: { dir: folder, format: "esm", entryFileNames: "[name].mjs", chunkFileNames: "[name]-[hash].mjs" },
    logLevel: "warn",
  });
}

/** The bundled file of a server, or the file itself where there is none. */
export function quickServer(path) {
  const bundled = join(folder, basename(path));
  return existsSync(bundled) ? bundled : path;
}
