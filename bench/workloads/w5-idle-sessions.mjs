import { withLoad } from "../driver/http-calls.mjs";
import { HttpServer } from "../driver/http-server.mjs";
import { interleave } from "../driver/interleave.mjs";
import { Samples } from "../driver/stats.mjs";
import { having } from "../implementations.mjs";

const COUNT = 1_000;
const MB = 1_000_000;
// A young generation of unlimited size would hide the measured memory.
const flags = ["--expose-gc", "--max-semi-space-size=1"];

/**
 * The memory of 1,000 idle sessions, the resident memory that remains when they have ended, and the growth of the heap by
 * 2,000 sessions that begin and end after 3,000 others.
 */
export async function run({ quick, notes }) {
  return withLoad(async (load) => [
    ...(await idle("W5 1,000 idle sessions", false, load, quick, notes)),
    ...(await idle("W5 1,000 idle sessions, a stream each", true, load, quick, notes)),
  ]);
}

async function idle(title, withStreams, load, quick, notes) {
  const samples = { taken: new Samples(), kept: new Samples(), held: new Samples() };
  const servers = new Map(having("http").map((it) => [it.name, it]));
  await interleave({
    implementations: [...servers.values()],
    rounds: 1,
    repetitions: quick ? 3 : 5,
    peersEvery: 5,
    notes,
    // Each measurement starts its own server, because freed memory is reused.
    open: () => ({ close: async () => {} }),
    warm: async () => {},
    async measure(name, _subject, repetition) {
      const server = new HttpServer(servers.get(name), { flags });
      try {
        const url = await server.url();
        const connections = servers.get(name).waitsAtHandshake ? 200 : undefined;
        const sessions = (run, count) => server.during(load.ask({ run, url, count, withStreams, connections }), run);
        // Memory for modules loaded by the first sessions is not counted.
        await sessions("begin", 100);
        await sessions("end");
        const before = await server.memory();
        await sessions("begin", COUNT);
        const during = await server.memory();
        await sessions("end");
        const after = await server.memory();
        const again = async () => {
          for (let round = 0; round < 2; round++) {
            await sessions("begin", COUNT);
            await sessions("end");
          }
          return server.memory();
        };
        // Compiled code is a part of the heap, too: it has its size before the growth is measured.
        const compiled = await again();
        const atLast = await again();
        samples.taken.add(name, repetition, (during.rss - before.rss) / MB);
        samples.kept.add(name, repetition, (after.rss - before.rss) / MB);
        samples.held.add(name, repetition, (atLast.used - compiled.used) / MB);
      } finally {
        await server.close();
      }
    },
  });
  const row = (metric, of) => {
    const cells = {};
    for (const name of of.names()) cells[name] = { value: of.value(name), difference: of.difference(name) };
    return { metric, unit: "MB", shown: "value", cells };
  };
  return [
    row(title, samples.taken),
    row(`${title}: kept when they have ended`, samples.kept),
    row(`${title}: growth of the heap by 2,000 more`, samples.held),
  ];
}
