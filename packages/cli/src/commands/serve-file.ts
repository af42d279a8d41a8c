import { resolve } from "node:path";
import type { Context, Shown } from "../command.ts";
import { explainError, libraryOf, loadFile, serverIn } from "../serve/server-file.ts";

/** Serves a file over standard input and output: its default export, or what it serves by itself. */
export async function run(context: Context, [given = ""]: readonly string[]): Promise<Shown | undefined> {
  const { world, command } = context;
  const file = resolve(world.cwd, given);
  const fail = (why: string) => {
    world.stderr.write(`${why}\n`);
    process.exit(1);
  };
  // The file may ask whether it is the program, and read its own arguments.
  process.argv.splice(1, process.argv.length, file, ...command);
  try {
    const server = await serverIn(await loadFile(file, context), given);
    if (isRead(world.stdin)) return undefined;
    if (server) {
      const { serveStdio } = await libraryOf<typeof import("portolan/server/stdio")>(file, "server/stdio", context);
      serveStdio(server);
      return undefined;
    }
  } catch (thrown) {
    fail(explainError(thrown, file));
  }
  process.once("beforeExit", () => {
    if (!isRead(world.stdin)) fail(`${given}: expected a server as the default export, or a file that serves itself`);
  });
  return undefined;
}

function isRead(stdin: NodeJS.ReadStream): boolean {
  return stdin.listenerCount("data") + stdin.listenerCount("readable") > 0;
}
