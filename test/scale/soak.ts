// Runs histories for as long as asked, with the real values of leases and deadlines, and shows what grows.
//   npm run soak -- --hours 1        also --minutes 5, and fractions
//   npm run soak -- --seed 7         begins with another seed
//   npm run soak -- --svg soak.svg   where the picture goes
import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { problemOfGrowth, type Series, toSvg, toText } from "./history/plot.ts";
import { keysOf, runHistories, type Timing } from "./history/run.ts";
import { World } from "./history/world.ts";

const { values: flags } = parseArgs({
  options: {
    hours: { type: "string" },
    minutes: { type: "string" },
    seed: { type: "string", default: "1" },
    svg: { type: "string", default: "soak.svg" },
  },
});
const minutes = Number(flags.hours ?? 0) * 60 + Number(flags.minutes ?? (flags.hours === undefined ? 10 : 0));
if (!(minutes > 0)) {
  console.error("soak: expected a time above 0, such as --hours 1 or --minutes 5");
  process.exit(2);
}

/** The defaults of a server: a lease of 10 s, deadlines of a second, pauses of Redis of up to 20 s. */
const timing: Timing = { activeMs: 30_000, recoverMs: 20_000, hangMs: 45_000, restMs: 45_000, patienceMs: 90_000 };
// Handlers whose cancellation was lost with Redis end after `abandonMs`, which is 5 minutes by default.
const historiesAtOnce = 5;
/** Growth that is no leak: noise of the garbage collector, connections that are about to close, keys that expire. */
const slacks = { heap: 20, resident: 60, descriptors: 15, keys: 300, lasting: 2 };

const world = await World.start({ sessions: { abandonMs: 20_000 } }, 10_000, 20_000);
const begunAt = Date.now();
const samples: {
  minutes: number;
  heap: number;
  resident: number;
  descriptors: number;
  keys: number;
  lasting: number;
}[] = [];
const failures: string[] = [];
let [histories, calls] = [0, 0];

await sample();
for (let batch = Number(flags.seed); Date.now() < begunAt + minutes * 60_000; batch += 1) {
  const seeds = Array.from({ length: historiesAtOnce }, (_, at) => batch * historiesAtOnce + at);
  for (const outcome of await runHistories(world, seeds, 2_000_000 + batch, timing)) {
    histories += 1;
    calls += outcome.calls;
    if (outcome.violations.length === 0) continue;
    const list = outcome.violations.slice(0, 10).map(({ text }) => `  ${text}`);
    failures.push(`seed ${outcome.seed}`);
    console.log(`\nHistory ${outcome.seed} of --seed ${flags.seed}\n${list.join("\n")}\n${outcome.trace}\n`);
  }
  await sample();
  const last = samples.at(-1);
  const state = `${last?.heap.toFixed(0)} MiB heap, ${last?.descriptors} descriptors, ${last?.keys} keys`;
  console.log(
    `${last?.minutes.toFixed(1)} min: ${histories} histories, ${calls} calls, ${failures.length} failed; ${state}`,
  );
}
const problems = await world.stop();

const series: (Series & { readonly slack: number })[] = [
  { name: "heap, all processes", unit: "MiB", values: samples.map(({ heap }) => heap), slack: slacks.heap },
  { name: "resident memory", unit: "MiB", values: samples.map(({ resident }) => resident), slack: slacks.resident },
  { name: "descriptors", unit: "", values: samples.map(({ descriptors }) => descriptors), slack: slacks.descriptors },
  { name: "Redis keys", unit: "", values: samples.map(({ keys }) => keys), slack: slacks.keys },
  { name: "keys without an expiry", unit: "", values: samples.map(({ lasting }) => lasting), slack: slacks.lasting },
];
console.log(`\n${toText(series)}\n`);
writeFileSync(
  flags.svg,
  toSvg(
    series,
    samples.map((one) => one.minutes),
  ),
);
console.log(`The same over time: ${flags.svg}`);
problems.push(...series.flatMap((one) => problemOfGrowth(one, one.slack) ?? []));
if (failures.length > 0) problems.push(`${failures.length} of ${histories} histories failed: ${failures.join(", ")}`);
for (const problem of problems) console.log(problem);
console.log(problems.length === 0 ? `${histories} histories with ${calls} calls, and nothing grows` : "soak: failed");
process.exit(problems.length === 0 ? 0 : 1);

async function sample(): Promise<void> {
  const measured = await Promise.all(world.nodes.map((node) => node.measure()));
  const sum = (of: "heapUsed" | "rss" | "descriptors") => measured.reduce((total, one) => total + (one?.[of] ?? 0), 0);
  const keys = await keysOf(world);
  samples.push({
    minutes: (Date.now() - begunAt) / 60_000,
    heap: sum("heapUsed") / 2 ** 20,
    resident: sum("rss") / 2 ** 20,
    descriptors: sum("descriptors"),
    // The last ids of logs stay for an hour, so that they would grow for as long.
    keys: keys.filter(({ key }) => !key.startsWith("portolan:id:")).length,
    lasting: keys.filter(({ ttlMs }) => ttlMs < 0).length,
  });
}
