import { Child } from "../driver/child.mjs";
import { interleave } from "../driver/interleave.mjs";
import { rowOf } from "../driver/row.mjs";
import { Samples } from "../driver/stats.mjs";
import { having, programOf } from "../implementations.mjs";

/** tools/call over stdio with 64 in flight, every client against the raw server: CPU µs per call of the client. */
export async function run({ quick, notes }) {
  const server = programOf("raw", "stdio");
  const rows = [];
  for (const era of ["stateful", "stateless"]) {
    const samples = { echo: new Samples(), add: new Samples() };
    await interleave({
      implementations: having("client", era),
      rounds: quick ? 1 : 3,
      repetitions: quick ? 5 : 7,
      peersEvery: 3,
      notes,
      open: ({ name, folder }) => new Child(name, "client-child.mjs", { folder, program: "client.mjs", era, server }),
      async warm(name, child) {
        for (const call of ["echo", "add"]) await child.ask({ run: "pump", call, count: countFor(name) });
      },
      async measure(name, child, repetition) {
        for (const call of ["echo", "add"]) {
          const count = countFor(name);
          const { cpu } = await child.ask({ run: "pump", call, count });
          samples[call].add(name, repetition, cpu / count);
        }
      },
    });
    for (const call of ["echo", "add"]) {
      rows.push(rowOf(`W2 stdio client ${call}, ${era}`, { unit: "µs", shown: "speed" }, samples[call]));
    }
  }
  return rows;
}

const countFor = (name) => (name === "raw" || name === "portolan" ? 30_000 : 3_000);
