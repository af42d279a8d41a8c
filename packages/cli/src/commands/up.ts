import type { ServerEntry } from "portolan-host";
import { flagOf, textFlag, withNeeds } from "../arguments/flags.ts";
import type { CommandContext, CommandResult, Flags } from "../command.ts";
import { Failure } from "../failure.ts";
import { createProgress } from "../output/progress.ts";
import { findServer, readConfiguration, refuseBoth, targetArgument } from "../servers/find-server.ts";
import { applyTargetFlags } from "../servers/target-flags.ts";
import { wrap } from "../terminal/wrap.ts";
import type { WarmServer } from "../warm/socket.ts";
import { defaultIdleMs, listWarm, startWarm } from "../warm/use.ts";

/** Keeps servers running in the background. Without a name: those whose entries say so. */
export async function run(context: CommandContext, args: readonly string[], flags: Flags): Promise<CommandResult> {
  const { screen, system } = context;
  const idleMs = idleOf(flags);
  const entries = await chosenEntries(context, args, flags);
  const started: { readonly entry: ServerEntry; readonly server: WarmServer }[] = [];
  const failures: Failure[] = [];
  // One after another: a failure of one server must not hide the others.
  for (const entry of entries) {
    const progress = createProgress(context, entry.name);
    try {
      started.push({ entry, server: await startWarm(context, entry, idleMs) });
    } catch (reason) {
      if (!(reason instanceof Failure) || reason.kind === "interrupted") throw reason;
      failures.push(reason);
    } finally {
      progress.end();
    }
  }
  const servers = (await listWarm(context)) ?? [];
  for (const { entry, server } of started) {
    if (servers.some(({ digest }) => digest === server.digest)) continue;
    const why = "it was stopped, its sign-in changed, or --idle is too short";
    failures.push(
      new Failure("failed", `${entry.name} was started, but does not run any more: ${why}`, {
        next: `portolan up ${targetArgument(entry, system)}`,
      }),
    );
  }
  const [failure] = failures;
  if (failure && (started.length === 0 || servers.length === 0)) throw failure;
  if (servers.length === 0) {
    throw new Failure("usage", 'no server is named, and no configured server has "keepAlive": true', {
      next: "portolan servers",
    });
  }
  return {
    failure,
    value: { servers: servers.map(({ digest: _, trust: __, ...server }) => server) },
    text() {
      const lines = servers.flatMap(({ name, digest, idleMs: idle }) => {
        const isAsked = started.length === 0 || started.some(({ server }) => server.digest === digest);
        const state = isAsked ? "is kept running" : "was kept running before";
        const text = `${screen.safe(name)} ${state}; it stops after ${minutes(idle)} without use`;
        const [first = "", ...rest] = wrap(text, screen.columns - 2);
        const mark = isAsked ? screen.style("green", screen.mark("ok")) : screen.style("dim", screen.mark("dot"));
        return [`${mark} ${first}`, ...rest.map((line) => `  ${line}`)];
      });
      const [first] = started;
      const next = first ? withNeeds(`portolan ls ${targetArgument(first.entry, system)}`, system) : "portolan down";
      return [...lines, `  ${screen.mark("next")} ${screen.step(next)}`].join("\n");
    },
  };
}

async function chosenEntries(
  context: CommandContext,
  names: readonly string[],
  flags: Flags,
): Promise<readonly ServerEntry[]> {
  const [first] = names;
  if (context.command.length > 0) {
    if (first !== undefined) refuseBoth(first, context.system);
    return [await findServer(context, undefined, flags)];
  }
  const odd = connectionFlags.find((flag) => flags[flag] !== undefined);
  if (names.length !== 1 && odd !== undefined) {
    throw new Failure("usage", `${flagOf(odd)} is for one server; name it`);
  }
  if (names.length === 0) {
    const { entries } = await readConfiguration(context);
    const kept = entries.filter(({ settings }) => settings.keepAlive === true && settings.disabled !== true);
    return Promise.all(kept.map((entry) => applyTargetFlags(context, entry, flags)));
  }
  return Promise.all(names.map((name) => findServer(context, name, flags)));
}

/** Flags of a connection that cannot fit several servers. */
const connectionFlags = ["env", "cwd", "header", "clientId"];

/** Returns the time without use after which a server is stopped. */
function idleOf(flags: Flags): number {
  const given = textFlag(flags, "idle");
  if (given === undefined) return defaultIdleMs;
  const value = Number(given);
  if (value > 0 && value <= maxMinutes) return value * 60_000;
  throw new Failure("usage", `--idle: expected a number of minutes up to ${maxMinutes}, got ${JSON.stringify(given)}`);
}

/** Two weeks. Timers cannot be longer than 24 days. */
const maxMinutes = 20_160;

function minutes(ms: number): string {
  const count = Math.round(ms / 6_000) / 10;
  return `${count} minute${count === 1 ? "" : "s"}`;
}
