import { interleave } from "../driver/interleave.mjs";
import { MemoryDriver } from "../driver/memory.mjs";
import { rowOf } from "../driver/row.mjs";
import { Samples } from "../driver/stats.mjs";
import { having } from "../implementations.mjs";

/** In-memory tools/call with 64 in flight, the server's half: CPU µs per call of a process that also drives. */
export async function run({ quick, notes }) {
  const rows = [];
  for (const era of ["stateful", "stateless"]) {
    const samples = new Samples();
    await interleave({
      implementations: having("memory", era),
      rounds: quick ? 1 : 2,
      repetitions: quick ? 3 : 6,
      peersEvery: 3,
      notes,
      open: (implementation) => new MemoryDriver(implementation, { era }),
      warm: (name, driver) => driver.ask({ run: "pump", call: "echo", count: countFor(name) }),
      async measure(name, driver, repetition) {
        const count = countFor(name);
        const { cpu } = await driver.ask({ run: "pump", call: "echo", count });
        samples.add(name, repetition, cpu / count);
      },
    });
    rows.push(rowOf(`W1 in-memory call, ${era}`, { unit: "µs", shown: "value" }, samples));
  }
  return rows;
}

// Long enough to be measured, short enough for the slow ones.
const countFor = (name) => (name === "raw" || name === "portolan" ? 60_000 : 5_000);
