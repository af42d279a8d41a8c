import type { JsonObject } from "../jsonrpc/message.ts";
import type { ClientRequests } from "../protocol/methods.ts";
import type { ToolsByName } from "../protocol/typed-tools.ts";
import type {
  CallToolResult,
  Completion,
  CompletionReference,
  GetPromptResult,
  Implementation,
  InputRequiredResult,
  LogLevel,
  Prompt,
  ReadResourceResult,
  Resource,
  ResourceTemplate,
  ServerCapabilities,
  Tool,
} from "../protocol/types/index.ts";
import type { CallOptions, InteractiveCallOptions } from "./options.ts";

/** The tools of a server's definition, by name; any tool where the definition is not known. */
export type ToolsOf<S> = S extends { readonly "~tools"?: infer Tools }
  ? unknown extends Tools
    ? AnyTools
    : ToolsByName<NonNullable<Tools>>
  : AnyTools;

/** What is known of tools that are known by nothing but their names. */
export interface AnyTools {
  [name: string]: { input: JsonObject; output: unknown };
}

/** The arguments of a tool. */
export type ArgumentsOf<Tool> = Tool extends { readonly input: infer A } ? A : JsonObject;

/** What a tool gives as structured content. */
export type OutputOf<Tool> = Tool extends { readonly output: infer O } ? O : unknown;

/** A tool's result whose structured content has the type that the definition gives it. */
export interface TypedResult<O> extends Omit<CallToolResult, "structuredContent"> {
  structuredContent?: O;
}

/** How much of a list is read before it is taken for endless. */
export interface ListAllOptions extends CallOptions {
  /** 100,000 unless said otherwise. */
  readonly maxItems?: number;
  /** 10,000 unless said otherwise. */
  readonly maxPages?: number;
}

/** Which changes to hear of. */
export interface ChangeFilter {
  readonly tools?: boolean;
  readonly prompts?: boolean;
  readonly resources?: boolean;
  /** The addresses of the resources to watch. */
  readonly uris?: readonly string[];
}

/** Something that is no longer as it was read. After an interruption, everything watched is told to have changed. */
export type Change =
  | { readonly kind: "tools" | "prompts" | "resources" }
  /** The address may lie below the one that is watched. */
  | { readonly kind: "resource"; readonly uri: string };

/** Changes as they come, each kind and each address at most once while nobody looks. */
export interface ChangeStream extends AsyncIterable<Change>, AsyncDisposable {
  /** What the server agreed to tell; the rest will not be heard of. */
  readonly honoured: ChangeFilter;
  /** Ends the watch and the iteration. */
  close(): Promise<void>;
}

/** A server, as its user sees it: the same on every revision. `S` is the type of its definition, where that is known. */
export interface Client<S = unknown, Tools = ToolsOf<S>, Names extends keyof Tools = keyof Tools>
  extends AsyncDisposable {
  readonly server: ServerProfile;
  /** Resolves when the connection has ended: with the reason, or with nothing after `close`. */
  readonly closed: Promise<Error | undefined>;
  /** Structured content is checked against the tool's schema, once the tool has been listed. */
  callTool<N extends Names>(
    name: N,
    args?: ArgumentsOf<Tools[N]>,
    options?: InteractiveCallOptions & { readonly autoAnswer?: true },
  ): Promise<TypedResult<OutputOf<Tools[N]>>>;
  callTool<N extends Names>(
    name: N,
    args: ArgumentsOf<Tools[N]> | undefined,
    options: InteractiveCallOptions,
  ): Promise<TypedResult<OutputOf<Tools[N]>> | InputRequiredResult>;
  readResource(
    uri: string,
    options?: InteractiveCallOptions & { readonly autoAnswer?: true },
  ): Promise<ReadResourceResult>;
  readResource(uri: string, options: InteractiveCallOptions): Promise<ReadResourceResult | InputRequiredResult>;
  getPrompt(
    name: string,
    args?: { [name: string]: string },
    options?: InteractiveCallOptions & { readonly autoAnswer?: true },
  ): Promise<GetPromptResult>;
  getPrompt(
    name: string,
    args: { [name: string]: string } | undefined,
    options: InteractiveCallOptions,
  ): Promise<GetPromptResult | InputRequiredResult>;
  complete(
    ref: CompletionReference,
    argument: { name: string; value: string },
    options?: CallOptions & { readonly known?: { [name: string]: string } },
  ): Promise<Completion>;
  /** All pages, one item after the other. */
  tools(options?: ListAllOptions): AsyncIterable<Tool>;
  resources(options?: ListAllOptions): AsyncIterable<Resource>;
  templates(options?: ListAllOptions): AsyncIterable<ResourceTemplate>;
  prompts(options?: ListAllOptions): AsyncIterable<Prompt>;
  /** All pages in one array. */
  listTools(options?: ListAllOptions): Promise<Tool[]>;
  listResources(options?: ListAllOptions): Promise<Resource[]>;
  listTemplates(options?: ListAllOptions): Promise<ResourceTemplate[]>;
  listPrompts(options?: ListAllOptions): Promise<Prompt[]>;
  /** Resolves when the server has said what it will tell. */
  watch(filter: ChangeFilter, options?: { readonly signal?: AbortSignal }): Promise<ChangeStream>;
  /** The least severe log message to be sent from now on. */
  setLogLevel(level: LogLevel, options?: CallOptions): Promise<void>;
  /** Tells a stateful server that the roots are others now; a stateless one asks each time. */
  rootsChanged(): void;
  /** Asks for a sign of life. */
  ping(options?: CallOptions): Promise<void>;
  /** Any request of the protocol, or of an extension; the result is as the server sent it. */
  request<M extends keyof ClientRequests>(
    method: M,
    params?: Omit<ClientRequests[M]["params"], "_meta">,
    options?: CallOptions,
  ): Promise<ClientRequests[M]["result"]>;
  request(method: string, params?: JsonObject, options?: CallOptions): Promise<JsonObject>;
  notify(method: string, params?: JsonObject): void;
  /** Ends the connection; whatever still waits fails at once. */
  close(): Promise<void>;
}

/** Who answered, as far as it said. */
export interface ServerProfile {
  /** The protocol version that is spoken. */
  readonly version: string;
  /** Whether each request describes itself, or a handshake came first. */
  readonly era: "stateless" | "stateful";
  readonly info?: Implementation | undefined;
  readonly capabilities: ServerCapabilities;
  readonly instructions?: string | undefined;
}
