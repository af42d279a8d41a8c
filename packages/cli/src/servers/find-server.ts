import { existsSync, statSync } from "node:fs";
import { basename, extname, isAbsolute, join, relative, resolve } from "node:path";
import type { ConfigInput, ConfiguredServer, ServerEntry, ServerTarget } from "portolan-host";
import { findConfigs, type ReadConfigs, type ReadOptions, readConfigs } from "portolan-host/node";
import { withoutValues } from "../arguments/flags.ts";
import { nearest } from "../arguments/nearest.ts";
import type { CommandContext, Flags } from "../command.ts";
import { Failure } from "../failure.ts";
import type { System } from "../system.ts";
import { quote, quoteCommand } from "../terminal/escape.ts";
import { nameOfCommand } from "./command-name.ts";
import { applyTargetFlags, flagWordsOf } from "./target-flags.ts";

const programs = new Set([".js", ".mjs", ".cjs", ".ts", ".mts", ".cts"]);
const recordings = new Set([".jsonl", ".ndjson"]);

/** Returns whether a word names a program that could be a server. */
export function isServerFile(word: string): boolean {
  return programs.has(extname(word));
}

type Input = NonNullable<ReadOptions["input"]>;

/**
 * Reads every configuration file of this machine for the current folder. `ask` supplies inputs that a file leaves open;
 * by default they stay open. `more` are variables besides those of the shell.
 */
export async function readConfiguration(
  { system, secrets }: Pick<CommandContext, "system" | "secrets">,
  ask: Input = async () => undefined,
  more: { readonly [name: string]: string } = {},
): Promise<ReadConfigs> {
  const { home, cwd, platform } = system;
  const env = { ...system.env, ...more };
  const input: Input = async (request, entry) => presetInput(request, { env }) ?? ask(request, entry);
  // The variables of the shell alone say where the files are.
  const files = await findConfigs({ home, cwd, platform, env: system.env });
  const read = await readConfigs(files, { home, platform, env, input });
  for (const entry of read.entries) secrets.add(entry.secrets ?? []);
  return read;
}

/** Asks the person for the inputs that the file of a server leaves open. */
export async function fillInputs(context: CommandContext, entry: ConfiguredServer): Promise<ConfiguredServer> {
  const { raw, name, source, problem } = entry;
  const isOpen = problem !== undefined && raw.inputs.some((it) => presetInput(it, context.system) === undefined);
  if (!isOpen || !context.screen.isInteractive) return entry;
  const { askInput } = await import("../ask/missing.ts");
  // Two files may use one id for different inputs, so the answer is only for this server.
  const { entries } = await readConfiguration(context, async (request, asking) =>
    asking.name === name && asking.source.file === source.file ? askInput(context, name, request) : undefined,
  );
  return entries.find((it) => it.name === name) ?? entry;
}

/** The server that a command line names, and the tool in `files.read`. */
export interface Target {
  readonly entry: ServerEntry;
  /** The text after the name of the server. */
  readonly member?: string;
}

/**
 * Finds the server that a command line names: a command after `--`, an address, a server file, a recording, or a
 * configured server. `files.read` also names a tool. The flags of a target apply to it.
 */
export async function findTarget(
  context: CommandContext,
  given: string | undefined,
  flags: Flags = {},
): Promise<Target> {
  const found = await findNamed(context, given);
  return { ...found, entry: await applyTargetFlags(context, found.entry, flags) };
}

/**
 * Finds the server for a command that uses a whole server. Refuses what such a command would ignore: a word beside a
 * command after `--`, and a tool.
 */
export async function findServer(
  context: CommandContext,
  given: string | undefined,
  flags: Flags = {},
): Promise<ServerEntry> {
  const { command, system, only } = context;
  if (given !== undefined && command.length > 0 && !only) refuseBoth(given, system);
  const { entry, member } = await findTarget(context, given, flags);
  if (member === undefined || only) return entry;
  throw new Failure("usage", `expected a server, got a tool: ${given}`, {
    next: quoteCommand(["portolan", ...withoutValues(system.argv).map((word) => (word === given ? entry.name : word))]),
  });
}

/** Fails for a server that is named beside a command after `--`: one of them would be ignored. */
export function refuseBoth(given: string, { argv }: System): never {
  const words = withoutValues(argv);
  const at = words.indexOf(given);
  throw new Failure(
    "usage",
    `${JSON.stringify(given)} names a server, and so does the command after --; expected one of them`,
    { next: quoteCommand(["portolan", ...words.filter((_, index) => index !== at)]) },
  );
}

async function findNamed(context: CommandContext, given: string | undefined): Promise<Target> {
  const { command, only } = context;
  if (only) return { entry: toEntry(only.name, only.target), ...member(given) };
  if (command.length > 0) {
    const [program = "", ...args] = command;
    return {
      entry: toEntry(nameOfCommand(command), { command: program, args, cwd: context.system.cwd }),
      ...member(given),
    };
  }
  if (given === undefined) {
    throw new Failure("usage", "no server given; expected a name, an address, a file, or a command after --", {
      next: "portolan servers",
    });
  }
  if (/^https?:\/\//i.test(given)) return { entry: toEntry(nameOfUrl(given), { url: given }) };
  const file = fileOf(context, given);
  if (file) return file;
  return findConfigured(context, given);
}

function member(given: string | undefined): { member?: string } {
  return given === undefined ? {} : { member: given };
}

/** Returns a target for a server file or a recording. This program serves both in a child process. */
function fileOf({ system }: CommandContext, given: string): Target | undefined {
  const extension = extname(given);
  const isProgram = programs.has(extension);
  if (!isProgram && !recordings.has(extension)) return undefined;
  const file = resolve(system.cwd, given);
  if (!existsSync(file) || !statSync(file).isFile()) {
    if (!/[\\/]/.test(given)) return undefined;
    throw new Failure("usage", `file not found: ${given}`);
  }
  const args = [system.self, isProgram ? "serve-file" : "serve-recording", file];
  return { entry: toEntry(basename(given, extension), { command: system.execPath, args, cwd: system.cwd }) };
}

/** True for a file that this command writes, and no other product owns. */
export function isOwnFile({ file, product }: ConfiguredServer["source"]): boolean {
  return product === "portolan" || basename(file) === ".mcp.json";
}

/** Returns the file of this command with the servers of the user. */
export function userFile(system: System): string {
  return join(settingsFolder(system), "portolan", "mcp.json");
}

/** Returns the folder for application settings of this platform. */
function settingsFolder({ home, platform, env }: System): string {
  if (platform === "win32") return env["APPDATA"] || join(home, "AppData", "Roaming");
  if (platform === "darwin") return join(home, "Library", "Application Support");
  return env["XDG_CONFIG_HOME"] || join(home, ".config");
}

/** Finds the configured server with exactly this name. */
export async function findByName(context: CommandContext, name: string): Promise<ConfiguredServer> {
  const machine = await readConfiguration(context);
  return machine.entries.find((entry) => entry.name === name) ?? failUnknown(name, machine);
}

async function findConfigured(context: CommandContext, given: string): Promise<Target> {
  const machine = await readConfiguration(context);
  const { entries } = machine;
  const exact = entries.find(({ name }) => name === given);
  if (exact) return { entry: await fillInputs(context, exact) };
  // The longest name wins: names may contain dots.
  const owner = entries
    .filter(({ name }) => given.startsWith(`${name}.`))
    .sort((a, b) => b.name.length - a.name.length)
    .at(0);
  if (owner) return { entry: await fillInputs(context, owner), member: given.slice(owner.name.length + 1) };
  return failUnknown(given, machine);
}

function failUnknown(given: string, { entries, errors, notes }: ReadConfigs): never {
  const known = entries.map(({ name }) => name);
  const [near] = nearest(given.split(".")[0] ?? given, known);
  const some =
    known.length > maxListed ? [...known.slice(0, maxListed), `… and ${known.length - maxListed} more`] : known;
  const others = near === undefined ? known.length > 0 && `configured: ${some.join(", ")}` : `did you mean ${near}?`;
  // The server may be in a file that could not be read.
  const why = [...errors.map(({ message }) => message), ...(known.length === 0 ? notes : [])];
  const unread = near === undefined ? why.map((reason) => `could not read: ${reason}`) : [];
  const first = [`no server is named ${JSON.stringify(given)}`, others].filter(Boolean).join("; ");
  throw new Failure("usage", [first, ...unread].join("\n"), {
    next: unread.length > 0 ? "portolan doctor" : known.length > 0 ? "portolan servers" : "portolan add --help",
  });
}

/**
 * Returns the words that name this server on a command line. Every suggested command works as shown, but for secrets; with
 * `isPortable` in every folder.
 */
export function targetArgument(
  entry: ServerEntry,
  system: System,
  { isPortable = false }: { readonly isPortable?: boolean } = {},
): string {
  const { name, source, configured } = entry;
  // One that is kept running is reached in another way, and with the revision that it speaks.
  const isOpen = "open" in entry.target;
  const target = isOpen ? configured : entry.target;
  if (source.kind !== "code" || !target) return quote(name);
  const { era: _, ...settings } = entry.settings;
  const words = flagWordsOf(isOpen ? { ...entry, target, settings } : entry, system);
  if (isPortable && "command" in target && !words.includes("--cwd")) {
    const isRelative = (word: string) => !isAbsolute(word) && existsSync(resolve(system.cwd, word));
    if ([target.command, ...(target.args ?? [])].some(isRelative)) words.push("--cwd", system.cwd);
  }
  const flags = quoteCommand(words);
  const join = (...words: string[]) => words.filter(Boolean).join(" ");
  if ("url" in target) return join(quoteCommand([target.url]), flags);
  if ("open" in target) return quote(name);
  const { command, args = [] } = target;
  const [program, , file = ""] = args;
  if (program !== system.self) return join(flags, `-- ${quoteCommand([command, ...args])}`);
  const near = relative(system.cwd, file);
  return join(quote(isPortable || near.startsWith("..") ? file : `./${near}`), flags);
}

/** Returns the command that shows the documentation of a tool. */
export function lookCommand(entry: ServerEntry, tool: string, { system, only }: CommandContext): string {
  if (only) return `${only.program} ${quote(tool)} --help`;
  const target = targetArgument(entry, system);
  if (target.startsWith("-- ")) return `portolan ls ${quote(tool)} ${target}`;
  if (entry.source.kind === "code") return `portolan ls ${target} ${quote(tool)}`;
  return `portolan ls ${quote(`${entry.name}.${tool}`)}`;
}

/** Returns an entry for a server on the command line. It needs no trust, and may change: the person typed it. */
export function toEntry(name: string, target: ServerTarget): ServerEntry {
  return { name, target, configured: target, settings: {}, source: { kind: "code" }, isTyped: true };
}

function nameOfUrl(url: string): string {
  return URL.canParse(url) ? new URL(url).hostname : "server";
}

/** Names shown to a person who typed none of them, and as suggestions. */
const maxListed = 10;
const maxSuggested = 3;

/**
 * Suggests the nearest names for what was typed, or those in `similar`; otherwise some names that exist, and how many more
 * there are. `next` is the command that lists all.
 */
export function suggest(
  typed: string | undefined,
  names: readonly string[],
  next: string,
  similar: readonly string[] = [],
): string {
  const near = typed === undefined ? [] : nearest(typed, names).slice(0, maxSuggested);
  const meant = near.length > 0 ? near : similar;
  if (meant.length > 0) return `did you mean ${meant.join(" or ")}?`;
  const shown = names.slice(0, maxListed);
  const rest = names.length - shown.length;
  return `available: ${shown.join(", ") || "none"}${rest > 0 ? `, … and ${rest} more: ${next}` : ""}`;
}

/** The start of the names of variables that answer inputs. */
export const inputPrefix = "PORTOLAN_INPUT_";

/** Returns the environment variable that answers an input such as `${input:api-key}`. */
export function inputVariable(id: string): string {
  return `${inputPrefix}${id.toUpperCase().replace(/[^A-Z\d]+/g, "_")}`;
}

/** Returns the answer to an input without asking: the variable, or the default in the file. */
export function presetInput({ id, default: proposed }: ConfigInput, { env }: Pick<System, "env">): string | undefined {
  return env[inputVariable(id)] ?? proposed;
}
