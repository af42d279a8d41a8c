import { join, resolve } from "node:path";
import { describeForTrust, type ServerEntry, type ServerTarget } from "portolan-host";
import { type ConfigFile, findConfigs, readConfigs, writeServer } from "portolan-host/node";
import { pairsFlag, textFlag } from "../arguments/flags.ts";
import { trustDetails } from "../ask/consent.ts";
import type { CommandContext, CommandResult, Flags } from "../command.ts";
import { Failure } from "../failure.ts";
import { readConfiguration } from "../servers/find-server.ts";
import { withHost } from "../servers/host.ts";
import { quote } from "../terminal/escape.ts";

/** Adds a server to the file of the project or of the user. */
export async function run(context: CommandContext, args: readonly string[], flags: Flags): Promise<CommandResult> {
  const { screen } = context;
  const [name = "", url] = args;
  if (name.trim() === "" || /\p{Cc}/u.test(name)) throw new Failure("usage", "expected a name for the server");
  const from = textFlag(flags, "from");
  const given =
    from === undefined ? entryFromCommandLine(context, name, url, flags) : await entryFromFile(context, name, from);
  const file = await fileToWrite(context, flags["user"] === true);
  if (flags["force"] !== true) await requireNewName(context, name);
  await writeServer(file, name, given, { lock: { onWait: context.state.onWait } });
  const { entry, isUsed } = await findWritten(context, name, file);
  // A typed command needs no trust; an entry from another file was written by someone else.
  const isTrusted = from === undefined && entry.problem === undefined;
  if (isTrusted) {
    await withHost(context, [entry], (host) => host.trust(name, { allow: true, for: "always" }));
  }
  const next = isTrusted
    ? `portolan ls ${quote(name)}`
    : entry.problem
      ? `portolan doctor ${quote(name)}`
      : `portolan trust ${quote(name)}`;
  return {
    value: {
      name,
      file,
      written: withoutValues(entry.configured),
      isTrusted,
      isUsed,
      ...(entry.problem !== undefined && { problem: entry.problem }),
      next,
    },
    text() {
      const lines = [
        `${screen.style("green", screen.mark("ok"))} ${screen.safe(name)} ${screen.style("dim", `added to ${screen.safe(file)}`)}`,
        trustDetails(describeForTrust(entry), screen),
      ];
      if (entry.problem !== undefined) lines.push(`${screen.mark("warn")} ${screen.safe(entry.problem)}`);
      if (!isUsed)
        lines.push(`${screen.mark("warn")} another file also has ${screen.safe(name)}, and takes precedence`);
      return [...lines, `  ${screen.mark("next")} ${screen.safe(next)}`].join("\n");
    },
  };
}

/** Returns the entry on the command line: an address, or a command after `--`. */
function entryFromCommandLine(
  { command }: CommandContext,
  name: string,
  url: string | undefined,
  flags: Flags,
): ServerEntry {
  const env = pairsFlag(flags, "env");
  const headers = pairsFlag(flags, "header");
  const hasCommand = command.length > 0;
  if (hasCommand === (url !== undefined)) {
    throw new Failure("usage", "expected an address, or a command after --", {
      next: `portolan add ${quote(name)} -- <command>`,
    });
  }
  const odd = hasCommand ? headers : env;
  if (Object.keys(odd).length > 0) {
    throw new Failure(
      "usage",
      hasCommand ? "--header is for an address; use --env" : "--env is for a command; use --header",
    );
  }
  if (url !== undefined) {
    if (!/^(https?:\/\/|\$\{)/i.test(url)) {
      throw new Failure("usage", `expected an http or https address, got ${JSON.stringify(url)}`);
    }
    return toEntry(name, { url, ...(Object.keys(headers).length > 0 && { headers }) });
  }
  const [program = "", ...args] = command;
  return toEntry(name, { command: program, args, ...(Object.keys(env).length > 0 && { env }) });
}

function toEntry(name: string, target: ServerTarget): ServerEntry {
  return { name, target, configured: target, settings: {}, source: { kind: "code" } };
}

/** Returns the entry of this name from a file of any product. */
async function entryFromFile({ system, command }: CommandContext, name: string, from: string): Promise<ServerEntry> {
  if (command.length > 0) throw new Failure("usage", "expected --from or a command after --, got both");
  const { home, platform, env, cwd } = system;
  const file = resolve(cwd, from);
  const { entries, errors } = await readConfigs(file, { home, platform, env });
  for (const error of errors) throw error;
  const found = entries.find((entry) => entry.name === name);
  if (found) return found;
  const known = entries.map((entry) => entry.name).join(", ") || "none";
  throw new Failure("usage", `${from} has no server ${JSON.stringify(name)}; it has ${known}`);
}

/** Returns the file to write: the nearest `.mcp.json` of the project, or the user's own file. */
async function fileToWrite({ system }: CommandContext, isUser: boolean): Promise<string> {
  const { home, platform, env, cwd } = system;
  if (isUser) return join(settingsFolder(system), "portolan", "mcp.json");
  const files: readonly ConfigFile[] = await findConfigs({ home, platform, env, cwd, products: ["claude-code"] });
  return files.find(({ scope }) => scope === "project")?.file ?? join(cwd, ".mcp.json");
}

/** Returns the folder for application settings of this platform. */
function settingsFolder({ home, platform, env }: CommandContext["system"]): string {
  if (platform === "win32") return env["APPDATA"] || join(home, "AppData", "Roaming");
  if (platform === "darwin") return join(home, "Library", "Application Support");
  return env["XDG_CONFIG_HOME"] || join(home, ".config");
}

async function requireNewName(context: CommandContext, name: string): Promise<void> {
  const { entries } = await readConfiguration(context);
  const known = entries.find((entry) => entry.name === name);
  if (!known) return;
  throw new Failure("usage", `${known.source.file} already has a server ${JSON.stringify(name)}`, {
    next: `replace it: portolan add ${quote(name)} --force …, or remove it: portolan remove ${quote(name)}`,
  });
}

/** Reads the written entry back. */
async function findWritten(context: CommandContext, name: string, file: string) {
  const { entries, shadowed } = await readConfiguration(context);
  const isIt = (entry: ServerEntry) =>
    entry.name === name && entry.source.kind === "file" && entry.source.file === file;
  const used = entries.find(isIt);
  const entry = used ?? shadowed.find((pair) => isIt(pair.shadowed))?.shadowed;
  if (!entry)
    throw new Failure("failed", `${JSON.stringify(name)} was written to ${file}, but cannot be read from there`);
  return { entry, isUsed: used !== undefined };
}

/** Returns what was written, without values that may be secrets. */
function withoutValues(written: ServerTarget): object {
  if ("command" in written) {
    const { command, args = [], cwd, env = {} } = written;
    return { command, args, ...(cwd !== undefined && { cwd }), env: Object.keys(env) };
  }
  return "url" in written ? { url: written.url, headers: Object.keys(written.headers ?? {}) } : {};
}
