import { Child } from "../driver/child.mjs";
import { interleave } from "../driver/interleave.mjs";
import { rowOf } from "../driver/row.mjs";
import { Samples } from "../driver/stats.mjs";
import { having, programOf } from "../implementations.mjs";

/**
 * tools/call over stdio, the client alone (as raw) and behind a host with rules and a log in a file: CPU µs per call of
 * the caller and its server together, and of the caller alone.
 */
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
      const samples = { call: new Samples(), caller: new Samples() };
      // Enough to compile the code, and to fill some blocks of the log.
      const count = (inFlight === 1 ? 20_000 : 100_000) / (quick ? 5 : 1);
      await interleave({
        implementations: subjects,
        rounds: quick ? 1 : 5,
        repetitions: 5,
        notes,
        open: ({ name, program }) => new Child(name, "client-child.mjs", { folder, program, era, server, inFlight }),
        warm: (_, child) => child.ask({ run: "pump", call: "echo", count }),
        async measure(name, child, repetition) {
          const { cpu, whole } = await child.ask({ run: "pump", call: "echo", count });
          samples.call.add(name, repetition, whole / count);
          samples.caller.add(name, repetition, cpu / count);
        },
      });
      for (const [what, taken] of Object.entries(samples)) {
        const metric = `W10 host, ${era}, ${inFlight} in flight: ${what === "call" ? "a call" : "its caller alone"}`;
        rows.push(rowOf(metric, { unit: "µs", shown: "cost" }, taken));
      }
    }
  }
  return rows;
}
