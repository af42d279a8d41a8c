import { Child } from "../driver/child.mjs";
import { HttpServer } from "../driver/http-server.mjs";
import { interleave } from "../driver/interleave.mjs";
import { rowOf } from "../driver/row.mjs";
import { Samples } from "../driver/stats.mjs";
import { having, implementations } from "../implementations.mjs";

/** A tool that is answered with JSON, and one that sends a notification first, so that its answer is a stream. */
const callFor = { json: "echo", sse: "notify" };

/** tools/call over HTTP with 32 in flight, every client against the raw server: CPU µs per call of the client. */
export async function run({ quick, notes }) {
  const server = new HttpServer(implementations.find(({ name }) => name === "raw"));
  try {
    const url = await server.url();
    const rows = [];
    for (const reply of ["json", "sse"]) {
      for (const era of ["stateful", "stateless"]) rows.push(await clients(era, reply, { url, quick, notes }));
    }
    return rows;
  } finally {
    await server.close();
  }
}

async function clients(era, reply, { url, quick, notes }) {
  const call = callFor[reply];
  const samples = new Samples();
  const settings = { program: "http-client.mjs", era, inFlight: 32 };
  await interleave({
    implementations: having("http-client", era),
    rounds: quick ? 1 : 3,
    repetitions: quick ? 6 : 9,
    peersEvery: 3,
    notes,
    open: ({ name, folder }) => new Child(name, "client-child.mjs", { folder, ...settings }),
    warm: (name, child) => child.ask({ run: "pump", url, call, count: countFor(name) }),
    async measure(name, child, repetition) {
      const count = countFor(name);
      const { cpu } = await child.ask({ run: "pump", url, call, count });
      samples.add(name, repetition, cpu / count);
    },
  });
  return rowOf(`W9 HTTP client, ${era}${reply === "json" ? "" : ", SSE"}`, { unit: "µs", shown: "speed" }, samples);
}

const countFor = (name) => (name === "raw" || name === "portolan" ? 10_000 : 1_000);
