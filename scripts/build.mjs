// Builds the library: TypeScript checks it and writes the declarations, rolldown writes few files that load fast.
import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "rolldown";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");
const library = join(root, "packages/portolan");
const built = join(library, "dist");

/** Builds the library; the reason when it cannot be built. */
export async function buildLibrary() {
  const compiler = join(root, "node_modules/typescript/bin/tsc");
  const { status, stdout } = spawnSync(process.execPath, [compiler, "-b", library], { encoding: "utf8" });
  if (status !== 0) return stdout;
  for (const file of readdirSync(built, { recursive: true, encoding: "utf8" })) {
    if (file.endsWith(".js")) rmSync(join(built, file));
  }
  const input = entries();
  const core = staticallyImported(join(library, "src/server/index.ts"), join(library, "src/server/stdio.ts"));
  for (const entry of Object.values(input)) core.delete(entry);
  await build({
    input,
    platform: "neutral",
    external: [/^node:/, "jose", "oauth4webapi"],
    preserveEntrySignatures: "allow-extension",
    output: {
      dir: built,
      format: "esm",
      chunkFileNames: "chunks/[name]-[hash].js",
      // Node pays for each file: what every server needs is one.
      codeSplitting: {
        includeDependenciesRecursively: false,
        groups: [{ name: "core", test: (id) => core.has(id) }],
      },
    },
    logLevel: "warn",
  });
  return undefined;
}

/** The source of each public entry, by the place of its file in `dist`. */
function entries() {
  const { exports } = JSON.parse(readFileSync(join(library, "package.json"), "utf8"));
  const names = Object.values(exports).flatMap(({ default: file }) => file?.match(/^\.\/dist\/(.+)\.js$/)?.[1] ?? []);
  return Object.fromEntries(names.map((name) => [name, join(library, `src/${name}.ts`)]));
}

/** The modules that load with these, as far as nothing is imported later or for its types only. */
function staticallyImported(...files) {
  const found = new Set();
  const visit = (file) => {
    if (found.has(file)) return;
    found.add(file);
    const imports = readFileSync(file, "utf8").matchAll(/^(?:import|export)\s+(?!type\b)[^;]*?from\s+"(\.[^"]+)"/gm);
    for (const [, target] of imports) visit(join(dirname(file), target));
  };
  files.forEach(visit);
  return found;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const reason = await buildLibrary();
  if (reason !== undefined) {
    console.error(reason);
    process.exit(1);
  }
}
