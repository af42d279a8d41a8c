// Records entries in a log and prints the name of each entry once it is written.
// Run: node writer.mjs FILE PREFIX COUNT MAX_BYTES
import { writeSync } from "node:fs";
import { openActivityFile } from "portolan-host";

const [file, prefix, count, maxBytes] = process.argv.slice(2);
const onError = (error) => writeSync(2, `${error.code} ${error.message}\n`);
const log = await openActivityFile(file, { maxBytes: Number(maxBytes), required: true, onError });
for (let index = 0; index < Number(count); index += 3) {
  const names = [0, 1, 2].map((more) => `${prefix}-${index + more}`);
  for (const name of names) log.record({ kind: "call", server: prefix, name, padding: "é".repeat((index * 37) % 500) });
  await log.flush();
  log.ready();
  writeSync(1, `${names.join("\n")}\n`);
}
await log.close();
