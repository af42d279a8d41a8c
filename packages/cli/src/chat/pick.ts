import { type Host, parseUriTemplate } from "portolan-host";
import { askField } from "../ask/field.ts";
import type { CommandContext } from "../command.ts";
import { QuestionDismissed } from "../terminal/input.ts";
import type { AttachedResource } from "./line.ts";

const maxShown = 20;

/** Lets the person choose a resource, or fill in a template. Returns undefined for none. */
export function pickResource(
  context: CommandContext,
  host: Host,
  query: string,
): Promise<AttachedResource | undefined> {
  const { terminal, screen, signal } = context;
  const { resources, templates } = host.catalog;
  const found = [
    ...resources.map(({ server, uri, title, name }) => ({ server, uri, label: title ?? name, isTemplate: false })),
    ...templates.map(({ server, uriTemplate, title, name }) => ({
      server,
      uri: uriTemplate,
      label: title ?? name,
      isTemplate: true,
    })),
  ].filter(({ server, uri, label }) => `${server} ${uri} ${label}`.toLowerCase().includes(query.toLowerCase()));
  if (found.length === 0) {
    const why = query === "" ? "the servers have no resources" : `no resource matches ${screen.safe(query)}`;
    terminal.say(screen.style("dim", why));
    return Promise.resolve(undefined);
  }
  const shown = found.slice(0, maxShown);
  for (const [at, { server, uri, label }] of shown.entries()) {
    terminal.say(
      screen.cut(`  ${at + 1} ${screen.safe(`${server} ${uri}`)} ${screen.style("dim", screen.safe(label))}`),
    );
  }
  if (found.length > maxShown)
    terminal.say(`  ${screen.style("dim", `${found.length - maxShown} more; narrow the list with @word`)}`);
  return terminal
    .ask(signal, async () => {
      const line = await terminal.line({ prompt: "  number (Enter for none) > " });
      const chosen = shown[Number(line.trim()) - 1];
      if (!chosen) return undefined;
      const { server, uri } = chosen;
      return { server, uri: chosen.isTemplate ? await fill(context, host, server, uri) : uri };
    })
    .catch((reason: unknown) => {
      if (reason instanceof QuestionDismissed) return undefined;
      throw reason;
    });
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
