import { existsSync } from "node:fs";
import { join } from "node:path";
import type { ServerEntry } from "portolan-host";
import type { CommandContext } from "../command.ts";
import type { State } from "../state.ts";

/** Returns the folder with the files of the background process. The socket is elsewhere if this path is very long. */
export function warmStateFolder({ folder }: State): string {
  return join(folder, "warm");
}

/** Returns the file that exists while the background process runs. */
export function pidFile(state: State): string {
  return join(warmStateFolder(state), "pid");
}

/**
 * Returns an entry that uses the server that `portolan up` keeps running with the same configuration; otherwise the same
 * entry. The rest is loaded only if there is a background process, because most commands have none.
 */
export async function useWarm(context: CommandContext, entry: ServerEntry): Promise<ServerEntry> {
  if (entry.settings.keepAlive !== true && !existsSync(pidFile(context.state))) return entry;
  const { toWarmEntry } = await import("./use.ts");
  return toWarmEntry(context, entry);
}

/**
 * Returns the entries, of which those that `portolan up` keeps running use the running server, the names of these, and
 * those of other servers that are kept running.
 */
export async function useRunning(
  context: CommandContext,
  entries: readonly ServerEntry[],
): Promise<{
  readonly entries: readonly ServerEntry[];
  readonly running: ReadonlySet<string>;
  readonly others: readonly string[];
}> {
  if (!existsSync(pidFile(context.state))) return { entries, running: new Set(), others: [] };
  const { findRunning, toWarmEntry } = await import("./use.ts");
  const { found: running, others } = await findRunning(context, entries);
  return {
    entries: await Promise.all(entries.map((entry) => (running.has(entry) ? toWarmEntry(context, entry) : entry))),
    running: new Set([...running].map(({ name }) => name)),
    others,
  };
}

/** Makes the background process, if there is one, end the servers whose stored tokens this command has changed. */
export async function refreshWarmTokens(context: CommandContext): Promise<void> {
  if (!existsSync(pidFile(context.state))) return;
  const { listWarm } = await import("./use.ts");
  await listWarm(context);
}

/** Stops the servers in the background that were started from this entry, also before it was edited. */
export async function stopWarmTrusted(
  context: CommandContext,
  entry: ServerEntry,
  trusted: ReadonlySet<string>,
): Promise<void> {
  if (!existsSync(pidFile(context.state))) return;
  const { stopTrusted } = await import("./use.ts");
  await stopTrusted(context, entry, trusted);
}
