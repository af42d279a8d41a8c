import { createMemoryPair } from "portolan";
import { type Client, connect, type ListAllOptions } from "portolan/client";
import type { Servable } from "portolan/server";
import { estimateTokens } from "portolan-host/models";
import { type CatalogChange, type CatalogLists, diffCatalogs } from "portolan-recording";

/** Everything that a server offers, with its name and version. */
export interface Catalog extends CatalogLists {
  readonly name: string;
  readonly version: string;
}

/**
 * Lists everything that a server in this process offers. Rejects if a feature is invalid. `serveChannel` comes from the server's copy of the library.
 */
export async function catalogOf(
  server: Servable,
  { serveChannel }: Pick<typeof import("portolan/server"), "serveChannel">,
): Promise<Catalog> {
  const [near, far] = createMemoryPair();
  const serving = serveChannel(server, far);
  try {
    // Rejects if a feature is invalid, which would otherwise only be missing from the lists.
    await serving.ready;
    const client = await connect(near);
    try {
      return await listAll(client);
    } finally {
      await client.close();
    }
  } finally {
    await serving.close();
  }
}

/** The lists of a server. */
export type Listed = "tools" | "resources" | "templates" | "prompts";

/** Receives what is missing of the lists of a server. */
export interface ListReport {
  /** A list could not be read. It is empty. */
  onFailure(list: Listed, reason: unknown): void;
  /** An item is invalid. It is left out. */
  onInvalid(list: Listed, problem: string): void;
}

/** Lists everything that a connected server offers. With `report` each list stands alone; without it any problem rejects. */
export async function listAll(client: Client, report?: ListReport): Promise<Catalog> {
  const { capabilities, info } = client.server;
  const list = async <T>(
    name: Listed,
    isOffered: unknown,
    read: (options: ListAllOptions) => Promise<T[]>,
  ): Promise<readonly T[]> => {
    if (!isOffered) return [];
    if (!report) return read({});
    try {
      return await read({ onInvalid: (problem) => report.onInvalid(name, problem) });
    } catch (reason) {
      report.onFailure(name, reason);
      return [];
    }
  };
  const [tools, resources, templates, prompts] = await Promise.all([
    list("tools", capabilities.tools, (options) => client.listTools(options)),
    list("resources", capabilities.resources, (options) => client.listResources(options)),
    list("templates", capabilities.resources, (options) => client.listTemplates(options)),
    list("prompts", capabilities.prompts, (options) => client.listPrompts(options)),
  ]);
  return { name: info?.name ?? "server", version: info?.version ?? "", tools, resources, templates, prompts };
}

/** Estimates the tokens that the tools cost a model. */
export function tokensOf({ tools }: Catalog): number {
  return estimateTokens(tools.map(({ name, description = "", inputSchema }) => ({ name, description, inputSchema })));
}

/** Counts each kind: `2 tools · 1 prompt`. */
export function countsOf({ tools, resources, templates, prompts }: Catalog, between: string): string {
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

/** Describes the changes, one line each: `forecast: input +days`, `+ tool search`, `- prompt plan`. */
export function changesBetween(before: CatalogLists, after: CatalogLists): string[] {
  return diffCatalogs(before, after).flatMap(({ kind, name, how, changes }) => {
    if (how !== "changed") return [`${how === "added" ? "+" : "-"} ${kind} ${name}`];
    const told = describe(changes);
    return told.length > 0 ? [`${name}: ${told.join(", ")}`] : [];
  });
}

const schemaNames: { readonly [member: string]: string } = { inputSchema: "input", outputSchema: "output" };

/** Describes the change of one definition: schema fields by name, everything else by its member. */
function describe(changes: CatalogChange["changes"]): string[] {
  const told = new Set<string>();
  for (const change of changes) {
    const [member = "", part, field, deeper] = change.path.split(".");
    const schema = schemaNames[member];
    if (schema === undefined) told.add(member);
    else if (part !== "properties" || field === undefined) told.add(part === undefined ? schema : `${schema} ${part}`);
    else if (deeper !== undefined) told.add(`${schema} ~${field}`);
    else if (change.before === undefined) told.add(`${schema} +${field}`);
    else told.add(`${schema} ${change.after === undefined ? "-" : "~"}${field}`);
  }
  // A new field says enough; that it is required is not another change.
  for (const schema of Object.values(schemaNames)) {
    if ([...told].some((text) => text.startsWith(`${schema} +`) || text.startsWith(`${schema} -`))) {
      told.delete(`${schema} required`);
    }
  }
  return [...told];
}
