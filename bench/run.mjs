import { writeFileSync } from "node:fs";
import { cpus } from "node:os";
import { parseArgs } from "node:util";
import { budgets, verdict } from "./budgets.mjs";
import { loadGenerator } from "./driver/wrk.mjs";
import { chooseBeside, having, names } from "./implementations.mjs";
import { legend, table } from "./report.mjs";

const workloads = {
  W1: "./workloads/w1-memory.mjs",
  W2: "./workloads/w2-stdio.mjs",
  W2b: "./workloads/w2b-large.mjs",
  W2c: "./workloads/w2c-client.mjs",
  W3: "./workloads/w3-stateful-http.mjs",
  W4: "./workloads/w4-stateless-http.mjs",
  W4b: "./workloads/w4b-many-tools-http.mjs",
  W5: "./workloads/w5-idle-sessions.mjs",
  W6: "./workloads/w6-start.mjs",
  W7: "./workloads/w7-notify.mjs",
  W7e: "./workloads/w7e-end-to-end.mjs",
  W7h: "./workloads/w7h-notify-http.mjs",
  W8: "./workloads/w8-many-tools.mjs",
  W9: "./workloads/w9-http-client.mjs",
  W10: "./workloads/w10-host.mjs",
  W11: "./workloads/w11-catalog.mjs",
  W12: "./workloads/w12-command.mjs",
  W13: "./workloads/w13-traced.mjs",
  W14: "./workloads/w14-processes.mjs",
  W15: "./workloads/w15-console.mjs",
  conversions: "./workloads/conversions.mjs",
  size: "./workloads/size.mjs",
  types: "./workloads/types.mjs",
};

const { values: options } = parseArgs({
  options: {
    only: { type: "string" },
    beside: { type: "string" },
    json: { type: "string" },
    check: { type: "boolean", default: false },
    quick: { type: "boolean", default: false },
  },
});

const chosen = options.only?.split(",") ?? Object.keys(workloads);
const unknown = chosen.filter((id) => !(id in workloads));
if (unknown.length > 0) {
  console.error(`Unknown workload ${unknown.join(", ")}; there are ${Object.keys(workloads).join(", ")}`);
  process.exit(2);
}

if (options.beside !== undefined) {
  const others = options.beside.split(",").filter((name) => name !== "");
  const strangers = others.filter((name) => !names.includes(name));
  if (strangers.length > 0) {
    console.error(`Unknown implementation ${strangers.join(", ")}; there are ${names.join(", ")}`);
    process.exit(2);
  }
  chooseBeside(others);
}

const rows = [];
const notes = [];
for (const id of chosen) {
  const start = performance.now();
  process.stderr.write(`${id} … `);
  const own = [];
  const { run } = await import(workloads[id]);
  rows.push(...(await run({ quick: options.quick, notes: own })));
  notes.push(...own.map((note) => `${id}: ${note}`));
  process.stderr.write(`${((performance.now() - start) / 1000).toFixed(0)} s\n`);
}

console.log(`\n${table(rows)}\n\n${legend}`);
if (!having("stdio").some(({ name }) => name === "portolan")) notes.push("portolan is not built: npm run build");
if (chosen.some((id) => /^W[34]/.test(id))) notes.unshift(`load over HTTP (W3, W4): ${loadGenerator}`);
for (const note of notes) console.log(`· ${note}`);

const held = budgets.flatMap((budget) => {
  const row = rows.find((it) => it.metric === budget.metric);
  const { notMeasured } = row ?? {};
  return row ? [{ ...budget, verdict: verdict(budget, row), portolan: row.cells.portolan, notMeasured }] : [];
});

if (options.json) {
  const machine = { node: process.version, cpu: cpus()[0]?.model, cores: cpus().length };
  writeFileSync(options.json, `${JSON.stringify({ machine, rows, budgets: held, notes }, null, 2)}\n`);
}

if (options.check) {
  for (const { metric, text, notMeasured } of held.filter((budget) => budget.notMeasured !== undefined)) {
    console.log(`budget not measured: ${metric}: ${text}; ${notMeasured}`);
  }
  // A budget that could not be measured is not met, unless this machine cannot measure it.
  const isOpen = (budget) => budget.verdict !== "met" && budget.notMeasured === undefined;
  const missed = held.filter((budget) => isOpen(budget) && !budget.isReported);
  for (const { metric, text, of, portolan } of missed) {
    console.log(`budget missed: ${metric}: ${text}, measured ${portolan?.[of]?.toPrecision(3) ?? "nothing"}`);
  }
  if (missed.length > 0) process.exitCode = 1;
}
