import { cpus } from "node:os";
import { fileURLToPath } from "node:url";
import { LoadedServer, withLoad } from "../driver/http-calls.mjs";
import { HttpServer } from "../driver/http-server.mjs";
import { interleave } from "../driver/interleave.mjs";
import { questionMs } from "../driver/questions.mjs";
import { Redis, redisServer } from "../driver/redis.mjs";
import { median, Samples } from "../driver/stats.mjs";
import { having } from "../implementations.mjs";

const at = (path) => fileURLToPath(new URL(path, import.meta.url));
const SESSIONS = 1_000;
/** The load generator, Redis and two workers need a core each. */
const CORES = 4;

const rowOf = (metric, value, unit = "×") => ({ metric, unit, shown: "value", cells: { portolan: { value } } });

/** Sessions in Redis beside sessions in memory, and several processes beside one. */
export async function run({ quick, notes }) {
  const [plain] = having("http", "stateless").filter(({ name }) => name === "portolan");
  if (!plain || redisServer === undefined) {
    notes.push("not measured: redis-server is not installed");
    return [];
  }
  const redis = await Redis.start();
  // Servers inherit the environment of the bench.
  process.env.BENCH_REDIS_URL = redis.url;
  const stored = { ...plain, folder: at("../servers/redis") };
  try {
    return await withLoad(async (load) => [
      ...(await callRows({ stored, load, quick, notes })),
      await commandRow({ stored, load, redis }),
      await memoryRow({ stored, load, redis }),
      ...(await questionRows(stored, quick)),
      await workerRow({ plain, load, quick, notes }),
    ]);
  } finally {
    delete process.env.BENCH_REDIS_URL;
    await redis.close();
  }
}

/**
 * The speed of a call, in server CPU, where the storage is Redis. Warm calls do not need it. Both servers are connected to
 * Redis, so that nothing but the option differs.
 */
async function callRows({ stored, load, quick, notes }) {
  const rows = [];
  for (const era of ["stateful", "stateless"]) {
    const samples = new Samples();
    await interleave({
      implementations: [{ name: "memory" }, { name: "redis" }],
      rounds: quick ? 1 : 3,
      repetitions: quick ? 4 : 12,
      notes,
      open({ name }) {
        process.env.BENCH_SESSIONS = name;
        return new LoadedServer(load, stored, { era });
      },
      warm: (_, server) => server.pump(20_000, "echo", 3),
      async measure(name, server, repetition) {
        samples.add(name, repetition, (await server.pump(10_000)).cpu);
      },
    });
    delete process.env.BENCH_SESSIONS;
    const what = era === "stateful" ? "stateful call, sessions in Redis" : "stateless call, storage not needed";
    rows.push(rowOf(`W14 ${what}: speed ÷ in memory`, samples.ratio("memory", "redis")));
  }
  return rows;
}

/** Commands of Redis for each warm call in a session. What a process does by itself every few seconds disappears among them. */
async function commandRow({ stored, load, redis }) {
  const server = new LoadedServer(load, stored, { era: "stateful" });
  try {
    await server.pump(5_000);
    const before = await redis.commands();
    const { answers } = await server.pump(20_000, "echo", 2);
    const commands = (await redis.commands()) - before;
    return rowOf("W14 commands of Redis per warm stateful call", Math.round((100 * commands) / answers) / 100, "");
  } finally {
    await server.close();
  }
}

/** Bytes in Redis of an idle session: its keys, values and places in the index. */
async function memoryRow({ stored, load, redis }) {
  const server = new HttpServer(stored);
  try {
    const url = await server.url();
    const before = await redis.bytes();
    await server.during(load.ask({ run: "begin", url, count: SESSIONS }), "begin");
    const bytes = ((await redis.bytes()) - before) / SESSIONS;
    await server.during(load.ask({ run: "end", url }), "end");
    return rowOf("W14 idle session in Redis", bytes, "B");
  } finally {
    await server.close();
  }
}

/** A call with a question, whose answer goes to the process of the call or to another one. */
async function questionRows(stored, quick) {
  const servers = [new HttpServer(stored), new HttpServer(stored)];
  try {
    const [one, other] = await Promise.all(servers.map((server) => server.url()));
    const calls = { same: [], other: [] };
    const answers = { same: [], other: [] };
    for (let turn = 0; turn < (quick ? 120 : 600); turn++) {
      for (const [name, url] of Object.entries({ same: one, other })) {
        const { call, answer } = await questionMs(one, url);
        // The first ones compile the code.
        if (turn < 40) continue;
        calls[name].push(call);
        answers[name].push(answer);
      }
    }
    const ratio = ({ same, other }) => median(other) / median(same);
    return [
      rowOf("W14 question answered through another process ÷ through the same", ratio(calls)),
      rowOf("W14 … from the answer to the result alone", ratio(answers)),
    ];
  } finally {
    for (const server of servers) await server.close();
  }
}

/** Calls per second of two processes on one port over those of one. */
async function workerRow({ plain, load, quick, notes }) {
  const metric = "W14 two processes ÷ one, calls/s";
  if (cpus().length < CORES) {
    const why = `fewer than ${CORES} cores: the load generator would take those of the processes`;
    return { ...rowOf(metric, Number.NaN), notMeasured: why };
  }
  const samples = new Samples();
  const subject = { ...plain, folder: at("../servers/workers") };
  await interleave({
    implementations: [{ name: "1" }, { name: "2" }],
    rounds: quick ? 1 : 3,
    repetitions: 4,
    notes,
    open({ name }) {
      process.env.BENCH_WORKERS = name;
      return new LoadedServer(load, subject, { era: "stateless" });
    },
    warm: (_, server) => server.pump(20_000, "echo", 3),
    async measure(name, server, repetition) {
      samples.add(name, repetition, 1e6 / (await server.pump(20_000, "echo", 2)).wall);
    },
  });
  delete process.env.BENCH_WORKERS;
  return rowOf(metric, samples.ratio("2", "1"));
}
