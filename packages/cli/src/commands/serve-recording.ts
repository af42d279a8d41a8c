import { resolve } from "node:path";
import { LineReader } from "portolan";
import type { CommandContext, CommandResult } from "../command.ts";
import { RecordedServer } from "../record/recorded-server.ts";
import { readRecording } from "../record/recording.ts";

/** Serves a recording over standard input and output. */
export async function run(
  { system, warn }: CommandContext,
  [given = ""]: readonly string[],
): Promise<CommandResult | undefined> {
  const { stdin, stdout } = system;
  const server = new RecordedServer(readRecording(resolve(system.cwd, given)), (text) => stdout.write(`${text}\n`));
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
