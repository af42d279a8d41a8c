import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { bounded } from "../driver/bounded.mjs";
import { interleave } from "../driver/interleave.mjs";
import { rowOf } from "../driver/row.mjs";
import { Samples } from "../driver/stats.mjs";
import { StdioDriver } from "../driver/stdio.mjs";
import { having, installed } from "../implementations.mjs";

/** Spawn until initialize is answered, and the cost of the import alone: wall ms, as differences in one repetition. */
export async function run({ quick, notes }) {
  return [await coldStart(quick, notes), await imports(quick, notes)];
}

// Each measurement starts its own process.
const nothingOpen = { open: () => ({ close: async () => {} }), warm: async () => {} };

async function coldStart(quick, notes) {
  const samples = new Samples();
  const programs = new Map(having("one-tool").map((it) => [it.name, it]));
  await interleave({
    implementations: [...programs.values()],
    rounds: 1,
    repetitions: quick ? 5 : 15,
    peersEvery: 3,
    notes,
    ...nothingOpen,
    async measure(name, _subject, repetition) {
      const start = performance.now();
      const driver = new StdioDriver(programs.get(name), { program: "one-tool", measured: false });
      try {
        await driver.hello();
        samples.add(name, repetition, performance.now() - start);
      } finally {
        await driver.close();
      }
    },
  });
  return rowOf("W6 spawn to initialize", { unit: "ms", shown: "difference" }, samples);
}

async function imports(quick, notes) {
  const samples = new Samples();
  const files = new Map(installed().map((it) => [it.name, importerOf(it)]));
  await interleave({
    implementations: installed(),
    rounds: 1,
    repetitions: quick ? 5 : 15,
    peersEvery: 3,
    notes,
    ...nothingOpen,
    async measure(name, _subject, repetition) {
      const start = performance.now();
      const child = spawn(process.execPath, [files.get(name)], { stdio: "ignore" });
      const [code] = await bounded(once(child, "exit"), 30_000, name);
      if (code !== 0) throw new Error(`import ended with ${code}`);
      samples.add(name, repetition, performance.now() - start);
    },
  });
  return rowOf("W6 import over bare node", { unit: "ms", shown: "difference" }, samples);
}

/** A program that only imports, placed where the packages resolve; raw's is empty, that is, bare node. */
function importerOf({ name, folder, imports: specifiers }) {
  const file = join(dirname(folder), "dist", `import-${name}.mjs`);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, `${specifiers.map((it) => `import ${JSON.stringify(it)};`).join("\n")}\n`);
  return file;
}
