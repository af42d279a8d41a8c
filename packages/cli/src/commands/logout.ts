import type { CommandContext, CommandResult } from "../command.ts";
import { authFor, findHttpServer } from "../servers/sign-in.ts";

/** Deletes the tokens for a server, and revokes them. */
export async function run(context: CommandContext, [given]: readonly string[]): Promise<CommandResult> {
  const { screen, terminal } = context;
  const { entry, url, shown } = await findHttpServer(context, given);
  await terminal.waits.during(`signing out at ${screen.safe(shown)}`, authFor(context, entry).logout(url));
  return {
    value: { server: shown },
    text: () => `${screen.style("green", screen.mark("ok"))} signed out at ${screen.safe(shown)}`,
  };
}
