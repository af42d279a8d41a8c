import type { LogLevel } from "portolan";
import type { HostEvent } from "portolan/host";
import type { Context, Flags } from "../command.ts";
import { Failure } from "../failure.ts";
import { countFlag, textFlag } from "../flags.ts";
import { withHost } from "../hosting.ts";
import { findTarget } from "../targets.ts";

const levels: readonly string[] = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];

/** Shows what a server tells, one event on a line, until somebody interrupts. */
export async function run(context: Context, args: readonly string[], flags: Flags): Promise<undefined> {
  const { signal } = context;
  const isBehindDashes = context.command.length > 0;
  const { entry } = await findTarget(context, isBehindDashes ? undefined : args[0]);
  const uris = isBehindDashes ? args : args.slice(1);
  const level = textFlag(flags, "level") ?? "info";
  if (!levels.includes(level)) {
    throw new Failure("usage", `--level: expected one of ${levels.join(", ")}, got ${JSON.stringify(level)}`);
  }
  const limit = countFlag(flags, "limit") ?? Number.POSITIVE_INFINITY;
  const watching = withHost(
    context,
    [entry],
    async (host) => {
      const events = host.events({ server: entry.name });
      await host.start(entry.name);
      for (const uri of uris) await host.follow(entry.name, uri);
      let shown = 0;
      for await (const event of events) {
        if (!show(context, event)) continue;
        shown += 1;
        if (shown >= limit) return;
      }
    },
    { logLevel: level as LogLevel },
  );
  await watching.catch((reason) => {
    // Ctrl-C is how this ends.
    if (!signal.aborted) throw reason;
  });
  return undefined;
}

/** Shows an event; false for what says nothing to people or programs. */
function show({ screen, isJson, print }: Context, event: HostEvent): boolean {
  const said = describe(event);
  if (!said) return false;
  const [what, text, value] = said;
  const at = new Date().toISOString();
  if (isJson) print(JSON.stringify({ at, kind: event.kind, ...value }));
  else {
    const time = screen.style("dim", at.slice(11, 19));
    print(screen.cut(`${time} ${screen.style("cyan", what.padEnd(9))} ${screen.safe(text)}`));
  }
  return true;
}

function describe(event: HostEvent): [what: string, text: string, value: object] | undefined {
  switch (event.kind) {
    case "server": {
      const { state, reason } = event.status;
      return [state, reason ?? "", { state, ...(reason !== undefined && { reason }) }];
    }
    case "catalog":
      return ["changed", event.changed, { changed: event.changed }];
    case "definition": {
      const { name, diff } = event.change;
      return ["changed", `the definition of ${name}`, { name, diff }];
    }
    case "resource":
      return ["changed", event.uri, { uri: event.uri }];
    case "log": {
      const { level, logger, data } = event;
      const text = typeof data === "string" ? data : JSON.stringify(data);
      return [level, logger === undefined ? text : `${logger}: ${text}`, { level, ...(logger && { logger }), data }];
    }
    case "stderr":
      return ["stderr", event.line, { line: event.line }];
    case "warning":
      return ["warning", event.message, { message: event.message }];
    case "lost":
      return ["lost", `${event.count} events`, { count: event.count }];
    default:
      return undefined;
  }
}
