import { Child } from "../driver/child.mjs";
import { HttpServer } from "../driver/http-server.mjs";
import { interleave } from "../driver/interleave.mjs";
import { rowOf } from "../driver/row.mjs";
import { Samples } from "../driver/stats.mjs";
import { having } from "../implementations.mjs";

const COUNT = 10_000;

/**
 * 10,000 progress notifications from one call over HTTP, each implementation's client with its own server: wall, the CPU of
 * both processes, and how many the user's callback never heard.
 */
export async function run({ quick, notes }) {
  const rows = [];
  const lost = {};
  for (const era of ["stateful", "stateless"]) {
    const cpu = new Samples();
    const wall = new Samples();
    await interleave({
      implementations: having("http-client", era),
      rounds: quick ? 1 : 3,
      repetitions: quick ? 6 : 8,
      peersEvery: 3,
      notes,
      open: (implementation) => new Pair(implementation, era),
      warm: (_name, pair) => pair.notify(),
      async measure(name, pair, repetition) {
        const sample = await pair.notify();
        wall.add(name, repetition, sample.wall);
        cpu.add(name, repetition, sample.cpu / 1000);
        lost[name] ??= { value: 0 };
        lost[name].value = Math.max(lost[name].value, COUNT - sample.delivered);
      },
    });
    rows.push(rowOf(`W7 HTTP, ${era}, wall`, { unit: "ms", shown: "cost" }, wall));
    rows.push(rowOf(`W7 HTTP, ${era}, CPU`, { unit: "ms", shown: "cost" }, cpu));
  }
  return [...rows, { metric: "W7 HTTP, lost", unit: "", shown: "value", cells: lost }];
}

/** A server and a client of the same implementation. */
class Pair {
  #server;
  #client;

  constructor(implementation, era) {
    const { name, folder } = implementation;
    this.#server = new HttpServer(implementation, { era, reply: "sse" });
    this.#client = new Child(name, "client-child.mjs", { folder, program: "http-client.mjs", era });
  }

  async notify() {
    const url = await this.#server.url();
    const before = await this.#server.cpu();
    const { wall, cpu, delivered } = await this.#client.ask({ run: "notify", url, count: COUNT });
    return { wall, delivered, cpu: cpu + (await this.#server.cpu()) - before };
  }

  async close() {
    await this.#client.close();
    await this.#server.close();
  }
}
