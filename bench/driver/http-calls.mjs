import { handlerKinds, usualKind } from "../handlers.mjs";
import { having } from "../implementations.mjs";
import { Child } from "./child.mjs";
import { HttpServer } from "./http-server.mjs";
import { interleave } from "./interleave.mjs";
import { rowOf } from "./row.mjs";
import { Samples } from "./stats.mjs";
import { runWrk, wrk } from "./wrk.mjs";

const CONNECTIONS = 32;
/** Time in which node has compiled the code of raw and portolan, and memory has found its size. */
const WARM_SECONDS = 3;

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
  /** The requests that wrk sends, by call. */
  #requests = new Map();

  constructor(load, implementation, { era, reply = "json", extraTools = 0, handlers = usualKind }) {
    this.#server = new HttpServer(implementation, { era, reply, extraTools, handlers });
    this.#load = load;
    servers += 1;
    this.#task = { server: servers, name: implementation.name, era, accept: acceptFor(implementation, reply) };
    this.#task.isStreamed = reply === "sse";
  }

  /** CPU µs of the server and wall µs, per call, and the number of calls. Without wrk, `count` calls are made. */
  async pump(count, call = "echo", seconds = 1) {
    const url = await this.#server.url();
    const task = { ...this.#task, url, call };
    if (wrk === undefined) {
      const pumped = () => this.#load.ask({ ...task, run: "pump", count });
      return this.#measure(async () => ({ ...(await pumped()), answers: count }));
    }
    if (!this.#requests.has(call)) {
      const { requests } = await this.#server.during(this.#load.ask({ ...task, run: "requests" }), call);
      this.#requests.set(call, requests);
    }
    return this.#measure(() => runWrk(url, this.#requests.get(call), { connections: CONNECTIONS, seconds }));
  }

  async #measure(work) {
    const before = await this.#server.cpu();
    const { wall, answers } = await this.#server.during(work(), "calls");
    return { cpu: ((await this.#server.cpu()) - before) / answers, wall: (wall * 1000) / answers, answers };
  }

  close() {
    return this.#server.close();
  }
}

/** Returns the Accept header that gets the kind of answer: most peers answer as they were configured at start. */
function acceptFor({ name, streamsIfItMay = false }, reply) {
  if (reply === "json") return streamsIfItMay ? "application/json" : undefined;
  return name === "raw" || name === "portolan" ? "text/event-stream" : undefined;
}

/**
 * tools/call over 32 keep-alive connections, answered with JSON and with a stream: server CPU µs per call, and calls/s.
 * The budgets are for async handlers; other kinds are measured for raw and portolan alone.
 */
export function httpCalls(title, era, options) {
  return withLoad(async (load) => {
    const rows = [];
    for (const [reply, calls] of Object.entries(callsFor)) {
      for (const call of calls) {
        const metric = `${title}, ${reply.toUpperCase()}, ${call}`;
        rows.push(...(await rowsOf(load, metric, { era, reply, call }, options)));
      }
    }
    for (const handlers of handlerKinds.filter((kind) => kind !== usualKind)) {
      const metric = `${title}, JSON, echo, ${handlers} handler`;
      rows.push(...(await rowsOf(load, metric, { era, call: "echo", handlers }, options, isOurs)));
    }
    return rows;
  });
}

/** `notify` sends a message before its answer. */
const callsFor = { json: ["echo", "add"], sse: ["echo", "add", "notify"] };

const isOurs = ({ name }) => name === "raw" || name === "portolan";

async function rowsOf(load, metric, { call, ...settings }, { quick, notes }, isMeasured = () => true) {
  const cpu = new Samples();
  const rate = new Samples();
  await interleave({
    implementations: having("http", settings.era).filter(isMeasured),
    rounds: quick ? 1 : 3,
    repetitions: quick ? 3 : 5,
    peersEvery: 5,
    notes,
    open: (implementation) => new LoadedServer(load, implementation, settings),
    warm: (name, server) => server.pump(2 * countFor(name), call, isOurs({ name }) ? WARM_SECONDS : 1),
    async measure(name, server, repetition) {
      const sample = await server.pump(countFor(name), call);
      cpu.add(name, repetition, sample.cpu);
      rate.add(name, repetition, 1e6 / sample.wall);
    },
  });
  return [
    rowOf(metric, { unit: "µs", shown: "speed" }, cpu),
    rowOf(`${metric}, calls/s`, { unit: "", shown: "rate" }, rate),
  ];
}

const countFor = (name) => (name === "raw" || name === "portolan" ? 10_000 : 1_000);
