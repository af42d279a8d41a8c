import { resolve } from "node:path";
import type { CommandContext, CommandResult } from "../command.ts";
import { explainError, importLibrary, loadServerFile, serverFrom } from "../serve/server-file.ts";

/** Serves a file over standard input and output: its default export, or the file serves itself. */
export async function run(
  context: CommandContext,
  [given = ""]: readonly string[],
): Promise<CommandResult | undefined> {
  const { system, command, screen } = context;
  const file = resolve(system.cwd, given);
  const fail = (why: string) => {
    system.stderr.write(`${screen.safe(why, { lines: "keep" })}\n`);
    system.exit(1);
  };
  // The file may check whether it is the main program, and read its arguments.
  system.replaceArguments([file, ...command]);
  try {
    const server = await serverFrom(await loadServerFile(file, context), given);
    if (isRead(system.stdin)) return undefined;
    if (server) {
      const [{ serveStdio }, { logUnhandledRejections }] = await Promise.all([
        importLibrary<typeof import("portolan/server/stdio")>(file, "server/stdio", context),
        importLibrary<typeof import("portolan/server/main")>(file, "server/main", context),
      ]);
      // An older copy of the library does not have the function.
      logUnhandledRejections?.(given, server);
      serveStdio(server);
      return undefined;
    }
  } catch (thrown) {
    fail(explainError(thrown, file, system));
  }
  system.onIdle(() => {
    if (!isRead(system.stdin)) fail(`${given}: expected a server as the default export, or a file that serves itself`);
  });
  return undefined;
}

function isRead(stdin: NodeJS.ReadStream): boolean {
  return stdin.listenerCount("data") + stdin.listenerCount("readable") > 0;
}
