import { Child } from "../driver/child.mjs";
import { interleave } from "../driver/interleave.mjs";
import { rowOf } from "../driver/row.mjs";
import { Samples } from "../driver/stats.mjs";
import { having, programOf } from "../implementations.mjs";

/** tools/call over stdio, the client alone and behind a host with rules and a log in a file: CPU µs per call of the caller. */
export async function run({ quick, notes }) {
  const server = programOf("raw", "stdio");
  const [{ folder }] = having("client", "stateless").filter(({ name }) => name === "portolan");
  const subjects = [
    { name: "raw", program: "client.mjs" },
    { name: "portolan", program: "host.mjs" },
  ];
  const rows = [];
  for (const era of ["stateful", "stateless"]) {
    for (const inFlight of [1, 64]) {
      const samples = new Samples();
      const count = quick ? 3_000 : 10_000;
      await interleave({
        implementations: subjects,
        rounds: quick ? 1 : 3,
        repetitions: 5,
        notes,
        open: ({ name, program }) => new Child(name, "client-child.mjs", { folder, program, era, server, inFlight }),
        warm: (_, child) => child.ask({ run: "pump", call: "echo", count }),
        async measure(name, child, repetition) {
          const { cpu } = await child.ask({ run: "pump", call: "echo", count });
          samples.add(name, repetition, cpu / count);
        },
      });
      const metric = `W10 host ÷ client, ${era}, ${inFlight} in flight`;
      rows.push(rowOf(metric, { unit: "µs", shown: "cost" }, samples));
    }
  }
  return rows;
}
