import type { CommandDefinition, Context, Shown } from "../command.ts";
import { templates } from "../scaffold/servers.ts";
import { readMachine } from "../targets.ts";
import { commands } from "./index.ts";

/** Names that mean nothing else to any shell. */
const plain = /^[\w.@/-]+$/;

/** Tells a shell which words fit; where there are none, it proposes files. */
export async function run(context: Context): Promise<Shown | undefined> {
  const words = [...context.command];
  const current = (words.pop() ?? "").replace(/^:/, "");
  for (const word of await proposals(context, words, current)) if (word.startsWith(current)) context.print(word);
  return undefined;
}

async function proposals(
  context: Context,
  [name, ...before]: readonly string[],
  current: string,
): Promise<readonly string[]> {
  const shown = commands.filter(({ isHidden }) => !isHidden);
  if (name === undefined) {
    return current.startsWith("-") ? ["--help", "--version"] : shown.map((command) => command.name);
  }
  const command = shown.find((each) => each.name === name);
  // Behind the dashes is another program.
  if (!command || before.includes("--")) return [];
  if (current.startsWith("-")) return flagsOf(command);
  const last = before.at(-1) ?? "";
  if (last === "--template") return Object.keys(templates);
  if (takesValue(command, last)) return [];
  if (name === "completion" && before.length === 0) return ["bash", "zsh", "fish", "powershell"];
  const given = before.filter((word) => !word.startsWith("-"));
  if (given.length > 0 || !/target|server|\[name\]/.test(command.usage ?? "")) return [];
  const { entries } = await readMachine(context);
  return entries.map((entry) => entry.name).filter((entry) => plain.test(entry));
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
