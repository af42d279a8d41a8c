import type { CommandContext, CommandResult } from "../command.ts";
import { Failure } from "../failure.ts";
import { suggest } from "../servers/find-server.ts";
import type { WarmServer } from "../warm/socket.ts";
import { listWarm, stopWarm } from "../warm/use.ts";

/** Stops servers that `up` keeps running. Without a name: all of them. */
export async function run(context: CommandContext, names: readonly string[]): Promise<CommandResult> {
  const { screen } = context;
  const stopped = names.length === 0 ? ((await stopWarm(context)) ?? []) : await stopNamed(context, names);
  return {
    value: { stopped: stopped.map(({ name }) => name) },
    text() {
      if (stopped.length === 0) return "no server is kept running";
      return stopped
        .map(({ name }) => `${screen.style("green", screen.mark("ok"))} ${screen.safe(name)} is stopped`)
        .join("\n");
    },
  };
}

async function stopNamed(context: CommandContext, names: readonly string[]): Promise<readonly WarmServer[]> {
  const running = (await listWarm(context)) ?? [];
  const known = [...new Set(running.map(({ name }) => name))];
  for (const name of names) {
    if (known.includes(name)) continue;
    const others = known.length > 0 ? suggest(name, known, "portolan up") : "no server is";
    throw new Failure("usage", `${JSON.stringify(name)} is not kept running; ${others}`, {
      next: known.length > 0 ? "portolan down" : "portolan servers",
    });
  }
  const chosen = running.filter(({ name }) => names.includes(name));
  return (
    (await stopWarm(
      context,
      chosen.map(({ digest }) => digest),
    )) ?? []
  );
}
