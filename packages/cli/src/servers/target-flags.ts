import { statSync } from "node:fs";
import { resolve } from "node:path";
import type { ConfiguredServer, ServerEntry, ServerTarget } from "portolan-host";
import { listFlag, pairsFlag, secondsFlag, textFlag } from "../arguments/flags.ts";
import type { CommandContext, Flags } from "../command.ts";
import { Failure } from "../failure.ts";
import type { System } from "../system.ts";
import { isSecretName } from "../terminal/escape.ts";

/** Applies the flags of a command line to the server that it names, for this run only. */
export async function applyTargetFlags(
  context: CommandContext,
  entry: ServerEntry,
  flags: Flags,
): Promise<ServerEntry> {
  const env = variablesOf(context.system, flags);
  const headers = pairsFlag(flags, "header");
  const cwd = folderOf(context.system, flags);
  const clientId = textFlag(flags, "clientId");
  const timeoutMs = secondsFlag(flags, "timeout");
  const era = await eraFlag(flags);
  const change = (target: ServerTarget): ServerTarget => {
    if ("command" in target) {
      refuse("--header", Object.keys(headers).length > 0, "an address", "--env");
      refuse("--client-id", clientId !== undefined, "an address", "--env");
      if (Object.keys(env).length === 0 && cwd === undefined) return target;
      return { ...target, env: { ...target.env, ...env }, ...(cwd !== undefined && { cwd }) };
    }
    if (!("url" in target)) return target;
    refuse("--env", Object.keys(env).length > 0, "a command or a file", "--header");
    refuse("--cwd", cwd !== undefined, "a command or a file");
    return Object.keys(headers).length === 0 ? target : { ...target, headers: { ...target.headers, ...headers } };
  };
  const given = Object.entries({ ...env, ...headers });
  context.secrets.add(given.flatMap(([name, value]) => (isSecretName(name) ? [value] : [])));
  const { settings, source } = entry;
  const target = change(entry.target);
  return {
    ...entry,
    target,
    // A configured server stays the one that was trusted: the flags are typed by the person who trusts it.
    ...(source.kind === "code" && { configured: target }),
    settings: {
      ...settings,
      ...(era !== undefined && { era }),
      ...(timeoutMs !== undefined && { connectMs: timeoutMs, idleMs: timeoutMs }),
    },
    ...(clientId !== undefined && { oauth: { ...(entry as Partial<ConfiguredServer>).oauth, clientId } }),
  };
}

function refuse(flag: string, isGiven: boolean, target: string, instead?: string): void {
  if (!isGiven) return;
  throw new Failure("usage", `${flag} is for ${target}${instead === undefined ? "" : `; use ${instead}`}`);
}

/** Returns the variables of `--env`. A name alone passes the variable of the shell. */
export function variablesOf({ env }: System, flags: Flags): { readonly [name: string]: string } {
  return Object.fromEntries(
    listFlag(flags, "env").map((given) => {
      const [, name = "", value = env[name]] = /^([^=]+)(?:=([\s\S]*))?$/.exec(given) ?? [];
      if (name === "")
        throw new Failure("usage", "--env: expected NAME=VALUE, or NAME to pass a variable of your shell");
      if (value === undefined) {
        throw new Failure("usage", `--env ${name}: your shell has no variable ${name}`, {
          next: `set it: --env ${name}=…`,
        });
      }
      return [name, value];
    }),
  );
}

/** Returns the folder of `--cwd`. */
export function folderOf({ cwd }: System, flags: Flags): string | undefined {
  const given = textFlag(flags, "cwd");
  if (given === undefined) return undefined;
  const folder = resolve(cwd, given);
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory()) return folder;
  throw new Failure("usage", `--cwd: folder not found: ${given}`);
}

/** Returns the era of `--era`. */
export async function eraFlag(flags: Flags): Promise<string | undefined> {
  const given = textFlag(flags, "era");
  if (given === undefined) return undefined;
  const { revisions } = await import("portolan-check");
  const known = ["auto", "stateless", "stateful", ...revisions.map(({ date }) => date)];
  if (known.includes(given)) return given;
  throw new Failure("usage", `--era: expected one of ${known.join(", ")}, got ${JSON.stringify(given)}`);
}

/** Returns the flags that an entry got from the command line, as words of a command line without values of pairs. */
export function flagWordsOf(entry: ServerEntry, { cwd }: System): string[] {
  const { target, settings, source } = entry;
  const words: string[] = [];
  if (source.kind === "code" && "command" in target) {
    for (const name of Object.keys(target.env ?? {})) words.push("--env", name);
    if (target.cwd !== undefined && target.cwd !== cwd) words.push("--cwd", target.cwd);
  }
  if (source.kind === "code" && "url" in target) {
    const { clientId } = (entry as Partial<ConfiguredServer>).oauth ?? {};
    if (clientId !== undefined) words.push("--client-id", clientId);
  }
  if (source.kind === "code" && settings.era !== undefined) words.push("--era", settings.era);
  return words;
}
