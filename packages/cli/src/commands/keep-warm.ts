import type { CommandContext, CommandResult } from "../command.ts";
import { Keeper } from "../warm/keeper.ts";

/** Keeps servers running in the background until the last one is stopped or unused. `up` starts this process. */
export async function run(context: CommandContext): Promise<CommandResult | undefined> {
  await new Keeper(context).run(() => context.print(JSON.stringify({ event: "ready" })));
  // Connections of commands that do not read must not hold the process.
  context.system.exit(0);
}
