import { parseArguments } from "../arguments/tool-arguments.ts";
import type { CommandContext, CommandResult, Flags } from "../command.ts";
import { Failure } from "../failure.ts";
import { findTarget } from "../servers/find-server.ts";
import { withHost } from "../servers/host.ts";
import { useWarm } from "../warm/warm-entry.ts";
import { findPrompt } from "./prompt.ts";

/** Asks a server to complete an argument of a prompt or template. */
export async function run(context: CommandContext, args: readonly string[], flags: Flags): Promise<CommandResult> {
  const { screen, signal, terminal } = context;
  const hasCommand = context.command.length > 0;
  const { entry } = await findTarget(context, hasCommand ? undefined : args[0], flags);
  const [of, first, ...rest] = hasCommand ? args : args.slice(1);
  // Arguments are written name=value everywhere else.
  const [, name, typed] = /^([^=]+)=([\s\S]*)$/.exec(first ?? "") ?? [];
  const argument = name ?? first;
  const [value = "", ...others] = typed === undefined ? rest : [typed, ...rest];
  if (of === undefined || argument === undefined) {
    throw new Failure("usage", "expected a prompt or a template, and the name of an argument", {
      next: "portolan complete --help",
    });
  }
  const known = parseArguments(others, {}) as { [name: string]: string };
  return withHost(context, [await useWarm(context, entry)], async (host) => {
    await host.start(entry.name);
    const isTemplate = host.catalog.templates.some(({ uriTemplate }) => uriTemplate === of);
    const ref = isTemplate
      ? ({ type: "ref/resource", uri: of } as const)
      : ({ type: "ref/prompt", name: findPrompt(host, entry, of, context).name } as const);
    const completing = host.complete(entry.name, ref, { name: argument, value }, { signal, known });
    const { values, total, hasMore } = await terminal.waits.during(
      `waiting for ${screen.safe(entry.name)}`,
      completing,
    );
    return {
      value: { values, ...(total !== undefined && { total }), ...(hasMore !== undefined && { hasMore }) },
      text: () => values.map((it) => screen.safe(it)).join("\n"),
    };
  });
}
