import type { ConfiguredServer, ServerEntry } from "portolan-host";
import { withoutValues } from "../arguments/flags.ts";
import type { CommandContext } from "../command.ts";
import { commands } from "../command-table.ts";
import { quote, quoteCommand } from "../terminal/escape.ts";
import { isOwnFile, targetArgument } from "./find-server.ts";
import { type Pairs, toNotationOf } from "./notation.ts";

/** A sentence about variables of the shell that a server did not get, and the command that passes them. */
export interface WithheldVariables {
  readonly sentence: string;
  readonly next: string;
  readonly names: readonly string[];
}

/** Other names of variables are words of any text. */
const isDistinct = /^[A-Z][A-Z\d_]{3,}$|\w_\w/;

/**
 * Finds the variables of the shell that a text of the server names, but that the server did not get: servers get only
 * the variables that every program needs.
 */
export async function findWithheld(
  { system }: CommandContext,
  entry: ServerEntry,
  text: string,
): Promise<WithheldVariables | undefined> {
  const { target } = entry;
  if (!("command" in target)) return undefined;
  const words = new Set(text.match(/[A-Za-z_]\w*/g) ?? []);
  const named = Object.keys(system.env).filter((name) => isDistinct.test(name) && words.has(name));
  if (named.length === 0) return undefined;
  const { childEnvironment } = await import("portolan/client/stdio");
  const passed = childEnvironment(system.env, target.env, system.platform);
  const names = named.filter((name) => !Object.hasOwn(passed, name));
  if (names.length === 0) return undefined;
  const flags = names.flatMap((name) => ["--env", name]);
  const [command = "", ...rest] = withoutValues(system.argv);
  const hasFlag = commands.some(({ name, flags = {} }) => name === command && "--env <pair...>" in flags);
  // A command without a target is about all servers.
  const isTyped = hasFlag && rest.some((word) => !word.startsWith("-") || word === "--");
  const { source } = entry as Partial<ConfiguredServer>;
  const references = Object.fromEntries(names.map((name) => [name, `\${${name}}`]));
  // The variable stays in the entry of a server, so that every command and program passes it.
  const isWritable = source?.kind === "file" && (isOwnFile(source) || (await canWrite(source, { env: references })));
  const force = source?.kind === "file" && !isOwnFile(source) ? ["--force"] : [];
  const next = isWritable
    ? quoteCommand(["portolan", "add", ...force, entry.name, ...flags])
    : isTyped
      ? quoteCommand(["portolan", command, ...flags, ...rest])
      : `portolan ls ${flags.map(quote).join(" ")} ${targetArgument(entry, system)}`;
  const list = names.join(" and ");
  const are = names.length === 1 ? "is set in your shell, but was" : "are set in your shell, but were";
  return { sentence: `${list} ${are} not passed to the server`, next, names };
}

/** True if the file of a server can refer to variables of the shell. */
async function canWrite(source: ConfiguredServer["source"], pairs: Pairs): Promise<boolean> {
  return toNotationOf(source, pairs).then(
    () => true,
    () => false,
  );
}
