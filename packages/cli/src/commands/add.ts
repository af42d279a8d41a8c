import { join, resolve } from "node:path";
import type { ServerEntry, ServerTarget } from "portolan-host";
import { type ConfigFile, findConfigs, readConfigs, writeServer } from "portolan-host/node";
import type { Context, Flags, Shown } from "../command.ts";
import { Failure } from "../failure.ts";
import { pairsFlag, textFlag } from "../flags.ts";
import { withHost } from "../hosting.ts";
import { quote } from "../quote.ts";
import { showSubject } from "../subject.ts";
import { readMachine } from "../targets.ts";

/** Adds a server to the file of the project, or of the user, and shows what was written. */
export async function run(context: Context, args: readonly string[], flags: Flags): Promise<Shown> {
  const { screen } = context;
  const [name = "", url] = args;
  if (name.trim() === "" || /\p{Cc}/u.test(name)) throw new Failure("usage", "expected a name for the server");
  const from = textFlag(flags, "from");
  const given = from === undefined ? typed(context, name, url, flags) : await imported(context, name, from);
  const file = await fileFor(context, flags["user"] === true);
  if (flags["force"] !== true) await refuseKnown(context, name);
  await writeServer(file, name, given);
  const { entry, isUsed } = await findWritten(context, name, file);
  // Who types a command means it; what another file says was written by somebody else.
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
      written: namesOnly(entry.configured),
      isTrusted,
      isUsed,
      ...(entry.problem !== undefined && { problem: entry.problem }),
      next,
    },
    text() {
      const lines = [
        `${screen.style("green", screen.mark("ok"))} ${screen.safe(name)} ${screen.style("dim", `added to ${screen.safe(file)}`)}`,
        showSubject(entry, screen),
      ];
      if (entry.problem !== undefined) lines.push(`${screen.mark("warn")} ${screen.safe(entry.problem)}`);
      if (!isUsed) lines.push(`${screen.mark("warn")} another file names ${screen.safe(name)}, too, and wins`);
      return [...lines, `  ${screen.mark("next")} ${screen.safe(next)}`].join("\n");
    },
  };
}

/** What stands on the command line: an address, or a command behind `--`. */
function typed({ command }: Context, name: string, url: string | undefined, flags: Flags): ServerEntry {
  const env = pairsFlag(flags, "env");
  const headers = pairsFlag(flags, "header");
  const hasCommand = command.length > 0;
  if (hasCommand === (url !== undefined)) {
    throw new Failure("usage", "expected an address, or a command behind --", {
      next: `portolan add ${quote(name)} -- <command>`,
    });
  }
  const odd = hasCommand ? headers : env;
  if (Object.keys(odd).length > 0) {
    throw new Failure("usage", hasCommand ? "--header is for an address; use --env" : "--env is for a command");
  }
  if (url !== undefined) {
    if (!/^(https?:\/\/|\$\{)/i.test(url)) {
      throw new Failure("usage", `expected an address of http or https, got ${JSON.stringify(url)}`);
    }
    return toEntry(name, { url, ...(Object.keys(headers).length > 0 && { headers }) });
  }
  const [program = "", ...args] = command;
  return toEntry(name, { command: program, args, ...(Object.keys(env).length > 0 && { env }) });
}

function toEntry(name: string, way: ServerTarget): ServerEntry {
  return { name, target: way, configured: way, settings: {}, source: { kind: "code" } };
}

/** The entry of this name in a file of any product. */
async function imported({ world, command }: Context, name: string, from: string): Promise<ServerEntry> {
  if (command.length > 0) throw new Failure("usage", "expected --from or a command behind --, got both");
  const { home, platform, env, cwd } = world;
  const file = resolve(cwd, from);
  const { entries, errors } = await readConfigs(file, { home, platform, env });
  for (const error of errors) throw error;
  const found = entries.find((entry) => entry.name === name);
  if (found) return found;
  const known = entries.map((entry) => entry.name).join(", ") || "none";
  throw new Failure("usage", `${from} has no server ${JSON.stringify(name)}; there is ${known}`);
}

/** Where to write: the nearest `.mcp.json` of the project, or the user's own file. */
async function fileFor({ world }: Context, isUser: boolean): Promise<string> {
  const { home, platform, env, cwd } = world;
  if (isUser) return join(settingsFolder(world), "portolan", "mcp.json");
  const files: readonly ConfigFile[] = await findConfigs({ home, platform, env, cwd, products: ["claude-code"] });
  return files.find(({ scope }) => scope === "project")?.file ?? join(cwd, ".mcp.json");
}

/** Where the system keeps the settings of applications. */
function settingsFolder({ home, platform, env }: Context["world"]): string {
  if (platform === "win32") return env["APPDATA"] || join(home, "AppData", "Roaming");
  if (platform === "darwin") return join(home, "Library", "Application Support");
  return env["XDG_CONFIG_HOME"] || join(home, ".config");
}

async function refuseKnown(context: Context, name: string): Promise<void> {
  const { entries } = await readMachine(context);
  const known = entries.find((entry) => entry.name === name);
  if (!known) return;
  throw new Failure("usage", `${known.source.file} names ${JSON.stringify(name)} already`, {
    next: `portolan add ${quote(name)} --force … replaces it, portolan remove ${quote(name)} removes it`,
  });
}

/** The entry as it is read back. */
async function findWritten(context: Context, name: string, file: string) {
  const { entries, shadowed } = await readMachine(context);
  const isIt = (entry: ServerEntry) =>
    entry.name === name && entry.source.kind === "file" && entry.source.file === file;
  const used = entries.find(isIt);
  const entry = used ?? shadowed.find((pair) => isIt(pair.shadowed))?.shadowed;
  if (!entry) throw new Failure("failed", `${file} was written, but ${JSON.stringify(name)} is not read from it`);
  return { entry, isUsed: used !== undefined };
}

/** What was written, without values that may be secrets. */
function namesOnly(written: ServerTarget): object {
  if ("command" in written) {
    const { command, args = [], cwd, env = {} } = written;
    return { command, args, ...(cwd !== undefined && { cwd }), env: Object.keys(env) };
  }
  return "url" in written ? { url: written.url, headers: Object.keys(written.headers ?? {}) } : {};
}
