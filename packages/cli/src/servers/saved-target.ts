import { relative } from "node:path";
import type { ServerEntry } from "portolan-host";
import { splitWords } from "../arguments/split-words.ts";
import type { CommandContext, Flags } from "../command.ts";
import { Failure } from "../failure.ts";
import { quote, quoteCommand } from "../terminal/escape.ts";
import { findTarget } from "./find-server.ts";
import { flagWordsOf } from "./target-flags.ts";

/**
 * Returns the words by which a saved call names a server, so that `portolan test` can start it: the name of a configured
 * server, otherwise what a person types in the folder of the project. Throws if they contain a secret.
 */
export function savedTarget(entry: ServerEntry, { system, secrets }: CommandContext): string {
  const { name, source, target } = entry;
  if (source.kind !== "code" || "open" in target) return name;
  const flags = flagWordsOf(entry, system).map((word, at, all) =>
    all[at - 1] === "--cwd" ? pathFrom(system.cwd, word) : word,
  );
  const words = [...flags, ...wordsOf(entry, system)];
  const text = words.map(quote).join(" ");
  if (quoteCommand(words) !== text || secrets.hide(text) !== text) {
    throw new Failure(
      "usage",
      `the command or address of ${name} contains a secret, and saved calls are kept in a file`,
      {
        next: "configure the server with a variable: portolan add --help",
      },
    );
  }
  return words.length === 1 ? (words[0] ?? "") : text;
}

function wordsOf({ target }: ServerEntry, { self, cwd }: CommandContext["system"]): readonly string[] {
  if ("url" in target) return [target.url];
  if (!("command" in target)) return [];
  const { command, args = [] } = target;
  const [program, , file = ""] = args;
  return program === self ? [pathFrom(cwd, file)] : ["--", command, ...args];
}

/** Returns a path relative to the project, which may be at another place elsewhere. */
export function pathFrom(folder: string, path: string): string {
  const near = relative(folder, path).replaceAll("\\", "/");
  return near.startsWith("..") ? near : `./${near}`;
}

/** Finds the server that a saved call names. */
export async function findSaved(context: CommandContext, server: string, { timeout }: Flags): Promise<ServerEntry> {
  const { given, command, flags } = parseSaved(server);
  const { entry, member } = await findTarget({ ...context, command }, given, { ...flags, timeout });
  if (member !== undefined) throw new Failure("usage", `expected a server, got a tool: ${server}`);
  return { ...entry, name: server };
}

interface SavedWords {
  readonly given: string | undefined;
  readonly command: readonly string[];
  readonly flags: Flags;
}

const flagNames: { readonly [flag: string]: string } = { "--cwd": "cwd", "--client-id": "clientId", "--era": "era" };

function parseSaved(server: string): SavedWords {
  if (!/(?:^|\s)--/.test(server)) return { given: server, command: [], flags: {} };
  // The file is read on any platform, so that its words are always quoted in the same way.
  const words = splitWords(server, "linux");
  const end = words.indexOf("--");
  const own = end < 0 ? words : words.slice(0, end);
  const command = end < 0 ? [] : words.slice(end + 1);
  const env: string[] = [];
  const flags: { [name: string]: string | string[] } = {};
  const given: string[] = [];
  for (let at = 0; at < own.length; at += 1) {
    const word = own[at] ?? "";
    const name = flagNames[word];
    if (word === "--env") env.push(own[++at] ?? "");
    else if (name !== undefined) flags[name] = own[++at] ?? "";
    else given.push(word);
  }
  const isOne = given.length + (end < 0 ? 0 : 1) === 1 && (end < 0 || command.length > 0);
  if (!isOne || given[0]?.startsWith("--")) {
    throw new Failure(
      "usage",
      `expected a name, an address, a file, or -- and a command, got ${JSON.stringify(server)}`,
    );
  }
  return { given: given[0], command, flags: { ...flags, ...(env.length > 0 && { env }) } };
}
