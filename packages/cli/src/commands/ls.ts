import type { Host, ServerEntry } from "portolan-host";
import type { CommandContext, CommandResult, Flags } from "../command.ts";
import { Failure } from "../failure.ts";
import { modelFor } from "../models.ts";
import { describedRows } from "../output/described-rows.ts";
import { hintsIn, signatureOf } from "../output/signature.ts";
import { callOf, paragraph, showPrompt, showTool } from "../output/tool-documentation.ts";
import { findTarget, lookCommand, suggest, targetArgument } from "../servers/find-server.ts";
import { withHost } from "../servers/host.ts";
import { listFailure, listProblemsOf, missingFailure } from "../servers/list-problems.ts";
import { quote } from "../terminal/escape.ts";
import type { Screen } from "../terminal/screen.ts";
import { widthOf, wrap, wrapHanging } from "../terminal/wrap.ts";
import { useWarm } from "../warm/warm-entry.ts";

/** Lists what a server offers: tools as signatures, resources, prompts. With a tool or prompt, shows its documentation. */
export async function run(
  context: CommandContext,
  [given, second]: readonly string[],
  flags: Flags,
): Promise<CommandResult> {
  const { screen, signal } = context;
  const { entry, member = second } = await findTarget(context, given, flags);
  const look = async (host: Host): Promise<CommandResult> => {
    await host.start(entry.name);
    signal.throwIfAborted();
    if (member !== undefined) return documentationOf(context, host, entry, member, flags["schema"] === true);
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
        const spoken = screen.style("dim", `${profile?.version} ${profile?.era}`);
        const heading = `${title.trim()}  ${spoken}`;
        const isWhole = !screen.isTerminal || widthOf(heading) <= screen.columns;
        const parts = isWhole ? [heading] : [...wrap(title.trim(), screen.columns), `  ${spoken}`];
        for (const { message } of notes) {
          const [first = "", ...rest] = wrap(screen.safe(message), screen.columns - 2);
          parts.push(`${screen.style("yellow", screen.mark("warn"))} ${first}`, ...rest.map((line) => `  ${line}`));
        }
        if (tools.length > 0) parts.push("", screen.style("dim", "tools"));
        for (const { definition, isQuarantined } of catalog.tools) {
          const notes = [
            ...hintsIn(definition),
            ...(isQuarantined ? [screen.step(`changed: portolan trust ${quote(entry.name)} --changes`)] : []),
          ];
          const hints = notes.map((note) => ` ${screen.mark("dot")} ${note}`).join("");
          parts.push(`  ${wrapSignature(signatureOf(definition, screen), hints, screen)}`);
          const about = firstParagraph(String(definition.description ?? definition.title ?? ""), screen);
          if (about) parts.push(screen.style("dim", paragraph(about, 4, screen)));
          if (flags["schema"] === true) parts.push(schemaOf(definition.inputSchema, screen));
        }
        const listed = [
          ...resources.map(({ uri, name, description }) => [screen.safe(uri), screen.safe(description ?? name ?? "")]),
          ...templates.map(({ uriTemplate, name, description }) => [
            screen.safe(uriTemplate),
            screen.safe(description ?? name ?? ""),
          ]),
        ];
        if (listed.length > 0) parts.push("", screen.style("dim", "resources"), describedRows(listed, screen));
        const asked = prompts.map(({ name, description = "", arguments: args = [] }) => [
          `/${screen.safe(name)} ${args.map((it) => (it.required ? `<${screen.safe(it.name)}>` : `[${screen.safe(it.name)}]`)).join(" ")}`,
          screen.safe(description),
        ]);
        if (asked.length > 0) parts.push("", screen.style("dim", "prompts"), describedRows(asked, screen));
        const [first] = tools;
        const next = first ? `  ${screen.mark("next")} ${screen.step(lookCommand(entry, first.name, context))}` : "";
        // A command that the terminal breaks is hard to read, and the person has just typed most of it.
        if (next !== "" && widthOf(next) <= screen.columns) parts.push("", next);
        return parts.join("\n");
      },
    };
  };
  // Some servers offer more to clients that can answer questions, so this lists what a call would see.
  return withHost(context, [await useWarm(context, entry)], look, modelFor(context));
}

/** Wraps a signature without cutting it: every argument must be visible. */
function wrapSignature(signature: string, hints: string, screen: Screen): string {
  // An argument and its type stay on one line, so do a bracket and the name beside it, and the parts of a hint.
  const whole = `${signature}${hints}`.replace(/(?<=[:{\u00b7]) | (?=\})/g, "\u00a0");
  const text = wrapHanging(whole, screen.columns, 2, 6);
  return text.endsWith(hints) ? text.slice(0, text.length - hints.length) + screen.style("dim", hints) : text;
}

function schemaOf(schema: unknown, screen: Screen): string {
  return screen.safe(JSON.stringify(schema, undefined, 2), { lines: "keep" }).replace(/^/gm, "    ");
}

/** Returns the first paragraph, with a mark if there is more. The documentation of the tool shows all. */
function firstParagraph(text: string, screen: Screen): string {
  const [first = "", ...more] = text.trim().split(/\n\s*\n/);
  return more.length > 0 ? `${first} ${screen.mark("more")}` : first;
}

/** Returns the documentation of one tool, or of one prompt if no tool has the name. */
function documentationOf(
  context: CommandContext,
  host: Host,
  entry: ServerEntry,
  member: string,
  hasSchema: boolean,
): CommandResult {
  const { screen, system } = context;
  const { tools, prompts } = host.catalog;
  const server = host.servers[0]?.profile;
  const tool = tools.find(({ name }) => name === member);
  const target = targetArgument(entry, system);
  if (tool) {
    const { definition, isQuarantined } = tool;
    return {
      value: { server, tool: { ...definition, ...(isQuarantined && { isQuarantined }) } },
      text() {
        const words = { only: context.only?.program, program: screen.step("portolan") };
        const parts = [showTool(definition, callOf(definition, target, words), screen)];
        if (isQuarantined)
          parts.push(
            `${screen.mark("warn")} changed since you accepted it: ${screen.step(`portolan trust ${quote(entry.name)} --changes`)}`,
          );
        if (!hasSchema) return parts.join("\n");
        const { inputSchema, outputSchema } = definition;
        parts.push("", screen.style("dim", "schema of the arguments"), schemaOf(inputSchema, screen));
        if (outputSchema) parts.push("", screen.style("dim", "schema of the output"), schemaOf(outputSchema, screen));
        return parts.join("\n");
      },
    };
  }
  const prompt = prompts.find(({ name }) => name === member);
  if (prompt) return { value: { server, prompt }, text: () => showPrompt(prompt, screen) };
  const unlisted = missingFailure(host, entry, "tools", member, system);
  if (unlisted) throw unlisted;
  const next = `portolan ls ${target}`;
  const names = [...tools, ...prompts].map(({ name }) => name);
  const similar = host.catalog.search(member, { limit: 3 }).map(({ name }) => name);
  const what = `${entry.name} has no tool or prompt ${JSON.stringify(member)}`;
  throw new Failure("usage", `${what}; ${screen.safe(suggest(member, names, next, similar))}`, { next });
}
