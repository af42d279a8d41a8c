// Builds the library: TypeScript checks it and writes the declarations, esbuild writes few files that load fast.
import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");
const library = join(root, "packages/portolan");

/** Builds the library; the reason when it cannot be built. */
export async function buildLibrary() {
  const compiler = join(root, "node_modules/typescript/bin/tsc");
  const { status, stdout } = spawnSync(process.execPath, [compiler, "-b", library], { encoding: "utf8" });
  if (status !== 0) return stdout;
  const built = join(library, "dist");
  for (const file of readdirSync(built, { recursive: true, encoding: "utf8" })) {
    if (file.endsWith(".js")) rmSync(join(built, file));
  }
  const { exports } = JSON.parse(readFileSync(join(library, "package.json"), "utf8"));
  const entries = Object.values(exports).flatMap((target) => target.default ?? []);
  const sources = entries.map((file) => join(library, file.replace("./dist/", "src/").replace(/\.js$/, ".ts")));
  await build({
    entryPoints: sources,
    outbase: join(library, "src"),
    outdir: built,
    chunkNames: "chunks/[name]-[hash]",
    bundle: true,
    splitting: true,
    packages: "external",
    format: "esm",
    platform: "neutral",
    external: ["node:*"],
    target: "es2022",
    logLevel: "error",
  });
  return undefined;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const reason = await buildLibrary();
  if (reason !== undefined) {
    console.error(reason);
    process.exit(1);
  }
}
