import type { Host } from "portolan-host";
import type { CommandContext, CommandResult, Flags } from "../command.ts";
import { modelFor } from "../models.ts";
import { hintsIn, signatureOf } from "../output/signature.ts";
import { findTarget } from "../servers/find-server.ts";
import { withHost } from "../servers/host.ts";
import { listFailure, listProblemsOf } from "../servers/list-problems.ts";
import { quote } from "../terminal/escape.ts";
import type { Screen } from "../terminal/screen.ts";
import { wrap } from "../terminal/wrap.ts";

/** Lists what a server offers: tools as signatures, resources, prompts. */
export async function run(
  context: CommandContext,
  [given]: readonly string[],
  { schema = false }: Flags,
): Promise<CommandResult> {
  const { screen, signal } = context;
  const { entry } = await findTarget(context, given);
  const look = async (host: Host): Promise<CommandResult> => {
    await host.start(entry.name);
    signal.throwIfAborted();
    const { catalog } = host;
    const tools = catalog.tools.map(({ definition, isQuarantined }) => ({
      ...definition,
      ...(isQuarantined && { isQuarantined }),
    }));
    const { resources, templates, prompts } = catalog;
    const instructions = catalog.instructions(entry.name);
    const [status] = host.servers;
    const problems = listProblemsOf(host, entry);
    // The failure names the lists that failed.
    const notes = problems.filter(({ kind }) => kind !== "failed");
    return {
      value: {
        ...{ server: status?.profile, instructions, tools, resources, templates, prompts },
        ...(problems.length > 0 && { problems: problems.map(({ list, kind, message }) => ({ list, kind, message })) }),
      },
      failure: listFailure(host, entry, ["tools", "resources", "templates", "prompts"], context.system),
      text() {
        const { profile } = status ?? {};
        const title = `${screen.style("bold", screen.safe(profile?.info?.name ?? entry.name))} ${screen.safe(profile?.info?.version ?? "")}`;
        const parts = [screen.cut(`${title.trim()}  ${screen.style("dim", `${profile?.version} ${profile?.era}`)}`)];
        for (const { message } of notes) {
          const [first = "", ...rest] = wrap(screen.safe(message), screen.columns - 2);
          parts.push(`${screen.style("yellow", screen.mark("warn"))} ${first}`, ...rest.map((line) => `  ${line}`));
        }
        if (tools.length > 0) parts.push("", screen.style("dim", "tools"));
        for (const { definition, isQuarantined } of catalog.tools) {
          const notes = [
            ...hintsIn(definition),
            ...(isQuarantined ? [`changed: portolan trust ${quote(entry.name)} --changes`] : []),
          ];
          const hints = notes.map((note) => ` ${screen.mark("dot")} ${note}`).join("");
          parts.push(`  ${wrapSignature(signatureOf(definition, screen), hints, screen)}`);
          const [about = ""] = String(definition.description ?? definition.title ?? "").split("\n");
          if (about) parts.push(screen.style("dim", screen.cut(`    ${screen.safe(about)}`)));
          if (schema)
            parts.push(indent(screen.safe(JSON.stringify(definition.inputSchema, undefined, 2), { lines: "keep" })));
        }
        const listed = [
          ...resources.map(({ uri, name, description }) => [screen.safe(uri), screen.safe(description ?? name ?? "")]),
          ...templates.map(({ uriTemplate, name, description }) => [
            screen.safe(uriTemplate),
            screen.safe(description ?? name ?? ""),
          ]),
        ];
        if (listed.length > 0) parts.push("", screen.style("dim", "resources"), screen.table(listed));
        const asked = prompts.map(({ name, description = "", arguments: args = [] }) => [
          `/${screen.safe(name)} ${args.map((it) => (it.required ? `<${screen.safe(it.name)}>` : `[${screen.safe(it.name)}]`)).join(" ")}`,
          screen.safe(description),
        ]);
        if (asked.length > 0) parts.push("", screen.style("dim", "prompts"), screen.table(asked));
        return parts.join("\n");
      },
    };
  };
  // Some servers offer more to clients that can answer questions, so this lists what a call would see.
  return withHost(context, [entry], look, modelFor(context));
}

/** Wraps a signature without cutting it: every argument must be visible. */
function wrapSignature(signature: string, hints: string, screen: Screen): string {
  // An argument and its type stay on one line.
  const lines = wrap(`${signature.replaceAll(": ", ":\u00a0")}${hints}`, screen.columns - 6).join("\n      ");
  const text = lines.replaceAll("\u00a0", " ");
  return text.endsWith(hints) ? text.slice(0, text.length - hints.length) + screen.style("dim", hints) : text;
}

function indent(text: string): string {
  return text.replace(/^/gm, "    ");
}
