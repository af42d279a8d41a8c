import type { CommandContext, CommandDefinition, CommandResult } from "../command.ts";
import { commands } from "../command-table.ts";
import type { TypedLine } from "../servers/completion.ts";
import { readConfiguration } from "../servers/find-server.ts";

/** Words without a special meaning in any shell: names from a server must not do anything when they are inserted. */
const plain = /^[\p{L}\p{N}_][\p{L}\p{M}\p{N}\w.@/:=+,%-]*$/u;

/** Prints completions for a shell. If there are none, the shell proposes files. */
export async function run(given: CommandContext): Promise<CommandResult | undefined> {
  const words = [...given.command];
  // The words after `--` are the typed line here, not a server.
  const context = { ...given, command: [] };
  const current = (words.pop() ?? "").replace(/^:/, "");
  const [, flag, value] = /^(--[\w-]+)=(.*)$/.exec(current) ?? [];
  const found =
    flag === undefined
      ? await candidatesFor(context, words, current)
      : (await candidatesFor(context, [...words, flag], value ?? "")).map((each) => `${flag}=${each}`);
  for (const word of new Set(found)) if (word.startsWith(current)) context.print(word);
  return undefined;
}

async function candidatesFor(
  context: CommandContext,
  [name, ...before]: readonly string[],
  current: string,
): Promise<readonly string[]> {
  const shown = commands.filter(({ isHidden }) => !isHidden);
  if (name === undefined) {
    return current.startsWith("-") ? ["--help", "--version"] : shown.map((command) => command.name);
  }
  const command = shown.find((each) => each.name === name);
  // The words after a typed `--` belong to another program.
  if (!command || before.includes("--")) return [];
  const { given, flag } = read(command, before);
  if (flag !== undefined) return (await valuesOf[flag]?.(context))?.filter((word) => plain.test(word)) ?? [];
  if (current.startsWith("-")) return flagsOf(command);
  const places = (command.usage ?? "").match(/[\w-]+/g) ?? [];
  const place = places[Math.min(given.length, places.length - 1)];
  if (given.length >= places.length && !command.usage?.endsWith("...]")) return [];
  const words = await wordsFor(context, { name, given, current }, place);
  return words.filter((word) => plain.test(word));
}

async function wordsFor(
  context: CommandContext,
  line: TypedLine,
  place: string | undefined,
): Promise<readonly string[]> {
  if (place === "shell") return ["bash", "zsh", "fish", "powershell"];
  if (place === "action" && line.name === "tasks") return (await import("./tasks.ts")).actionNames;
  if (place === "action") return ["ls", "show", "verify"];
  if (place === "id") return (await (await import("./tasks.ts")).listTasks(context)).map(({ id }) => id);
  if (place === "skill" || place === "file") return [];
  if (place === "kind") return ["ts", "cli", "skill"];
  if (place === "targets" || place === "servers") return serversOf(context);
  if (place !== "target" && place !== "server") {
    const { serverCandidates } = await import("../servers/completion.ts");
    return line.given.length === 0 ? [] : serverCandidates(context, line);
  }
  const names = await serversOf(context);
  const owner = names.find((name) => line.current.startsWith(`${name}.`));
  if (place === "server" || owner === undefined) return names;
  const { serverCandidates } = await import("../servers/completion.ts");
  const members = await serverCandidates(context, { ...line, given: [owner], current: "" });
  return [...names, ...members.map((member) => `${owner}.${member}`)];
}

/** Returns the typed arguments, and the flag whose value is being typed. */
function read(command: CommandDefinition, before: readonly string[]): { given: readonly string[]; flag?: string } {
  const given: string[] = [];
  let flag: string | undefined;
  for (const word of before) {
    if (flag !== undefined) flag = undefined;
    else if (takesValue(command, word)) flag = word;
    else if (!word.startsWith("-")) given.push(word);
  }
  return { given, ...(flag !== undefined && { flag }) };
}

/** The values of flags that have a fixed set. */
const valuesOf: { readonly [flag: string]: (context: CommandContext) => Promise<readonly string[]> } = {
  "--server": serversOf,
  "--model": async () => ["demo", "anthropic:", "openai:"],
  "--template": async () => Object.keys((await import("../scaffold/templates.ts")).templates),
  "--level": async () => (await import("portolan")).logLevels,
  "--kind": async () => (await import("./log.ts")).kinds,
  "--revision": async () => (await import("portolan-check")).revisions.map(({ date }) => date),
  "--era": async (context) => ["stateless", "stateful", ...((await valuesOf["--revision"]?.(context)) ?? [])],
  "--to": async () => ["claude", ...(await import("portolan-host/node")).configProducts],
  "--from": async () => (await import("portolan-host/node")).configProducts,
  "--env": async ({ system }) => Object.keys(system.env),
  "--only": async () => (await import("portolan-check")).scenarios.map(({ id }) => id),
};

async function serversOf(context: CommandContext): Promise<readonly string[]> {
  const { entries } = await readConfiguration(context);
  return entries.map(({ name }) => name);
}

function flagsOf({ flags = {} }: CommandDefinition): string[] {
  return [...Object.keys(flags).flatMap(namesIn), "--json", "--no-color", "--help"];
}

function namesIn(flag: string): string[] {
  return flag.match(/--[\w-]+/g) ?? [];
}

function takesValue({ flags = {} }: CommandDefinition, word: string): boolean {
  return Object.keys(flags).some((flag) => flag.includes("<") && namesIn(flag).includes(word));
}
