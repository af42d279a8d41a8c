import { existsSync, statSync } from "node:fs";
import { basename, extname, relative, resolve } from "node:path";
import type { ConfigInput, ConfiguredServer, ServerEntry, ServerTarget } from "portolan-host";
import { findConfigs, type ReadConfigs, type ReadOptions, readConfigs } from "portolan-host/node";
import type { CommandContext } from "../command.ts";
import { Failure } from "../failure.ts";
import type { System } from "../system.ts";
import { quote } from "../terminal/escape.ts";
import { nameOfCommand } from "./command-name.ts";

const programs = new Set([".js", ".mjs", ".cjs", ".ts", ".mts", ".cts"]);
const recordings = new Set([".jsonl", ".ndjson"]);

type Input = NonNullable<ReadOptions["input"]>;

/** Everything that is configured on this machine for this folder; nobody is asked for what a file leaves open. */
export function readConfiguration(
  { system }: CommandContext,
  ask: Input = async () => undefined,
): Promise<ReadConfigs> {
  const { home, cwd, platform, env } = system;
  const input: Input = async (request, entry) => presetInput(request, system) ?? ask(request, entry);
  return findConfigs({ home, cwd, platform, env }).then((files) => readConfigs(files, { home, platform, env, input }));
}

/** The server with what its file wants to know from its user, where somebody can answer. */
export async function fillInputs(context: CommandContext, entry: ConfiguredServer): Promise<ConfiguredServer> {
  const { raw, name, source, problem } = entry;
  const isOpen = problem !== undefined && raw.inputs.some((it) => presetInput(it, context.system) === undefined);
  if (!isOpen || !context.screen.isInteractive) return entry;
  const { askInput } = await import("../ask/missing.ts");
  // Files may use one id for different things: an answer is for the server that was meant.
  const { entries } = await readConfiguration(context, async (request, asking) =>
    asking.name === name && asking.source.file === source.file ? askInput(context, name, request) : undefined,
  );
  return entries.find((it) => it.name === name) ?? entry;
}

/** A target and what of it is meant: `files.read` is the tool of a configured server. */
export interface Target {
  readonly entry: ServerEntry;
  /** What followed the server's name. */
  readonly member?: string;
}

/**
 * The server that a command line means: a command behind `--`, an address, the file of a server, a recording, or the name
 * of a configured server, where `files.read` names one of its tools.
 */
export async function findTarget(context: CommandContext, given: string | undefined): Promise<Target> {
  const { command } = context;
  if (command.length > 0) {
    const [program = "", ...args] = command;
    return {
      entry: toEntry(nameOfCommand(command), { command: program, args, cwd: context.system.cwd }),
      ...member(given),
    };
  }
  if (given === undefined) {
    throw new Failure("usage", "which server? expected a name, an address, a file, or a command behind --", {
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

/** A server in a file, or a recording of one: this program serves both. */
function fileOf({ system }: CommandContext, given: string): Target | undefined {
  const extension = extname(given);
  const isProgram = programs.has(extension);
  if (!isProgram && !recordings.has(extension)) return undefined;
  const file = resolve(system.cwd, given);
  if (!existsSync(file) || !statSync(file).isFile()) {
    if (!/[\\/]/.test(given)) return undefined;
    throw new Failure("usage", `there is no file ${given}`);
  }
  const args = [system.self, isProgram ? "serve-file" : "serve-recording", file];
  return { entry: toEntry(basename(given, extension), { command: system.execPath, args, cwd: system.cwd }) };
}

/** The configured server of exactly this name. */
export async function findByName(context: CommandContext, name: string): Promise<ConfiguredServer> {
  const machine = await readConfiguration(context);
  return machine.entries.find((entry) => entry.name === name) ?? failUnknown(name, machine);
}

async function findConfigured(context: CommandContext, given: string): Promise<Target> {
  const machine = await readConfiguration(context);
  const { entries } = machine;
  const exact = entries.find(({ name }) => name === given);
  if (exact) return { entry: await fillInputs(context, exact) };
  // The longest name wins: names may have dots themselves.
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
  const others = near === undefined ? known.length > 0 && `there are ${known.join(", ")}` : `did you mean ${near}?`;
  // It may be named in a file that nobody can read.
  const why = [...errors.map(({ message }) => message), ...(known.length === 0 ? notes : [])];
  const unread = why.length > 0 && `not read: ${why.join("; ")}`;
  throw new Failure(
    "usage",
    [`no server is called ${JSON.stringify(given)}`, others, unread].filter(Boolean).join("; "),
    {
      next: unread ? "portolan doctor" : known.length > 0 ? "portolan servers" : "portolan add <name> -- <command>",
    },
  );
}

/** What is typed to mean this server again: what a next step says must work as it stands. */
export function targetArgument({ name, way, source }: ServerEntry, { self, cwd }: System): string {
  if (source.kind !== "code" || !way) return quote(name);
  if ("url" in way) return quote(way.url);
  if ("open" in way) return quote(name);
  const { command, args = [] } = way;
  const [program, , file = ""] = args;
  if (program !== self) return `-- ${[command, ...args].map(quote).join(" ")}`;
  const near = relative(cwd, file);
  return quote(near.startsWith("..") ? file : `./${near}`);
}

/** A server that is named on the command line: who types it means it. */
function toEntry(name: string, way: ServerTarget): ServerEntry {
  return { name, way, written: way, settings: {}, source: { kind: "code" } };
}

function nameOfUrl(url: string): string {
  return URL.canParse(url) ? new URL(url).hostname : "server";
}

/** Of the names that there are, those that are a slip or two away from what was typed, the nearest first. */
export function nearest(typed: string, names: readonly string[]): string[] {
  // Of one or two letters nothing is left after a slip.
  const maxDistance = typed.length === 3 ? 1 : Math.floor(typed.length / 3);
  return names
    .map((name) => ({ name, distance: editDistance(typed.toLowerCase(), name.toLowerCase()) }))
    .filter(({ distance }) => distance <= maxDistance)
    .sort((a, b) => a.distance - b.distance)
    .map(({ name }) => name);
}

/** How many letters have to be added, left out, changed or swapped with their neighbour to make one word of another. */
function editDistance(from: string, to: string): number {
  // Long names that are nothing alike are not worth the work.
  if (Math.abs(from.length - to.length) > from.length) return Number.POSITIVE_INFINITY;
  let before: number[] = [];
  let row = Array.from({ length: to.length + 1 }, (_, at) => at);
  for (let i = 1; i <= from.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= to.length; j += 1) {
      const isSame = from[i - 1] === to[j - 1];
      const isSwapped = i > 1 && j > 1 && from[i - 1] === to[j - 2] && from[i - 2] === to[j - 1];
      const ways = [(row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1, (row[j - 1] ?? 0) + (isSame ? 0 : 1)];
      if (isSwapped) ways.push((before[j - 2] ?? 0) + 1);
      next.push(Math.min(...ways));
    }
    before = row;
    row = next;
  }
  return row[to.length] ?? 0;
}

/** The variable that answers what a file asks its user for, such as `${input:api-key}`. */
export function inputVariable(id: string): string {
  return `PORTOLAN_INPUT_${id.toUpperCase().replace(/[^A-Z\d]+/g, "_")}`;
}

/** The answer that needs nobody: of the variable, or the one that the file itself proposes. */
export function presetInput({ id, default: proposed }: ConfigInput, { env }: System): string | undefined {
  return env[inputVariable(id)] ?? proposed;
}
