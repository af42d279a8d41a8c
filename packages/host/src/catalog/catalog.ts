import type { Prompt, Resource, ResourceTemplate, Tool } from "portolan";
import { array, isObject, object, optional, record, string } from "portolan/internal";
import type { KeyValue } from "portolan/storage";
import { sha256 } from "portolan/storage";
import { maxCachedFeatureChars, maxModelNameChars, maxSearchResults } from "../limits.ts";
import { compileGlob } from "../policy/policy.ts";
import type { ListedFeatures } from "./load-lists.ts";
import { Index, type Match, search } from "./search.ts";

/** A tool of one of the servers. */
export interface CatalogTool {
  readonly server: string;
  readonly name: string;
  /** The tool's name for models: at most 64 letters, digits, `_` and `-`, and unique. */
  readonly modelName: string;
  readonly definition: Tool;
  /** Digest of its definition; grants are bound to it. */
  readonly digest: string;
  /** True if models see it. */
  readonly isVisible: boolean;
  /** The permitted callers of the tool: the server may have it for its apps alone, or for models alone (MCP Apps). */
  readonly isFor: { readonly model: boolean; readonly app: boolean };
  /** Its definition changed since it was accepted. It cannot be called until the user accepts it again. */
  readonly isQuarantined: boolean;
  /** Another tool with a confusingly similar name. Which of the two is the imitation cannot be known. */
  readonly resembles: string | undefined;
}

/** A feature with the name of its server. */
export type ServerFeature<T> = T & { readonly server: string };

/** The result of comparing a tool with its pin. */
export interface PinStatus {
  readonly digest: string;
  readonly isQuarantined: boolean;
}

/** Options of `Catalog.put`. */
export interface PutOptions {
  readonly acceptsInstructions: boolean;
  /** True if models may see a tool. */
  readonly isShown: (tool: string) => boolean;
  /** Checked at the last moment, because the server may have been removed meanwhile. */
  readonly isWanted?: () => boolean;
}

/** Read access to the features of all servers. */
export interface CatalogView {
  /** All tools, including those that models do not see. */
  readonly tools: readonly CatalogTool[];
  readonly prompts: readonly ServerFeature<Prompt>[];
  readonly resources: readonly ServerFeature<Resource>[];
  readonly templates: readonly ServerFeature<ResourceTemplate>[];
  tool(server: string, name: string): CatalogTool | undefined;
  /** Returns the tool with this model name. */
  byModelName(name: string): CatalogTool | undefined;
  /** Returns the visible tools that match best, the best first. */
  search(query: string, options?: { readonly limit?: number; readonly server?: string }): CatalogTool[];
  /** The server's instructions, once they are accepted. */
  instructions(server: string): string | undefined;
}

interface ServerPart {
  readonly features: ListedFeatures;
  readonly tools: ReadonlyMap<string, CatalogTool>;
  readonly instructions?: string;
  /** Built for each server, so that no search has to wait for all of them. */
  readonly index: Index<CatalogTool>;
}

/** The features of all servers, in one part for each server, so that a change affects only its part. */
export class Catalog implements CatalogView {
  readonly #parts = new Map<string, ServerPart>();
  readonly #byModelName = new Map<string, CatalogTool>();
  /** Tools with similar names. */
  readonly #byAppearance = new Map<string, Set<CatalogTool>>();
  readonly #appearanceOf: (name: string) => string;
  /** All parts together; rebuilt after a change when it is read. */
  #merged: {
    tools?: CatalogTool[];
    prompts?: ServerFeature<Prompt>[];
    resources?: ServerFeature<Resource>[];
    templates?: ServerFeature<ResourceTemplate>[];
  } = {};

  /** `appearanceOf` returns the same text for names that look alike. */
  constructor(appearanceOf: (name: string) => string) {
    this.#appearanceOf = appearanceOf;
  }

  get tools(): readonly CatalogTool[] {
    this.#merged.tools ??= [...this.#parts.values()].flatMap(({ tools }) => [...tools.values()]);
    return this.#merged.tools;
  }

  get prompts(): readonly ServerFeature<Prompt>[] {
    this.#merged.prompts ??= this.#all(({ prompts }) => prompts);
    return this.#merged.prompts;
  }

  get resources(): readonly ServerFeature<Resource>[] {
    this.#merged.resources ??= this.#all(({ resources }) => resources);
    return this.#merged.resources;
  }

  get templates(): readonly ServerFeature<ResourceTemplate>[] {
    this.#merged.templates ??= this.#all(({ templates }) => templates);
    return this.#merged.templates;
  }

  /** True if the features of a server are known. */
  knows(server: string): boolean {
    return this.#parts.has(server);
  }

  tool(server: string, name: string): CatalogTool | undefined {
    return this.#parts.get(server)?.tools.get(name);
  }

  byModelName(name: string): CatalogTool | undefined {
    return this.#byModelName.get(name);
  }

  search(query: string, { limit = maxSearchResults, server }: { limit?: number; server?: string } = {}): CatalogTool[] {
    const parts = server === undefined ? [...this.#parts.values()] : [this.#parts.get(server)];
    const indexes = parts.flatMap((serverPart) => (serverPart ? [serverPart.index] : []));
    return search(indexes, query, limit).map(({ item }: Match<CatalogTool>) => item);
  }

  instructions(server: string): string | undefined {
    return this.#parts.get(server)?.instructions;
  }

  /** Replaces the features of a server. */
  async put(
    server: string,
    features: ListedFeatures,
    statusOf: (tool: Tool) => PinStatus,
    { acceptsInstructions, isShown, isWanted = () => true }: PutOptions,
  ): Promise<void> {
    const named = await Promise.all(
      features.tools.map(async (definition): Promise<CatalogTool> => {
        const { name } = definition;
        const { digest, isQuarantined } = statusOf(definition);
        const modelName = await modelNameOf(server, name);
        const isFor = visibilityOf(definition);
        const isVisible = isShown(name) && !isQuarantined && isFor.model;
        const alike = () => this.#findSimilar(server, name);
        return {
          ...{ server, name, modelName, definition, digest, isVisible, isFor, isQuarantined },
          // Evaluated when it is read, because the similar tool may come and go.
          get resembles() {
            return alike();
          },
        };
      }),
    );
    if (!isWanted()) return;
    this.remove(server);
    // If a name occurs twice, the last definition counts.
    const tools = new Map(named.map((tool) => [tool.name, tool]));
    for (const tool of tools.values()) {
      const appearance = this.#appearanceOf(tool.name);
      const alike = this.#byAppearance.get(appearance) ?? new Set();
      this.#byAppearance.set(appearance, alike.add(tool));
      this.#byModelName.set(tool.modelName, tool);
    }
    const { instructions } = features;
    this.#parts.set(server, {
      features,
      tools,
      index: indexOf(tools),
      ...(acceptsInstructions && instructions !== undefined && { instructions }),
    });
    this.#merged = {};
  }

  remove(server: string): void {
    const serverPart = this.#parts.get(server);
    if (!serverPart) return;
    for (const tool of serverPart.tools.values()) {
      this.#byModelName.delete(tool.modelName);
      const appearance = this.#appearanceOf(tool.name);
      const alike = this.#byAppearance.get(appearance);
      alike?.delete(tool);
      if (alike?.size === 0) this.#byAppearance.delete(appearance);
    }
    this.#parts.delete(server);
    this.#merged = {};
  }

  /** Returns a tool whose name looks like the one that an app offers. */
  lookalikeOf(name: string): string | undefined {
    return this.#findSimilar(undefined, name);
  }

  #findSimilar(server: string | undefined, name: string): string | undefined {
    for (const other of this.#byAppearance.get(this.#appearanceOf(name)) ?? []) {
      if (other.server !== server || other.name !== name) return `${other.server}.${other.name}`;
    }
    return undefined;
  }

  #all<T>(of: (features: ListedFeatures) => readonly T[]): ServerFeature<T>[] {
    return [...this.#parts].flatMap(([server, { features }]) => of(features).map((item) => ({ ...item, server })));
  }
}

/** One value for the many tools that are for both. */
const forBoth = { model: true, app: true };

function visibilityOf({ _meta }: Tool): CatalogTool["isFor"] {
  const ui = _meta?.["ui"];
  const visibility = isObject(ui) ? ui["visibility"] : undefined;
  if (!Array.isArray(visibility)) return forBoth;
  return { model: visibility.includes("model"), app: visibility.includes("app") };
}

function indexOf(tools: ReadonlyMap<string, CatalogTool>): Index<CatalogTool> {
  const index = new Index<CatalogTool>();
  for (const tool of tools.values()) {
    if (!tool.isVisible) continue;
    const { title = "", description = "", inputSchema } = tool.definition;
    const parameters = Object.keys(inputSchema.properties ?? {}).join(" ");
    index.add(tool, { name: tool.name, text: `${tool.server} ${title} ${description} ${parameters}` });
  }
  return index;
}

/** Returns the test of whether a name is included and not excluded; `*` stands for any characters. */
export function createNameFilter(names: {
  readonly only?: readonly string[] | undefined;
  readonly except?: readonly string[] | undefined;
}): (name: string) => boolean {
  const wanted = names.only?.map(compileGlob);
  const unwanted = (names.except ?? []).map(compileGlob);
  return (name) => (wanted?.some((fits) => fits(name)) ?? true) && !unwanted.some((fits) => fits(name));
}
const separator = "__";
const plainName = /^[A-Za-z0-9_-]+$/;
/**
 * Ending of a name that was shortened or respelled. A plain name with such an ending is respelled, too, so the two
 * never collide.
 */
const endsInDigest = /_x[a-z0-9]{10}$/;

/**
 * Returns a feature's name for models: at most 64 letters, digits, `_` and `-`; the same in every conversation, and
 * different for every other pair of server and name.
 */
export async function modelNameOf(server: string, name: string): Promise<string> {
  const joined = server + separator + name;
  const isPlain = plainName.test(joined) && joined.length <= maxModelNameChars && !endsInDigest.test(joined);
  // The first `__` separates server and name. A server name that contains `__` or ends in `_` is respelled.
  if (isPlain && !server.includes(separator) && !server.endsWith("_")) return joined;
  const suffix = `_x${shortDigest(await sha256(JSON.stringify([server, name])))}`;
  return toPlain(joined).slice(0, maxModelNameChars - suffix.length) + suffix;
}

const appPrefix = "app_";
const endsInAppDigest = /_v[a-z0-9]{10}$/;

/**
 * Returns the name for models of a tool that an app offers: `app_chess_board_v1a2b3c4d5e`. The digest is that of the app's
 * session and the tool's definition, so that the name means nothing else, ever. It is no name of a server's tool: those
 * contain `__` or end in `_x` and a digest.
 */
export function appModelNameOf(server: string, name: string, digest: string): string {
  const suffix = `_v${shortDigest(digest)}`;
  const joined = toPlain(`${appPrefix}${server}_${name}`).replace(/_+/g, "_");
  return joined.slice(0, maxModelNameChars - suffix.length).replace(/_$/, "") + suffix;
}

/** True for a name that `appModelNameOf` may have made. */
export function isAppModelName(name: string): boolean {
  return name.startsWith(appPrefix) && endsInAppDigest.test(name) && !name.includes(separator);
}

function shortDigest(digest: string): string {
  return digest
    .toLowerCase()
    .replace(/[^a-z0-9]/g, "")
    .slice(0, 10)
    .padEnd(10, "0");
}

function toPlain(text: string): string {
  return text.replace(/[^A-Za-z0-9_-]+/g, "_");
}
const isFeatures = object({
  tools: array(object({ name: string, inputSchema: record() })),
  prompts: array(object({ name: string })),
  resources: array(object({ uri: string })),
  templates: array(object({ uriTemplate: string })),
  instructions: optional(string),
});

/** Caches the features of servers, so that they are known before the servers start. A failure only costs time. */
export class FeatureCache {
  readonly #kv: KeyValue;

  constructor(kv: KeyValue) {
    this.#kv = kv;
  }

  async read(server: { readonly name: string; readonly digest: string }): Promise<ListedFeatures | undefined> {
    const text = await this.#kv.get(keyOf(server));
    if (text === undefined) return undefined;
    try {
      const features: unknown = JSON.parse(text);
      return isFeatures(features, "offers") === undefined ? (features as ListedFeatures) : undefined;
    } catch {
      return undefined;
    }
  }

  async write(server: { readonly name: string; readonly digest: string }, features: ListedFeatures): Promise<void> {
    const text = JSON.stringify(features);
    if (text.length <= maxCachedFeatureChars) await this.#kv.set(keyOf(server), text);
  }
}

function keyOf({ name, digest }: { readonly name: string; readonly digest: string }): string {
  return `host/offers/${digest}/${name}`;
}
