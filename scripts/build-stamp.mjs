// @ts-check
// Remembers what the last build read and wrote, so that a set-up builds nothing that has not changed.
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");
const stamp = join(root, "node_modules/.cache/portolan/build");

/** Returns true if neither a source nor a built file has changed since the last build. */
export function isBuilt() {
  return existsSync(stamp) && readFileSync(stamp, "utf8") === fingerprint();
}

/** Call it after a build. */
export function rememberBuild() {
  mkdirSync(dirname(stamp), { recursive: true });
  writeFileSync(stamp, fingerprint());
}

/** Returns a digest of the names, sizes and times of all files that a build reads or writes. */
function fingerprint() {
  const hash = createHash("sha256").update(process.version);
  const add = (/** @type {string} */ file) => {
    const { size, mtimeMs } = statSync(file);
    hash.update(`${file} ${size} ${mtimeMs}\n`);
  };
  for (const name of ["tsconfig.base.json", "node_modules/.package-lock.json"]) {
    if (existsSync(join(root, name))) add(join(root, name));
  }
  for (const name of ["build.mjs", "bundle-command.mjs", "bundle-console.mjs", "command-loader.mjs", "swap-in.mjs"])
    add(join(root, "scripts", name));
  for (const parent of ["packages", "packages/servers"]) {
    for (const folder of namesIn(join(root, parent)).map((name) => join(root, parent, name))) {
      for (const name of ["package.json", "tsconfig.json", "tsconfig.app.json"]) {
        if (existsSync(join(folder, name))) add(join(folder, name));
      }
      for (const file of filesIn(join(folder, "src"))) if (!file.endsWith(".test.ts")) add(file);
      for (const file of filesIn(join(folder, "dist"))) if (file.endsWith(".js")) add(file);
    }
  }
  return hash.digest("hex");
}

/** @param {string} folder @returns {string[]} */
function filesIn(folder) {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { withFileTypes: true })
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .flatMap((entry) => (entry.isDirectory() ? filesIn(join(folder, entry.name)) : [join(folder, entry.name)]));
}

/** @param {string} folder */
function namesIn(folder) {
  return readdirSync(folder).sort();
}
