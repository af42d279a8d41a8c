import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { rowOf } from "../driver/row.mjs";
import { Samples } from "../driver/stats.mjs";

const program = fileURLToPath(new URL("../../packages/portolan/dist/cli/main.js", import.meta.url));
const server = fileURLToPath(new URL("../servers/raw/stdio.mjs", import.meta.url));

/** The `portolan` command beside bare node: wall ms to the first byte of its output. */
export async function run({ quick }) {
  const home = mkdtempSync(join(tmpdir(), "portolan-bench-cli-"));
  const samples = { help: new Samples(), call: new Samples() };
  const call = ["call", "echo", "message=hello", "--", process.execPath, server];
  try {
    for (let repetition = 0; repetition < (quick ? 5 : 15); repetition += 1) {
      const bare = await firstByte(["-e", "process.stdout.write('x')"], home);
      // A call needs a server, so the minimum is bare node started twice.
      samples.help.add("raw", repetition, bare);
      samples.call.add("raw", repetition, bare + (await firstByte(["-e", "process.stdout.write('x')"], home)));
      samples.help.add("portolan", repetition, await firstByte([program, "--help"], home));
      samples.call.add("portolan", repetition, await firstByte([program, ...call], home));
    }
  } finally {
    rmSync(home, { recursive: true });
  }
  return [
    rowOf("W12 portolan --help", { unit: "ms", shown: "difference" }, samples.help),
    rowOf("W12 portolan call of a local server", { unit: "ms", shown: "difference" }, samples.call),
  ];
}

/** Measures the time from the start of a process to its first byte of output. */
function firstByte(args, home) {
  const begun = performance.now();
  const env = { PATH: process.env.PATH, HOME: home, PORTOLAN_HOME: join(home, "state") };
  const child = spawn(process.execPath, args, { env, cwd: home, stdio: ["ignore", "pipe", "inherit"] });
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
