import type { CommandContext, CommandResult, Flags } from "../command.ts";
import { Failure } from "../failure.ts";
import { saveContent, showResource, textOf } from "../output/content.ts";
import { findTarget, suggest, targetArgument } from "../servers/find-server.ts";
import { withHost } from "../servers/host.ts";
import { listFailure } from "../servers/list-problems.ts";
import { quote } from "../terminal/escape.ts";
import { useWarm } from "../warm/warm-entry.ts";

/** Reads a resource of a server. */
export async function run(context: CommandContext, args: readonly string[], flags: Flags): Promise<CommandResult> {
  const { screen, signal, terminal } = context;
  const hasCommand = context.command.length > 0;
  const [given, second] = hasCommand ? [undefined, args[0]] : args;
  const { entry, member } = await findTarget(context, given, flags);
  const uri = member ?? second;
  const typed = targetArgument(entry, context.system);
  const gaps = uri?.match(/\{[^{}]*\}/g);
  if (uri !== undefined && gaps) {
    const [first = ""] = gaps.map((gap) => gap.replace(/[^\w.]/g, ""));
    throw new Failure("usage", `${uri} is a template: replace ${gaps.join(" and ")} by values`, {
      next: `portolan complete ${hasCommand ? "" : `${typed} `}${quote(uri)} ${first}${hasCommand ? ` ${typed}` : ""}`,
    });
  }
  return withHost(context, [await useWarm(context, entry)], async (host) => {
    await host.start(entry.name);
    if (uri === undefined) {
      const unlisted = listFailure(host, entry, ["resources"], context.system);
      if (unlisted) throw unlisted;
      const next = `portolan ls ${typed}`;
      const known = host.catalog.resources.map((resource) => resource.uri);
      const some = known.length > 0 ? screen.safe(suggest(undefined, known, next)) : "the server lists none";
      throw new Failure("usage", `no resource given; ${some}`, { next });
    }
    const reading = host.readResource(entry.name, uri, { by: "user", signal });
    const { contents } = await terminal.waits.during(`waiting for ${screen.safe(`${entry.name} ${uri}`)}`, reading);
    const blocks = contents.map((resource) => ({ type: "resource" as const, resource }));
    const saved = typeof flags["save"] === "string" ? await saveContent(blocks, flags["save"]) : [];
    return {
      value: { contents, ...(saved.length > 0 && { saved }) },
      plain() {
        if (contents.some((resource) => "text" in resource)) return textOf(blocks, context);
        const [{ mimeType = "bytes" } = {}] = contents;
        throw new Failure("usage", `${uri} is not text, but ${mimeType}`, { next: "save it: --save <folder>" });
      },
      text: () =>
        [
          ...contents.map((resource) => showResource(resource, screen, saved.length > 0 ? "" : undefined)),
          ...saved.map((path) => `saved ${path}`),
        ].join("\n"),
    };
  });
}
