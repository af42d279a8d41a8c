import { interleave } from "../driver/interleave.mjs";
import { rowOf } from "../driver/row.mjs";
import { Samples } from "../driver/stats.mjs";
import { StdioDriver } from "../driver/stdio.mjs";
import { having } from "../implementations.mjs";

/** tools/call over stdio with 64 in flight: CPU µs per call of the child. */
export async function run({ quick, notes }) {
  const rows = [];
  for (const era of ["stateful", "stateless"]) {
    const samples = { echo: new Samples(), add: new Samples() };
    await interleave({
      implementations: having("stdio", era),
      rounds: quick ? 1 : 3,
      repetitions: quick ? 6 : 9,
      peersEvery: 3,
      notes,
      open: (implementation) => new StdioDriver(implementation, { era }),
      async warm(name, driver) {
        await driver.open();
        for (const call of ["echo", "add"]) await driver.pump(call, 3 * countFor(name));
      },
      async measure(name, driver, repetition) {
        for (const call of ["echo", "add"]) {
          const count = countFor(name);
          const before = await driver.cpu();
          await driver.pump(call, count);
          samples[call].add(name, repetition, ((await driver.cpu()) - before) / count);
        }
      },
    });
    for (const call of ["echo", "add"]) {
      rows.push(rowOf(`W2 stdio ${call}, ${era}`, { unit: "µs", shown: "speed" }, samples[call]));
    }
  }
  return rows;
}

const countFor = (name) => (name === "raw" || name === "portolan" ? 50_000 : 5_000);
