import { type Host, parseUriTemplate } from "portolan-host";
import { askField } from "../ask/field.ts";
import type { CommandContext } from "../command.ts";
import { QuestionDismissed } from "../terminal/input.ts";
import type { AttachedResource } from "./line.ts";

const maxShown = 20;

/** Lets the person choose a resource, or fill in a template. Words instead of a number narrow the list. */
export async function pickResource(
  context: CommandContext,
  host: Host,
  query: string,
): Promise<AttachedResource | undefined> {
  const { terminal, screen, signal } = context;
  const dim = (text: string) => screen.style("dim", text);
  const found = findResources(host, query);
  if (found.length === 0) {
    terminal.say(dim(query === "" ? "the servers have no resources" : `no resource matches ${screen.safe(query)}`));
    return undefined;
  }
  const shown = found.slice(0, maxShown);
  for (const [at, { server, uri, label }] of shown.entries()) {
    terminal.say(screen.cut(`  ${at + 1} ${screen.safe(`${server} ${uri}`)} ${dim(screen.safe(label))}`));
  }
  if (found.length > maxShown)
    terminal.say(`  ${dim(`${found.length - maxShown} more; type a word to narrow the list`)}`);
  const picked = await terminal
    .ask(signal, async (): Promise<AttachedResource | string> => {
      const line = (await terminal.line({ prompt: "  number or word (Enter for none) > " })).trim();
      const chosen = shown[Number(line) - 1];
      if (!chosen) return line;
      const { server, uri } = chosen;
      return { server, uri: chosen.isTemplate ? await fill(context, host, server, uri) : uri };
    })
    .catch((reason: unknown) => {
      if (reason instanceof QuestionDismissed) return "";
      throw reason;
    });
  if (typeof picked !== "string") return picked;
  const word = picked.replace(/^@/, "");
  if (word === "") return undefined;
  if (!/^\d+$/.test(word)) return pickResource(context, host, word);
  terminal.say(dim(`expected a number from 1 to ${shown.length}, or a word`));
  return pickResource(context, host, query);
}

/** Finds the resources and templates whose server, address or title contain a text. */
function findResources(host: Host, query: string) {
  const { resources, templates } = host.catalog;
  return [
    ...resources.map(({ server, uri, title, name }) => ({ server, uri, label: title ?? name, isTemplate: false })),
    ...templates.map(({ server, uriTemplate, title, name }) => ({
      server,
      uri: uriTemplate,
      label: title ?? name,
      isTemplate: true,
    })),
  ].filter(({ server, uri, label }) => `${server} ${uri} ${label}`.toLowerCase().includes(query.toLowerCase()));
}

/** Asks for the variables of a template. Tab shows the values that the server proposes. */
async function fill(context: CommandContext, host: Host, server: string, text: string): Promise<string> {
  const template = parseUriTemplate(text);
  const known: { [name: string]: string } = {};
  for (const name of template.variables) {
    const complete = async (value: string) => {
      const ref = { type: "ref/resource", uri: text } as const;
      const { values } = await host.complete(server, ref, { name, value }, { signal: context.signal, known });
      return [values, value] as const;
    };
    const isRequired = partOfPath(name).test(text);
    const value = await askField(context, { name, schema: { type: "string" }, isRequired, complete });
    if (value !== undefined) known[name] = String(value);
  }
  return template.expand(known);
}

/** Matches a variable that the address needs: `{x}` or `{+x}`. */
function partOfPath(name: string): RegExp {
  return new RegExp(`\\{\\+?(?:[^{}+#./;?&][^{}]*,)?${name.replace(/[^\w]/g, "\\$&")}[,:*}]`);
}
