// Compares the reference servers with the official ones: npm run bench:servers
//   --check   exits with 1 if one of our servers exceeds its budget for the first list
//   --quick   fewer repetitions
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { Program } from "./program.mjs";

const root = join(dirname(fileURLToPath(import.meta.url)), "../..");
const { values: flags } = parseArgs({ options: { check: { type: "boolean" }, quick: { type: "boolean" } } });
const repetitions = flags.quick ? 3 : 9;
const reads = 1_000;
const startBudgetMs = 100;

const folder = mkdtempSync(join(tmpdir(), "portolan-bench-servers-"));
const file = join(folder, "note.txt");
writeFileSync(file, "a line\n".repeat(50));
execFileSync("git", ["init", "-q", folder]);

const ours = (name, ...args) => [join(root, "packages/servers", name, "dist/main.js"), ...args];
const official = (name, ...args) => [
  join(root, "test/peers/node_modules/@modelcontextprotocol", `server-${name}`, "dist/index.js"),
  ...args,
];
const shop = join(folder, "shop.db");
const orders = join(root, "examples/openapi/orders.yaml");
// An empty file is an empty database.
writeFileSync(shop, "");
const graph = { entities: [{ name: "Ada", entityType: "person", observations: ["wrote a program"] }] };
const remember = (program) => program.call("create_entities", graph);

/** The compared servers: how to start, prepare and read each; those with `hasBudget` must keep the budget. */
const contestants = [
  {
    ...{ name: "files", by: "portolan", args: ours("files", folder), hasBudget: true },
    read: (program) => program.call("read", { path: file }),
  },
  {
    ...{ name: "files", by: "official", args: official("filesystem", folder) },
    read: (program) => program.call("read_text_file", { path: file }),
  },
  {
    ...{ name: "memory", by: "portolan", args: ours("memory", "--file", join(folder, "ours.jsonl")), hasBudget: true },
    ready: remember,
    read: (program) => program.call("open_nodes", { names: ["Ada"] }),
  },
  {
    ...{ name: "memory", by: "official", args: official("memory") },
    env: { MEMORY_FILE_PATH: join(folder, "theirs.jsonl") },
    ready: remember,
    read: (program) => program.call("open_nodes", { names: ["Ada"] }),
  },
  {
    ...{ name: "everything", by: "portolan", args: ours("everything") },
    read: (program) => program.call("echo", { text: "hello" }),
  },
  {
    ...{ name: "everything", by: "official", args: official("everything") },
    read: (program) => program.call("echo", { message: "hello" }),
  },
  {
    ...{ name: "database", by: "portolan", args: ours("database", shop), hasBudget: true },
    read: (program) => program.call("query", { sql: "SELECT ?", parameters: [1] }),
  },
  { name: "git", by: "portolan", args: ours("git", folder), hasBudget: true },
  { name: "github", by: "portolan", args: ours("github"), hasBudget: true },
  { name: "slack", by: "portolan", args: ours("slack"), hasBudget: true },
  { name: "asana", by: "portolan", args: ours("asana"), hasBudget: true },
  { name: "openapi", by: "portolan", args: ours("openapi", orders), hasBudget: true },
  { name: "fetch", by: "portolan", args: ours("fetch"), hasBudget: true },
  { name: "time", by: "portolan", args: ours("time"), hasBudget: true },
].filter(({ args }) => existsSync(args[0]));

/** A bare Node process that answers once: the lower bound for every server. */
const bare = `process.stdin.once("data", (line) => {
  const { id } = JSON.parse(String(line).split("\\n")[0]);
  process.stdout.write(JSON.stringify({ jsonrpc: "2.0", id, result: {} }) + "\\n");
}).on("end", () => process.exit());`;

const median = (numbers) => numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)];

async function startOf(args, env) {
  const begun = performance.now();
  const program = new Program(args, env && { env: { ...process.env, ...env } });
  try {
    if (args[0] === "-e") await program.ask("initialize");
    else {
      await program.hello();
      await program.ask("tools/list");
    }
    return { wall: performance.now() - begun, cpu: program.cpuMs() };
  } finally {
    await program.close();
  }
}

async function readingOf({ args, env, ready, read }) {
  if (!read) return { perRead: undefined, memory: undefined };
  const program = new Program(args, env && { env: { ...process.env, ...env } });
  try {
    await program.hello();
    await ready?.(program);
    for (let warm = 0; warm < 100; warm += 1) await read(program);
    const before = program.cpuMs();
    for (let count = 0; count < reads; count += 1) await read(program);
    return { perRead: ((program.cpuMs() - before) * 1_000) / reads, memory: program.memoryMb() };
  } finally {
    await program.close();
  }
}

const rows = [];
try {
  const starts = new Map(contestants.map((one) => [one, []]));
  for (let repetition = 0; repetition < repetitions; repetition += 1) {
    const floor = await startOf(["-e", bare]);
    for (const [one, samples] of starts) {
      const { wall, cpu } = await startOf(one.args, one.env);
      samples.push({ wall: wall - floor.wall, cpu: cpu - floor.cpu });
    }
  }
  for (const [one, samples] of starts) {
    const { perRead, memory } = await readingOf(one);
    const [wall, cpu] = [median(samples.map((it) => it.wall)), median(samples.map((it) => it.cpu))];
    rows.push({ ...one, wall, cpu, perRead, memory });
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}

const text = (number, unit, digits = 0) => (number === undefined ? "–" : `${number.toFixed(digits)} ${unit}`);
const table = [
  ["server", "by", "first list, CPU", "first list, wall", "a read, CPU", "memory", ""],
  ...rows.map(({ name, by, cpu, wall, perRead, memory, hasBudget }) => [
    name,
    by,
    `+${text(cpu, "ms")}`,
    `+${text(wall, "ms")}`,
    text(perRead, "µs"),
    text(memory, "MB", 1),
    hasBudget ? `≤ ${startBudgetMs} ms: ${cpu <= startBudgetMs ? "met" : "missed"}` : "",
  ]),
];
const widths = table[0].map((_, column) => Math.max(...table.map((line) => line[column].length)));
for (const line of table)
  console.log(
    line
      .map((cell, at) => cell.padEnd(widths[at]))
      .join("  ")
      .trimEnd(),
  );
console.log(`\nFrom process start to the first tools/list, minus bare Node; medians of ${repetitions} runs.`);
console.log(`Reads: ${reads} sequential calls. Memory: resident memory after the reads.`);
if (flags.check && rows.some(({ hasBudget, cpu }) => hasBudget && cpu > startBudgetMs)) process.exitCode = 1;
