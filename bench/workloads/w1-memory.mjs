import { Child } from "../driver/child.mjs";
import { interleave } from "../driver/interleave.mjs";
import { rowOf } from "../driver/row.mjs";
import { Samples } from "../driver/stats.mjs";
import { having } from "../implementations.mjs";

/** The implementations of a row, and the kind of their process. */
const halves = {
  "W1 in-memory call": { role: "whole", driver: "client-child.mjs", program: "whole.mjs" },
  "W1 server alone": { role: "memory", driver: "memory-child.mjs" },
};

/**
 * In-memory echo with 64 in flight, CPU µs per call of the one process: a client and a server together, and the server
 * alone, driven by hand-written messages. The last rows compare with tmcp, the fastest peer, over as many calls.
 */
export async function run({ quick, notes }) {
  const rows = [];
  for (const [title, { role, driver, program }] of Object.entries(halves)) {
    for (const era of ["stateful", "stateless"]) {
      const samples = new Samples();
      await interleave({
        implementations: having(role, era),
        rounds: quick ? 1 : 2,
        repetitions: quick ? 3 : 6,
        peersEvery: 3,
        notes,
        open: ({ name, folder }) => new Child(name, driver, { folder, program, era }),
        warm: (name, child) => child.ask({ run: "pump", call: "echo", count: countFor(name) }),
        async measure(name, child, repetition) {
          const count = countFor(name);
          const { cpu } = await child.ask({ run: "pump", call: "echo", count });
          samples.add(name, repetition, cpu / count);
        },
      });
      rows.push(rowOf(`${title}, ${era}`, { unit: "µs", shown: "value" }, samples));
    }
  }
  for (const call of ["echo", "add"]) rows.push(await againstTmcp(call, quick, notes));
  return rows;
}

async function againstTmcp(call, quick, notes) {
  const samples = new Samples();
  const count = 20_000;
  await interleave({
    implementations: having("whole").filter(({ name }) => name === "portolan" || name === "tmcp"),
    rounds: quick ? 1 : 2,
    repetitions: quick ? 3 : 6,
    notes,
    open: ({ name, folder }) => new Child(name, "client-child.mjs", { folder, program: "whole.mjs", era: "stateful" }),
    warm: (_, child) => child.ask({ run: "pump", call, count }),
    async measure(name, child, repetition) {
      const { cpu } = await child.ask({ run: "pump", call, count });
      samples.add(name, repetition, cpu / count);
    },
  });
  const cells = { portolan: { value: samples.ratio("portolan", "tmcp") } };
  return { metric: `W1 in-memory ${call} ÷ tmcp`, unit: "×", shown: "value", cells };
}

// Long enough to be measured, short enough for the slow ones.
const countFor = (name) => (name === "raw" || name === "portolan" ? 60_000 : 5_000);
