// Writes entities to a memory and prints each name that is acknowledged.
// Run: node writer.mjs FILE PREFIX COUNT COMPACT_BYTES
import { writeSync } from "node:fs";
import { openStore } from "portolan-memory";

const [file, prefix, count, compactBytes] = process.argv.slice(2);
const onProblem = (problem) => writeSync(2, `${problem}\n`);
const store = openStore({ file, maxFileBytes: 1e9, compactBytes: Number(compactBytes), lockWaitMs: 60_000, onProblem });
for (let index = 0; index < Number(count); index += 1) {
  const name = `${prefix}-${index}`;
  const padding = "x".repeat((index * 37) % 500);
  const ops = [
    { do: "entity", name, type: "thing" },
    { do: "observe", name, texts: [`seen by ${prefix} ${padding}`] },
  ];
  await store.change("default", () => ({ ops, result: undefined }));
  writeSync(1, `${name}\n`);
}
await store.close();
