import type { Prompt, Resource, ResourceTemplate, Tool } from "../../protocol/types/index.ts";
import type { Offers } from "./load-lists.ts";
import { modelNameOf } from "./model-name.ts";
import { type Found, Index, search } from "./search.ts";

/** A tool of one of the servers. */
export interface CatalogTool {
  readonly server: string;
  readonly name: string;
  /** What models call it: at most 64 letters, digits, `_` and `-`, and never the name of another. */
  readonly modelName: string;
  readonly definition: Tool;
  /** Of its definition: what grants are bound to. */
  readonly digest: string;
  /** Whether models may see it. */
  readonly isVisible: boolean;
  /** Its definition has changed since it was accepted: nobody can call it until that is looked at. */
  readonly isQuarantined: boolean;
  /** A tool of another name or server that it could be taken for, or that for it: who imitates whom cannot be known. */
  readonly resembles: string | undefined;
}

/** A feature of one of the servers. */
export type Of<T> = T & { readonly server: string };

/** What a definition was found to be. */
export interface Judged {
  readonly digest: string;
  readonly isQuarantined: boolean;
}

/** How what a server offers is put in. */
export interface PutOptions {
  readonly acceptsInstructions: boolean;
  /** Whether models may see a tool. */
  readonly isShown: (tool: string) => boolean;
  /** Asked at the last moment: a server may be gone by then. */
  readonly isWanted?: () => boolean;
}

/** What can be looked up in all that the servers offer. */
export interface CatalogView {
  /** Every tool, also those that models do not see. */
  readonly tools: readonly CatalogTool[];
  readonly prompts: readonly Of<Prompt>[];
  readonly resources: readonly Of<Resource>[];
  readonly templates: readonly Of<ResourceTemplate>[];
  tool(server: string, name: string): CatalogTool | undefined;
  /** The tool that a model means. */
  byModelName(name: string): CatalogTool | undefined;
  /** The visible tools that fit best, the best first. */
  search(query: string, options?: { readonly limit?: number; readonly server?: string }): CatalogTool[];
  /** How the server says that it is to be used, once that was accepted. */
  instructions(server: string): string | undefined;
}

interface Part {
  readonly offers: Offers;
  readonly tools: ReadonlyMap<string, CatalogTool>;
  readonly instructions?: string;
  /** Made with the part, so that no search has to wait for all parts at once. */
  readonly index: Index<CatalogTool>;
}

/** All that the servers offer, in parts: what one server changes touches its part alone. */
export class Catalog implements CatalogView {
  readonly #parts = new Map<string, Part>();
  readonly #byModelName = new Map<string, CatalogTool>();
  /** All whose names look alike. */
  readonly #looks = new Map<string, Set<CatalogTool>>();
  readonly #lookOf: (name: string) => string;
  /** The parts put together; made anew when somebody looks after a change. */
  #merged: {
    tools?: CatalogTool[];
    prompts?: Of<Prompt>[];
    resources?: Of<Resource>[];
    templates?: Of<ResourceTemplate>[];
  } = {};

  /** `lookOf` gives names that look alike the same text. */
  constructor(lookOf: (name: string) => string) {
    this.#lookOf = lookOf;
  }

  get tools(): readonly CatalogTool[] {
    this.#merged.tools ??= [...this.#parts.values()].flatMap(({ tools }) => [...tools.values()]);
    return this.#merged.tools;
  }

  get prompts(): readonly Of<Prompt>[] {
    this.#merged.prompts ??= this.#all(({ prompts }) => prompts);
    return this.#merged.prompts;
  }

  get resources(): readonly Of<Resource>[] {
    this.#merged.resources ??= this.#all(({ resources }) => resources);
    return this.#merged.resources;
  }

  get templates(): readonly Of<ResourceTemplate>[] {
    this.#merged.templates ??= this.#all(({ templates }) => templates);
    return this.#merged.templates;
  }

  /** Whether it is known what a server offers. */
  knows(server: string): boolean {
    return this.#parts.has(server);
  }

  tool(server: string, name: string): CatalogTool | undefined {
    return this.#parts.get(server)?.tools.get(name);
  }

  byModelName(name: string): CatalogTool | undefined {
    return this.#byModelName.get(name);
  }

  search(query: string, { limit = 10, server }: { limit?: number; server?: string } = {}): CatalogTool[] {
    const parts = server === undefined ? [...this.#parts.values()] : [this.#parts.get(server)];
    const indexes = parts.flatMap((part) => (part ? [part.index] : []));
    return search(indexes, query, limit).map(({ item }: Found<CatalogTool>) => item);
  }

  instructions(server: string): string | undefined {
    return this.#parts.get(server)?.instructions;
  }

  /** Puts in what a server offers now, in place of what it offered before. */
  async put(
    server: string,
    offers: Offers,
    judge: (tool: Tool) => Judged,
    { acceptsInstructions, isShown, isWanted = () => true }: PutOptions,
  ): Promise<void> {
    const named = await Promise.all(
      offers.tools.map(async (definition): Promise<CatalogTool> => {
        const { name } = definition;
        const { digest, isQuarantined } = judge(definition);
        const modelName = await modelNameOf(server, name);
        const isVisible = isShown(name) && !isQuarantined;
        const alike = () => this.#resembling(server, name);
        return {
          ...{ server, name, modelName, definition, digest, isVisible, isQuarantined },
          // Looked up when it is asked for: the other may come later, and go.
          get resembles() {
            return alike();
          },
        };
      }),
    );
    if (!isWanted()) return;
    this.remove(server);
    // Of two by one name the last counts.
    const tools = new Map(named.map((tool) => [tool.name, tool]));
    for (const tool of tools.values()) {
      const look = this.#lookOf(tool.name);
      const alike = this.#looks.get(look) ?? new Set();
      this.#looks.set(look, alike.add(tool));
      this.#byModelName.set(tool.modelName, tool);
    }
    const { instructions } = offers;
    this.#parts.set(server, {
      offers,
      tools,
      index: indexOf(tools),
      ...(acceptsInstructions && instructions !== undefined && { instructions }),
    });
    this.#merged = {};
  }

  remove(server: string): void {
    const part = this.#parts.get(server);
    if (!part) return;
    for (const tool of part.tools.values()) {
      this.#byModelName.delete(tool.modelName);
      const look = this.#lookOf(tool.name);
      const alike = this.#looks.get(look);
      alike?.delete(tool);
      if (alike?.size === 0) this.#looks.delete(look);
    }
    this.#parts.delete(server);
    this.#merged = {};
  }

  #resembling(server: string, name: string): string | undefined {
    for (const other of this.#looks.get(this.#lookOf(name)) ?? []) {
      if (other.server !== server || other.name !== name) return `${other.server}.${other.name}`;
    }
    return undefined;
  }

  #all<T>(of: (offers: Offers) => readonly T[]): Of<T>[] {
    return [...this.#parts].flatMap(([server, { offers }]) => of(offers).map((item) => ({ ...item, server })));
  }
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
