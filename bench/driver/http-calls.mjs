import { having } from "../implementations.mjs";
import { Child } from "./child.mjs";
import { HttpServer } from "./http-server.mjs";
import { interleave } from "./interleave.mjs";
import { rowOf } from "./row.mjs";
import { Samples } from "./stats.mjs";

/** The tool to call for each kind of answer. */
const callFor = { json: "echo", sse: "notify" };

/** Servers under load over HTTP. One process creates the load for all of them in turn. */
export async function withLoad(work) {
  const load = new Child("load", "http-load.mjs", {});
  try {
    return await work(load);
  } finally {
    await load.close();
  }
}

let servers = 0;

/** One server and its call. */
export class LoadedServer {
  #server;
  #load;
  #task;

  constructor(load, implementation, { era, reply = "json", extraTools = 0 }) {
    this.#server = new HttpServer(implementation, { era, reply, extraTools });
    this.#load = load;
    const { name, streamsIfItMay = false } = implementation;
    const accept = streamsIfItMay && reply === "json" ? "application/json" : undefined;
    servers += 1;
    this.#task = { run: "pump", server: servers, name, era, call: callFor[reply], accept };
  }

  /** CPU µs of the server and wall µs, per call. */
  async pump(count) {
    const url = await this.#server.url();
    const before = await this.#server.cpu();
    const { wall } = await this.#server.during(this.#load.ask({ ...this.#task, url, count }), `${count} calls`);
    return { cpu: ((await this.#server.cpu()) - before) / count, wall: (wall * 1000) / count };
  }

  close() {
    return this.#server.close();
  }
}

/** tools/call over 32 keep-alive connections, answered with JSON and with a stream: server CPU µs per call, and calls/s. */
export async function httpCalls(title, era, { quick, notes }) {
  const rows = [];
  await withLoad(async (load) => {
    for (const reply of ["json", "sse"]) {
      const cpu = new Samples();
      const rate = new Samples();
      await interleave({
        implementations: having("http", era),
        rounds: quick ? 1 : 3,
        repetitions: quick ? 6 : 9,
        peersEvery: 3,
        notes,
        open: (implementation) => new LoadedServer(load, implementation, { era, reply }),
        warm: (name, server) => server.pump(countFor(name)),
        async measure(name, server, repetition) {
          const sample = await server.pump(countFor(name));
          cpu.add(name, repetition, sample.cpu);
          rate.add(name, repetition, 1e6 / sample.wall);
        },
      });
      rows.push(rowOf(`${title}, ${reply.toUpperCase()}`, { unit: "µs", shown: "speed" }, cpu));
      rows.push(rowOf(`${title}, ${reply.toUpperCase()}, calls/s`, { unit: "", shown: "rate" }, rate));
    }
  });
  return rows;
}

const countFor = (name) => (name === "raw" || name === "portolan" ? 10_000 : 1_000);
