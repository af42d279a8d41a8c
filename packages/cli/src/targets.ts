import { existsSync, statSync } from "node:fs";
import { basename, extname, relative, resolve } from "node:path";
import type { ConfiguredServer, ServerEntry, ServerTarget } from "portolan-host";
import { findConfigs, type ReadConfigs, type ReadOptions, readConfigs } from "portolan-host/node";
import type { Context } from "./command.ts";
import { Failure } from "./failure.ts";
import { knownAnswer } from "./inputs.ts";
import { nameOfCommand } from "./naming.ts";
import { nearest } from "./nearest.ts";
import { quote } from "./quote.ts";
import type { World } from "./world.ts";

const programs = new Set([".js", ".mjs", ".cjs", ".ts", ".mts", ".cts"]);
const recordings = new Set([".jsonl", ".ndjson"]);

type Input = NonNullable<ReadOptions["input"]>;

/** Everything that is configured on this machine for this folder; nobody is asked for what a file leaves open. */
export function readMachine({ world }: Context, ask: Input = async () => undefined): Promise<ReadConfigs> {
  const { home, cwd, platform, env } = world;
  const input: Input = async (request, entry) => knownAnswer(request, world) ?? ask(request, entry);
  return findConfigs({ home, cwd, platform, env }).then((files) => readConfigs(files, { home, platform, env, input }));
}

/** The server with what its file wants to know from its user, where somebody can answer. */
export async function withAnswers(context: Context, entry: ConfiguredServer): Promise<ConfiguredServer> {
  const { raw, name, source, problem } = entry;
  const isOpen = problem !== undefined && raw.inputs.some((it) => knownAnswer(it, context.world) === undefined);
  if (!isOpen || !context.screen.isInteractive) return entry;
  const { askInput } = await import("./ask/input.ts");
  // Files may use one id for different things: an answer is for the server that was meant.
  const { entries } = await readMachine(context, async (request, asking) =>
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
export async function findTarget(context: Context, given: string | undefined): Promise<Target> {
  const { command } = context;
  if (command.length > 0) {
    const [program = "", ...args] = command;
    return {
      entry: toEntry(nameOfCommand(command), { command: program, args, cwd: context.world.cwd }),
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
function fileOf({ world }: Context, given: string): Target | undefined {
  const extension = extname(given);
  const isProgram = programs.has(extension);
  if (!isProgram && !recordings.has(extension)) return undefined;
  const file = resolve(world.cwd, given);
  if (!existsSync(file) || !statSync(file).isFile()) {
    if (!/[\\/]/.test(given)) return undefined;
    throw new Failure("usage", `there is no file ${given}`);
  }
  const args = [world.self, isProgram ? "serve-file" : "serve-recording", file];
  return { entry: toEntry(basename(given, extension), { command: process.execPath, args, cwd: world.cwd }) };
}

/** The configured server of exactly this name. */
export async function findNamed(context: Context, name: string): Promise<ConfiguredServer> {
  const machine = await readMachine(context);
  return machine.entries.find((entry) => entry.name === name) ?? refuse(name, machine);
}

async function findConfigured(context: Context, given: string): Promise<Target> {
  const machine = await readMachine(context);
  const { entries } = machine;
  const exact = entries.find(({ name }) => name === given);
  if (exact) return { entry: await withAnswers(context, exact) };
  // The longest name wins: names may have dots themselves.
  const owner = entries
    .filter(({ name }) => given.startsWith(`${name}.`))
    .sort((a, b) => b.name.length - a.name.length)
    .at(0);
  if (owner) return { entry: await withAnswers(context, owner), member: given.slice(owner.name.length + 1) };
  return refuse(given, machine);
}

function refuse(given: string, { entries, errors, notes }: ReadConfigs): never {
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
export function typedFor({ name, target: way, source }: ServerEntry, { self, cwd }: World): string {
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
  return { name, target: way, configured: way, settings: {}, source: { kind: "code" } };
}

function nameOfUrl(url: string): string {
  return URL.canParse(url) ? new URL(url).hostname : "server";
}
