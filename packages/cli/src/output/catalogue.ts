import { createMemoryPair, type Prompt, type Resource, type ResourceTemplate, type Tool } from "portolan";
import { type Client, connect } from "portolan/client";
import type { Servable } from "portolan/server";
import { diffDefinitions } from "portolan-host";
import { estimateTokens } from "portolan-host/models";

/** What a server offers, and who it says it is. */
export interface Catalogue {
  readonly name: string;
  readonly version: string;
  readonly tools: readonly Tool[];
  readonly resources: readonly Resource[];
  readonly templates: readonly ResourceTemplate[];
  readonly prompts: readonly Prompt[];
}

/** Asks a server of the given copy of the library what it offers. */
export async function catalogueOf(
  server: Servable,
  { serveChannel }: Pick<typeof import("portolan/server"), "serveChannel">,
): Promise<Catalogue> {
  const [near, far] = createMemoryPair();
  const serving = serveChannel(server, far);
  const client = await connect(near);
  try {
    return await listAll(client);
  } finally {
    await client.close();
    await serving.close();
  }
}

/** Everything that a server lists. */
export async function listAll(client: Client): Promise<Catalogue> {
  const { capabilities, info } = client.server;
  const [tools, resources, templates, prompts] = await Promise.all([
    capabilities.tools ? client.listTools() : [],
    capabilities.resources ? client.listResources() : [],
    capabilities.resources ? client.listTemplates() : [],
    capabilities.prompts ? client.listPrompts() : [],
  ]);
  return { name: info?.name ?? "server", version: info?.version ?? "", tools, resources, templates, prompts };
}

/** About how many tokens a model spends on knowing the tools. */
export function tokensOf({ tools }: Catalogue): number {
  return estimateTokens(tools.map(({ name, description = "", inputSchema }) => ({ name, description, inputSchema })));
}

/** How much there is of each kind: `2 tools · 1 prompt`. */
export function countsOf({ tools, resources, templates, prompts }: Catalogue, between: string): string {
  const counts: [number, string][] = [
    [tools.length, "tool"],
    [resources.length, "resource"],
    [templates.length, "template"],
    [prompts.length, "prompt"],
  ];
  const said = counts
    .filter(([count]) => count > 0)
    .map(([count, kind]) => `${count} ${kind}${count === 1 ? "" : "s"}`);
  return said.length > 0 ? said.join(` ${between} `) : "nothing yet";
}

/** What is different, one line for each thing: `forecast: input +days`, `+ tool search`, `- prompt plan`. */
export function changesBetween(before: Catalogue, after: Catalogue): string[] {
  return [
    ...changesOf("tool", before.tools, after.tools, ({ name }) => name),
    ...changesOf("resource", before.resources, after.resources, ({ uri }) => uri),
    ...changesOf("template", before.templates, after.templates, ({ uriTemplate }) => uriTemplate),
    ...changesOf("prompt", before.prompts, after.prompts, ({ name }) => name),
  ];
}

function changesOf<T>(kind: string, before: readonly T[], after: readonly T[], keyOf: (item: T) => string): string[] {
  const known = new Map(before.map((item) => [keyOf(item), item]));
  const now = new Set(after.map(keyOf));
  const gone = [...known.keys()].filter((key) => !now.has(key)).map((key) => `- ${kind} ${key}`);
  const rest = after.flatMap((item) => {
    const key = keyOf(item);
    const old = known.get(key);
    if (old === undefined) return [`+ ${kind} ${key}`];
    const changes = describe(old, item);
    return changes.length > 0 ? [`${key}: ${changes.join(", ")}`] : [];
  });
  return [...gone, ...rest];
}

const schemaNames: { readonly [member: string]: string } = { inputSchema: "input", outputSchema: "output" };

/** What has changed in a definition: fields of schemas by name, the rest by its member. */
function describe(before: unknown, after: unknown): string[] {
  const told = new Set<string>();
  for (const change of diffDefinitions(before, after)) {
    const [member = "", part, field, deeper] = change.path.split(".");
    const schema = schemaNames[member];
    if (schema === undefined) told.add(member);
    else if (part !== "properties" || field === undefined) told.add(part === undefined ? schema : `${schema} ${part}`);
    else if (deeper !== undefined) told.add(`${schema} ~${field}`);
    else if (change.before === undefined) told.add(`${schema} +${field}`);
    else told.add(`${schema} ${change.after === undefined ? "-" : "~"}${field}`);
  }
  // That a new field is required goes without saying.
  for (const schema of Object.values(schemaNames)) {
    if ([...told].some((text) => text.startsWith(`${schema} +`) || text.startsWith(`${schema} -`))) {
      told.delete(`${schema} required`);
    }
  }
  return [...told];
}
