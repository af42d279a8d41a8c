import { LoadedServer, withLoad } from "../driver/http-calls.mjs";
import { interleave } from "../driver/interleave.mjs";
import { Samples } from "../driver/stats.mjs";
import { having } from "../implementations.mjs";

const era = "stateless";
const sizes = { few: 0, many: 997 };

/** The cost of a stateless call over HTTP among 1,000 tools compared with 3: server CPU. */
export function run({ quick, notes }) {
  return withLoad(async (load) => {
    const samples = new Samples();
    const implementations = having("http", era);
    await interleave({
      implementations,
      rounds: quick ? 1 : 2,
      repetitions: 6,
      peersEvery: 3,
      notes,
      open(implementation) {
        const opened = Object.entries(sizes).map(([size, extraTools]) => {
          return [size, new LoadedServer(load, implementation, { era, extraTools })];
        });
        return { servers: opened, close: () => Promise.all(opened.map(([, server]) => server.close())) };
      },
      async warm(name, { servers }) {
        for (const [, server] of servers) await server.pump(countFor(name));
      },
      async measure(name, { servers }, repetition) {
        for (const [size, server] of servers) {
          const { cpu } = await server.pump(countFor(name));
          samples.add(`${name} ${size}`, repetition, cpu);
        }
      },
    });
    const cells = {};
    for (const { name } of implementations) cells[name] = { value: samples.ratio(`${name} many`, `${name} few`) };
    return [{ metric: "W4b HTTP call among 1,000 ÷ among 3 tools", unit: "×", shown: "value", cells }];
  });
}

const countFor = (name) => (name === "raw" || name === "portolan" ? 8_000 : 100);
