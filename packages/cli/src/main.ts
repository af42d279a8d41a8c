import { runCli } from "./cli.ts";
import type { GeneratedServer } from "./generate/only-server.ts";
import { createSystem } from "./system.ts";

/** Runs the command line of this process. `self` is the file of the command; `only` the server of a generated one. */
export async function main(self: string, only?: GeneratedServer): Promise<void> {
  // Not `exit`: the reader of a pipe gets all output, then the process ends by itself.
  process.exitCode = await runCli(createSystem(self), only);
}
