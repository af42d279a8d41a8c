import type { JsonObject, Tool } from "portolan";
import { isObject } from "portolan/internal";
import type { AppSession } from "../apps/api.ts";
import type { AppTool } from "../apps/app-tools.ts";
import { appToolsShare } from "../apps/limits.ts";
import { type CatalogTool, type CatalogView, createNameFilter, isAppModelName } from "../catalog/catalog.ts";
import { Index, search } from "../catalog/search.ts";
import { withoutTags } from "../display/escape.ts";
import { display } from "../display/index.ts";
import {
  maxArgumentDescriptionChars,
  maxResourceDescriptionChars,
  maxResourceUriChars,
  maxSchemaDepth,
  maxToolDescriptionChars,
} from "../limits.ts";
import type { ModelTool } from "../models/model.ts";
import { estimateTokens } from "../models/tokens.ts";
import type { RunOptions } from "./run.ts";

/** A tool that a model may call. */
export interface RunTool {
  readonly server: string;
  readonly name: string;
  readonly modelName: string;
  readonly definition: Tool;
  readonly digest: string;
  /** The offer of an app; undefined for a tool of the server itself. */
  readonly offer?: { readonly session: AppSession; readonly tool: AppTool };
}

/** The model's view of each tool, cached because definitions do not change. */
const presented = new WeakMap<RunTool, { readonly tool: ModelTool; readonly tokens: number }>();
/** The tools of apps as runs call them, so that each has one view. */
const ofApps = new WeakMap<AppTool, RunTool>();

/** Options of `Toolbox`. */
export interface ToolboxOptions extends Pick<RunOptions, "servers" | "only" | "except" | "apps"> {
  readonly maxTokens: number;
  /** Tools that were found by search earlier. */
  readonly found: readonly string[];
}

/** The tools that a model sees in one conversation. */
export class Toolbox {
  readonly #catalog: CatalogView;
  /** True if a server takes part. */
  readonly isWanted: (server: string) => boolean;
  readonly #isShown: (name: string) => boolean;
  readonly #maxTokens: number;
  /** Tools that the model has found by search, in this order. */
  readonly #found: Set<string>;
  readonly #apps: Iterable<AppSession>;
  #hasLongResults = false;
  /** The tools for skills; none if no server has skills. */
  skillTools: readonly ModelTool[] = [];

  /** If all tools together need more than `maxTokens`, the model gets a search instead. */
  constructor(catalog: CatalogView, options: ToolboxOptions) {
    const { servers, maxTokens, found, apps = [] } = options;
    this.#catalog = catalog;
    const wanted = servers && new Set(servers);
    this.isWanted = (server) => wanted?.has(server) ?? true;
    this.#isShown = createNameFilter(options);
    this.#maxTokens = maxTokens;
    this.#found = new Set(found);
    this.#apps = apps;
  }

  /** Without the tools of apps, which are gone when the run continues. */
  get found(): readonly string[] {
    return [...this.#found].filter((name) => !isAppModelName(name));
  }

  /** True if apps offer tools to this run. */
  get hasAppTools(): boolean {
    return this.#appTools().length > 0;
  }

  /** Resolves when the apps of the run have said which tools they offer, or have taken too long. */
  async settleApps(): Promise<void> {
    await Promise.all([...this.#apps].map((app) => app.settleTools()));
  }

  /** Adds the tool `read_more`, because there is a long result to read. */
  enableReadMore(): void {
    this.#hasLongResults = true;
  }

  /** Returns the tools for the next turn. Known tools keep their order, which providers' caches depend on. */
  tools(): ModelTool[] {
    const visible = this.#catalog.tools.filter((tool) => this.#isFor(tool));
    const builtIn = this.#ownTools();
    let tokens = 0;
    for (const tool of visible) tokens += present(tool).tokens;
    const { listed, others } = this.#sortAppTools();
    const search = tokens > this.#maxTokens || others.length > 0 ? [findToolsTool] : [];
    const shown = tokens <= this.#maxTokens ? visible : this.#foundTools().filter(({ offer }) => offer === undefined);
    const found = this.#foundTools().filter((tool) => others.includes(tool));
    return [...builtIn, ...search, ...[...shown, ...listed, ...found].map((tool) => present(tool).tool)];
  }

  /** Returns the tool with this model name, unless it is hidden from this run. */
  find(modelName: string): RunTool | undefined {
    if (isAppModelName(modelName)) return this.#appTools().find((tool) => tool.modelName === modelName);
    const tool = this.#catalog.byModelName(modelName);
    return tool && this.#isFor(tool) ? tool : undefined;
  }

  /** Returns the tools that match a query best. The model may call them from now on. */
  findTools(query: string, limit: number): RunTool[] {
    // Few, so that an app with many tools does not take the places of servers.
    const ofApps = searchTools(this.#sortAppTools().others, query, Math.ceil(limit / 4));
    // Filtered after the search, so that hidden tools do not take the places of others.
    const ofServers = this.#catalog
      .search(query, { limit: Number.POSITIVE_INFINITY })
      .filter((tool) => this.#isFor(tool))
      .slice(0, limit - ofApps.length);
    const best: RunTool[] = [...ofServers, ...ofApps];
    for (const { modelName } of best) this.#found.add(modelName);
    return best;
  }

  /** Returns resources whose names, addresses or descriptions contain all words of a query. */
  resources(query: string, limit: number): { readonly server: string; readonly text: string }[] {
    const words = query.toLowerCase().split(/\s+/).filter(Boolean);
    const fits = (text: string) => words.every((word) => text.includes(word));
    const { resources, templates } = this.#catalog;
    return [...resources, ...templates]
      .filter((item) => this.isWanted(item.server) && fits(JSON.stringify(item).toLowerCase()))
      .filter((item) => ("uri" in item ? item.uri : item.uriTemplate).length <= maxResourceUriChars)
      .slice(0, limit)
      .map((item) => {
        const { server, name, description = name } = item;
        const address = "uri" in item ? item.uri : `${item.uriTemplate} (replace the parts in braces)`;
        return {
          server,
          text: `${server}: ${display(address)} ${display(description, { maxChars: maxResourceDescriptionChars })}`,
        };
      });
  }

  #foundTools(): RunTool[] {
    return [...this.#found].flatMap((name) => this.find(name) ?? []);
  }

  /** The tools that apps of the run's servers offer now. */
  #appTools(): RunTool[] {
    return [...this.#apps]
      .filter(({ server }) => this.isWanted(server))
      .flatMap((session) => session.tools.map((tool) => toRunTool(session, tool)))
      .filter(({ server, name }) => this.#isShown(`${server}.${name}`));
  }

  /** Sorts the tools of apps into those that fit into the share of their app, and the others. */
  #sortAppTools(): { readonly listed: readonly RunTool[]; readonly others: readonly RunTool[] } {
    const all = this.#appTools();
    const sessions = new Set(all.map(({ offer }) => offer?.session));
    const left = new Map([...sessions].map((one) => [one, (this.#maxTokens * appToolsShare) / sessions.size]));
    const others = new Set<RunTool>();
    for (const tool of all) {
      const rest = (left.get(tool.offer?.session) ?? 0) - present(tool).tokens;
      left.set(tool.offer?.session, rest);
      if (rest < 0) others.add(tool);
    }
    return { listed: all.filter((tool) => !others.has(tool)), others: [...others] };
  }

  #isFor({ server, name, isVisible }: CatalogTool): boolean {
    return isVisible && this.isWanted(server) && this.#isShown(`${server}.${name}`);
  }

  #ownTools(): ModelTool[] {
    const hasResources =
      this.#catalog.resources.some(({ server }) => this.isWanted(server)) ||
      this.#catalog.templates.some(({ server }) => this.isWanted(server));
    return [
      ...(hasResources ? resourceTools : []),
      ...this.skillTools,
      ...(this.#hasLongResults ? [readMoreTool] : []),
    ];
  }
}

function toRunTool(session: AppSession, tool: AppTool): RunTool {
  const known = ofApps.get(tool);
  if (known) return known;
  const made: RunTool = { server: session.server, ...tool, offer: { session, tool } };
  ofApps.set(tool, made);
  return made;
}

function searchTools(tools: readonly RunTool[], query: string, limit: number): RunTool[] {
  const index = new Index<RunTool>();
  for (const tool of tools) {
    const { title = "", description = "" } = tool.definition;
    index.add(tool, { name: tool.name, text: `${tool.server} ${title} ${description}` });
  }
  return search([index], query, limit).map(({ item }) => item);
}

/** Returns a tool as models see it: labelled with its server, and with invisible characters escaped. */
function present(entry: RunTool): { readonly tool: ModelTool; readonly tokens: number } {
  const known = presented.get(entry);
  if (known) return known;
  const { description = "", title = "", inputSchema } = entry.definition;
  const text = description || title || entry.name;
  const { offer } = entry;
  const from = offer ? `App ${display(offer.session.resource.uri)} of ${display(entry.server)}` : display(entry.server);
  const tool: ModelTool = {
    name: entry.modelName,
    description: `[${from}] ${display(text, { maxChars: maxToolDescriptionChars, lines: "keep" })}`,
    inputSchema: presentSchema(inputSchema, 0) as JsonObject,
  };
  const made = { tool, tokens: estimateTokens(tool) };
  presented.set(entry, made);
  return made;
}

/** Escapes descriptions inside a schema, because they are text of the server, too. */
function presentSchema(value: unknown, depth: number): unknown {
  if (depth > maxSchemaDepth) return {};
  if (Array.isArray(value)) return value.map((item) => presentSchema(item, depth + 1));
  if (typeof value === "string") return withoutTags(value);
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => {
      const isWords = (name === "description" || name === "title") && typeof item === "string";
      return [
        withoutTags(name),
        isWords
          ? display(item, { maxChars: maxArgumentDescriptionChars, lines: "keep" })
          : presentSchema(item, depth + 1),
      ];
    }),
  );
}

/** Searches for tools when there are too many to list. */
export const findToolsTool: ModelTool = {
  name: "find_tools",
  description:
    "There are more tools than are listed here. Finds tools by what they do, described in a few words. You can call the tools that it returns.",
  inputSchema: {
    type: "object",
    properties: { query: { type: "string", description: "What the tool should do, in a few words" } },
    required: ["query"],
  },
};

/** Reads a part of a result that was too long. */
export const readMoreTool: ModelTool = {
  name: "read_more",
  description: "Reads a part of a result that was too long to show.",
  inputSchema: {
    type: "object",
    properties: {
      name: { type: "string", description: "The name given where the result was cut" },
      from: { type: "integer", description: "The character to read from" },
    },
    required: ["name", "from"],
  },
};

/** Find and read resources; reading needs the user's consent. */
export const resourceTools: readonly ModelTool[] = [
  {
    name: "find_resources",
    description: "Lists resources of the servers whose names, addresses or descriptions contain all words of a query.",
    inputSchema: {
      type: "object",
      properties: {
        query: { type: "string", description: "Words to search for; leave it empty for the first resources" },
      },
    },
  },
  {
    name: "read_resource",
    description: "Reads a resource of a server. The user may be asked first.",
    inputSchema: {
      type: "object",
      properties: {
        server: { type: "string", description: "The server's name" },
        uri: { type: "string", description: "The resource's address" },
      },
      required: ["server", "uri"],
    },
  },
];
