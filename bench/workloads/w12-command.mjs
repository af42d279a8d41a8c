import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { rowOf } from "../driver/row.mjs";
import { Samples } from "../driver/stats.mjs";

const at = (path) => fileURLToPath(new URL(path, import.meta.url));
const program = at("../../packages/portolan/dist/cli/main.js");
const server = at("../servers/raw/stdio.mjs");
const { execPath } = process;

/** The same two tasks for each command: list the tools of the raw server, and call one of them. */
const commands = {
  portolan: {
    program,
    ls: ["ls", "--", execPath, server],
    call: ["call", "echo", "message=hello", "--", execPath, server],
  },
  mcporter: {
    program: at("../commands/node_modules/mcporter/dist/cli.js"),
    ls: ["list", "--stdio", `${execPath} ${server}`],
    call: ["call", "--stdio", `${execPath} ${server}`, "echo", "message=hello"],
  },
  Inspector: {
    program: at("../commands/node_modules/.bin/mcp-inspector"),
    ls: ["--cli", execPath, server, "--method", "tools/list"],
    call: ["--cli", execPath, server, "--method", "tools/call", "--tool-name", "echo", "--tool-arg", "message=hello"],
  },
};
const answers = { ls: "Says the message back", call: "hello" };

/** The `portolan` command beside bare node (wall ms to its first byte), and beside other commands (CPU and wall time). */
export async function run({ quick, notes }) {
  const home = mkdtempSync(join(tmpdir(), "portolan-bench-cli-"));
  const env = { PATH: process.env.PATH, HOME: home, PORTOLAN_HOME: join(home, "state") };
  const repetitions = quick ? 5 : 15;
  try {
    return [...(await besideNode(repetitions, { env, cwd: home })), ...(await besideOthers(repetitions, env, notes))];
  } finally {
    rmSync(home, { recursive: true });
  }
}

async function besideNode(repetitions, options) {
  const samples = { help: new Samples(), call: new Samples() };
  const bareNode = ["-e", "process.stdout.write('x')"];
  for (let repetition = 0; repetition < repetitions; repetition += 1) {
    const bare = await firstByte(bareNode, options);
    // A call needs a server, so the minimum is bare node started twice.
    samples.help.add("raw", repetition, bare);
    samples.call.add("raw", repetition, bare + (await firstByte(bareNode, options)));
    samples.help.add("portolan", repetition, await firstByte([program, "--help"], options));
    samples.call.add("portolan", repetition, await firstByte([program, ...commands.portolan.call], options));
  }
  return [
    rowOf("W12 portolan --help", { unit: "ms", shown: "difference" }, samples.help),
    rowOf("W12 portolan call of a local server", { unit: "ms", shown: "difference" }, samples.call),
  ];
}

/** Rows with portolan's share of the time of each other command, server included. */
async function besideOthers(repetitions, env, notes) {
  const rows = [];
  for (const task of ["ls", "call"]) {
    const samples = { CPU: new Samples(), wall: new Samples() };
    for (let repetition = 0; repetition < repetitions; repetition += 1) {
      for (const [name, command] of Object.entries(commands)) {
        if (!existsSync(command.program)) continue;
        const { cpu, wall } = await wholeRun([command.program, ...command[task]], env, answers[task]);
        samples.CPU.add(name, repetition, cpu);
        samples.wall.add(name, repetition, wall);
      }
    }
    for (const other of ["mcporter", "Inspector"]) {
      if (!existsSync(commands[other].program)) {
        notes.push(`W12: ${other} is not installed; node scripts/setup.mjs --commands installs it`);
        continue;
      }
      for (const [what, taken] of Object.entries(samples)) {
        const metric = `W12 portolan ${task} ÷ ${other}, ${what}`;
        rows.push({
          metric,
          unit: "×",
          shown: "value",
          cells: { portolan: { value: taken.ratio("portolan", other) } },
        });
      }
    }
  }
  return rows;
}

/** Measures the time from the start of a process to its first byte of output. */
function firstByte(args, options) {
  const begun = performance.now();
  const child = spawn(execPath, args, { ...options, stdio: ["ignore", "pipe", "inherit"] });
  return new Promise((resolve, reject) => {
    let first;
    child.stdout.once("data", () => {
      first = performance.now() - begun;
    });
    child.once("exit", (code) => {
      if (code === 0 && first !== undefined) resolve(first);
      else reject(new Error(`${args.join(" ")} exited with ${code}`));
    });
  });
}

/** Measures a process to its end: wall ms, and CPU ms of it and of the processes it started, which the shell counts. */
async function wholeRun(args, env, expected) {
  const output = join(env.HOME, "output");
  const script = '"$@" >"$OUTPUT" 2>&1; code=$?; times; exit $code';
  const begun = performance.now();
  const child = spawn("sh", ["-c", script, "sh", execPath, ...args], {
    env: { ...env, OUTPUT: output },
    cwd: env.HOME,
    stdio: ["ignore", "pipe", "inherit"],
  });
  let times = "";
  child.stdout.on("data", (text) => {
    times += text;
  });
  const code = await new Promise((resolve) => child.once("close", resolve));
  const wall = performance.now() - begun;
  const printed = readFileSync(output, "utf8");
  if (code !== 0 || !printed.includes(expected)) {
    throw new Error(`${args.join(" ")} exited with ${code} and printed ${printed.slice(0, 300)}`);
  }
  // The second line has the times of the children.
  const [user, system] = (times.trim().split("\n")[1] ?? "").split(" ").map(toMs);
  return { cpu: user + system, wall };
}

/** Converts "0m1.250s" to milliseconds. */
function toMs(text) {
  const [, minutes, seconds] = /^(\d+)m([\d.]+)s$/.exec(text) ?? [];
  return (Number(minutes) * 60 + Number(seconds)) * 1_000;
}
