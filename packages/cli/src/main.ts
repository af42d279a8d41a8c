import { homedir } from "node:os";
import { runCli } from "./cli.ts";

/** Runs the command line of this process; `self` is the file of the command. */
export async function main(self: string): Promise<void> {
  const { argv, env, platform, stdin, stdout, stderr } = process;
  // What was written to a pipe is read to its end: the process ends by itself.
  process.exitCode = await runCli({
    argv: argv.slice(2),
    env,
    platform,
    stdin,
    stdout,
    stderr,
    cwd: process.cwd(),
    home: env["HOME"] || homedir(),
    self,
    onExit(work) {
      process.once("exit", work);
      return () => process.off("exit", work);
    },
  });
}
