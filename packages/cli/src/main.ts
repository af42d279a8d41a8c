import { runCli } from "./cli.ts";
import { createSystem } from "./system.ts";

/** Runs the command line of this process. `self` is the file of the command. */
export async function main(self: string): Promise<void> {
  // Not `exit`: the reader of a pipe gets all output, then the process ends by itself.
  process.exitCode = await runCli(createSystem(self));
}
