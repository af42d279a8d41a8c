import { execFile } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const tsc = fileURLToPath(new URL("../../node_modules/typescript/bin/tsc", import.meta.url));

const compilerOptions = {
  target: "es2023",
  module: "nodenext",
  strict: true,
  noEmit: true,
  skipLibCheck: true,
  types: [],
  lib: ["es2023", "esnext.disposable", "dom"],
};

/** Writes the program into the directory and returns the number of type instantiations of its check. */
export async function instantiations(directory, program) {
  mkdirSync(directory, { recursive: true });
  writeFileSync(join(directory, "program.ts"), program);
  writeFileSync(join(directory, "tsconfig.json"), JSON.stringify({ compilerOptions, files: ["program.ts"] }));
  const args = [tsc, "--extendedDiagnostics", "--singleThreaded", "-p", directory];
  const { stdout } = await promisify(execFile)(process.execPath, args, { timeout: 120_000 });
  const found = /^Instantiations:\s+(\d+)/m.exec(stdout);
  if (!found) throw new Error("tsc printed no count of instantiations");
  return Number(found[1]);
}
