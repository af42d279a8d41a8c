import { resolve } from "node:path";
import { LineReader } from "portolan";
import { RecordedServer } from "portolan-recording";
import type { CommandContext, CommandResult } from "../command.ts";
import { openForCommand } from "../record/open.ts";

/** Serves a recording over standard input and output. */
export async function run(
  { system, warn }: CommandContext,
  [given = ""]: readonly string[],
): Promise<CommandResult | undefined> {
  const { stdin, stdout } = system;
  const server = new RecordedServer(openForCommand(resolve(system.cwd, given)), (text) => stdout.write(`${text}\n`));
  const reader = new LineReader({
    message: (message) => server.receive(message),
    batch: (messages) => {
      for (const message of messages) server.receive(message);
    },
    unreadable: ({ why }) => warn(why),
  });
  stdin.on("data", (chunk: Buffer) => reader.push(chunk));
  await new Promise<void>((end) => stdin.once("end", end).once("close", end));
  return undefined;
}
