import type { Prompt } from "portolan";
import type { Host, ServerEntry } from "portolan-host";
import { parseArguments } from "../arguments/tool-arguments.ts";
import { askMissingOfPrompt, proposeFor } from "../ask/missing.ts";
import type { CommandContext, CommandResult, Flags } from "../command.ts";
import { Failure } from "../failure.ts";
import { showContent, textOf } from "../output/content.ts";
import { findTarget, suggest, targetArgument } from "../servers/find-server.ts";
import { withHost } from "../servers/host.ts";
import { missingFailure } from "../servers/list-problems.ts";
import { useWarm } from "../warm/warm-entry.ts";

/** Gets a prompt of a server. */
export async function run(context: CommandContext, args: readonly string[], flags: Flags): Promise<CommandResult> {
  const { screen, signal, terminal } = context;
  const hasCommand = context.command.length > 0;
  const { entry, member } = await findTarget(context, hasCommand ? undefined : args[0], flags);
  const words = hasCommand ? [...args] : args.slice(1);
  const name = member ?? words.shift();
  return withHost(context, [await useWarm(context, entry)], async (host) => {
    await host.start(entry.name);
    const prompt = findPrompt(host, entry, name, context);
    const next = `portolan ls ${targetArgument(entry, context.system)}`;
    // Arguments of prompts are always text, and all are declared.
    const properties = Object.fromEntries((prompt.arguments ?? []).map((it) => [it.name, { type: "string" }]));
    const given = parseArguments(words, { properties, additionalProperties: false }, next) as {
      [name: string]: string;
    };
    const missing = (prompt.arguments ?? []).filter((it) => it.required && given[it.name] === undefined);
    if (!screen.isInteractive && missing.length > 0) {
      throw new Failure("usage", `${prompt.name} needs ${missing.map((it) => `${it.name}=…`).join(" ")}`, { next });
    }
    const propose = proposeFor(host, entry.name, prompt.name, signal);
    const filled = await askMissingOfPrompt(context, given, prompt.arguments ?? [], propose);
    const getting = host.getPrompt(entry.name, prompt.name, filled, { by: "user", signal });
    const { messages, description } = await terminal.waits.during(
      `waiting for ${screen.safe(`${entry.name}.${prompt.name}`)}`,
      getting,
    );
    return {
      value: { messages, ...(description !== undefined && { description }) },
      plain: () => messages.map(({ content }) => textOf([content], context)).join("\n\n"),
      text: () =>
        messages
          .map(
            ({ role, content }) => `${screen.style("dim", `${screen.safe(role)}:`)}\n${showContent([content], screen)}`,
          )
          .join("\n\n"),
    };
  });
}

/** Finds a prompt. The slash that lists show before the name is optional. */
export function findPrompt(
  host: Host,
  entry: ServerEntry,
  name: string | undefined,
  { screen, system }: CommandContext,
): Prompt {
  const { prompts } = host.catalog;
  const found = prompts.find((it) => it.name === name) ?? prompts.find((it) => `/${it.name}` === name);
  if (found) return found;
  const unlisted = missingFailure(host, entry, "prompts", name, system);
  if (unlisted) throw unlisted;
  const next = `portolan ls ${targetArgument(entry, system)}`;
  const names = prompts.map((it) => it.name);
  const what = name === undefined ? "no prompt given" : `${entry.name} has no prompt ${JSON.stringify(name)}`;
  throw new Failure("usage", `${what}; ${screen.safe(suggest(name, names, next))}`, { next });
}
