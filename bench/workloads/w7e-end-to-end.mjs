import { Child } from "../driver/child.mjs";
import { interleave } from "../driver/interleave.mjs";
import { rowOf } from "../driver/row.mjs";
import { Samples } from "../driver/stats.mjs";
import { having, programOf } from "../implementations.mjs";

const COUNT = 10_000;

/**
 * 10,000 progress notifications from one call over stdio, each implementation's client with its own server: wall, the CPU
 * of both processes, and how many the user's callback never heard.
 */
export async function run({ quick, notes }) {
  const rows = [];
  const lost = {};
  for (const era of ["stateful", "stateless"]) {
    const cpu = new Samples();
    const wall = new Samples();
    await interleave({
      implementations: having("client", era),
      rounds: quick ? 1 : 3,
      repetitions: quick ? 6 : 8,
      peersEvery: 3,
      notes,
      open: ({ name, folder }) =>
        new Child(name, "client-child.mjs", { folder, program: "client.mjs", era, server: programOf(name, "stdio") }),
      warm: (_name, child) => child.ask({ run: "notify", count: COUNT }),
      async measure(name, child, repetition) {
        const sample = await child.ask({ run: "notify", count: COUNT });
        wall.add(name, repetition, sample.wall);
        cpu.add(name, repetition, sample.cpu / 1000);
        lost[name] ??= { value: 0 };
        lost[name].value = Math.max(lost[name].value, COUNT - sample.delivered);
      },
    });
    rows.push(rowOf(`W7 end to end, ${era}, wall`, { unit: "ms", shown: "cost" }, wall));
    rows.push(rowOf(`W7 end to end, ${era}, CPU`, { unit: "ms", shown: "cost" }, cpu));
  }
  return [...rows, { metric: "W7 end to end, lost", unit: "", shown: "value", cells: lost }];
}
