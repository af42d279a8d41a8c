import { isAbsolute, resolve } from "node:path";
import type { HostTask, ServerEntry } from "portolan-host";
import { listFlag, textFlag } from "../arguments/flags.ts";
import type { CommandContext, Flags } from "../command.ts";
import { Failure } from "../failure.ts";
import { findByName, findTarget, targetArgument } from "../servers/find-server.ts";
import { folderOf } from "../servers/target-flags.ts";
import { quote } from "../terminal/escape.ts";
import { useWarm } from "../warm/warm-entry.ts";

/** How the server of a task was named on the command line, without values that may be secrets. */
interface StoredTarget {
  readonly target?: string;
  readonly command: readonly string[];
  readonly cwd: string;
  readonly flags: { readonly era?: string; readonly clientId?: string; readonly cwd?: string };
  /** Names of the variables and headers. A variable is read from the shell again, a header must be given again. */
  readonly env: readonly string[];
  readonly headers: readonly string[];
}

/** The records of a host's tasks are kept as long. */
const keptMs = 30 * 24 * 60 * 60 * 1_000;

const keyOf = (id: string) => `task-target/${id}`;

/** Stores how the server of a task is found again. */
export async function rememberTarget(
  { state, system, command }: CommandContext,
  { id }: HostTask,
  target: string | undefined,
  flags: Flags,
): Promise<void> {
  const era = textFlag(flags, "era");
  const clientId = textFlag(flags, "clientId");
  const cwd = folderOf(system, flags);
  const isFile = target !== undefined && /[\\/]/.test(target) && !/^https?:/i.test(target);
  const stored: StoredTarget = {
    ...(target !== undefined && { target: isFile && !isAbsolute(target) ? resolve(system.cwd, target) : target }),
    command,
    cwd: system.cwd,
    flags: {
      ...(era !== undefined && { era }),
      ...(clientId !== undefined && { clientId }),
      ...(cwd !== undefined && { cwd }),
    },
    env: namesOf(listFlag(flags, "env")),
    headers: namesOf(listFlag(flags, "header")),
  };
  await state.kv.set(keyOf(id), JSON.stringify(stored), { ttlMs: keptMs });
}

/** Deletes what is stored about the server of a task that is over. */
export async function forgetTarget({ state }: CommandContext, { id }: HostTask): Promise<void> {
  await state.kv.delete(keyOf(id));
}

/** Finds the server of a task again. `again` is the command to repeat with the headers that it needs. */
export async function findTaskServer(
  context: CommandContext,
  task: HostTask,
  flags: Flags,
  again: string,
): Promise<ServerEntry> {
  const text = await context.state.kv.get(keyOf(task.id));
  const stored = text === undefined ? undefined : (JSON.parse(text) as StoredTarget);
  if (!stored) return toTaskEntry(context, await findByName(context, task.server));
  const given = namesOf(listFlag(flags, "header"));
  const missing = stored.headers.filter((name) => !given.includes(name));
  if (missing.length > 0) {
    const words = missing.map((name) => `--header ${quote(`${name}=<value>`)}`).join(" ");
    throw new Failure("usage", `task ${task.id} was started with headers, and their values are not stored`, {
      next: `give them again: ${again} ${words}`,
    });
  }
  const then = { ...context, command: stored.command, system: { ...context.system, cwd: stored.cwd } };
  const givenEnv = listFlag(flags, "env");
  const env = [...stored.env.filter((name) => !namesOf(givenEnv).includes(name)), ...givenEnv];
  const more = { ...stored.flags, ...(env.length > 0 && { env }) };
  const { entry } = await findTarget(then, stored.target, { ...flags, ...more });
  return toTaskEntry(then, entry);
}

/**
 * Returns the entry of a server that outlives this command: an address, or a command that `portolan up` keeps running.
 * Fails for a command that would end, and its tasks with it.
 */
export async function toTaskEntry(context: CommandContext, entry: ServerEntry): Promise<ServerEntry> {
  if (!("command" in entry.target)) return entry;
  const warm = await useWarm(context, entry);
  // Tasks have nothing to do with the revision that the server itself speaks.
  if (warm !== entry) return { ...warm, settings: entry.settings };
  throw new Failure("usage", `${entry.name} is started for one command, and its tasks end with it`, {
    next: `portolan up ${targetArgument(entry, context.system)}`,
  });
}

function namesOf(pairs: readonly string[]): string[] {
  return pairs.map((pair) => pair.replace(/=[\s\S]*$/, ""));
}
