import type { JsonObject } from "../jsonrpc/message.ts";
import type { ClientRequests } from "../protocol/methods.ts";
import type { ToolsByName } from "../protocol/typed-tools.ts";
import type {
  CallToolResult,
  ClientCapabilities,
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
import type { CallOptions, InteractiveCallOptions, RawRequestOptions, ToolCallOptions } from "./options.ts";

/** The tools of a server's definition by name; `AnyTools` if the type of the definition is not known. */
export type ToolsOf<S> = S extends { readonly "~tools"?: infer Tools }
  ? unknown extends Tools
    ? AnyTools
    : ToolsByName<NonNullable<Tools>>
  : AnyTools;

/** Tools of a server whose definition is not known. */
export interface AnyTools {
  [name: string]: { input: JsonObject; output: unknown };
}

/** The type of a tool's arguments. */
export type ArgumentsOf<Tool> = Tool extends { readonly input: infer A }
  ? unknown extends A
    ? JsonObject
    : A
  : JsonObject;

/** The type of a tool's structured content. */
export type OutputOf<Tool> = Tool extends { readonly output: infer O } ? StructuredOutput<O> : unknown;

/** An output as it arrives. Before 2026-07-28 only objects are allowed: a server sends any other output as `{ result: … }`. */
export type StructuredOutput<O> = [O] extends [object]
  ? [Extract<O, readonly unknown[]>] extends [never]
    ? O
    : O | { result: O }
  : O | { result: O };

/** A tool's result with structured content of the defined type. */
export interface TypedResult<O> extends Omit<CallToolResult, "structuredContent"> {
  structuredContent?: O;
}

/** Options of the methods that read all pages of a list. A list beyond a limit fails with "limit-reached". */
export interface ListAllOptions extends CallOptions {
  /** Default: 100,000. */
  readonly maxItems?: number;
  /** Default: 10,000. */
  readonly maxPages?: number;
  /** Called for each invalid item, which is left out. Default: an invalid item fails the list. */
  readonly onInvalid?: (problem: string, item: unknown) => void;
}

/** The changes that a watch reports. */
export interface ChangeFilter {
  readonly tools?: boolean;
  readonly prompts?: boolean;
  readonly resources?: boolean;
  /** The URIs of the resources to watch. A URI also covers its children. */
  readonly uris?: readonly string[];
  /** Members of the filter that extensions of this client add, such as `{ taskIds: ["…"] }`. */
  readonly extensions?: { readonly [member: string]: unknown };
}

/**
 * One list or resource that must be read again. After an interruption everything watched is reported as changed, because
 * changes may have been missed.
 */
export type Change =
  | { readonly kind: "tools" | "prompts" | "resources" }
  /** `uri` may be a child of the watched URI. */
  | { readonly kind: "resource"; readonly uri: string }
  /** A notification that an extension watches. `member` is the member of the filter that wanted it. */
  | { readonly kind: "extension"; readonly member: string; readonly method: string; readonly params: JsonObject };

/** Changes in the order of their arrival. A list or URI that changes again before it is read is reported once. */
export interface ChangeStream extends AsyncIterable<Change>, AsyncDisposable {
  /** The part of the filter that the server reports. */
  readonly acceptedFilter: ChangeFilter;
  /** Ends the watch and the iteration. */
  close(): Promise<void>;
}

/** A connected server, used in the same way on every revision. `S` is the type of its definition, if that is known. */
export interface Client<S = unknown, Tools = ToolsOf<S>, Names extends keyof Tools = keyof Tools>
  extends AsyncDisposable {
  /** What is known of the server: its revision and era, its name, capabilities and instructions. */
  readonly server: ServerProfile;
  /** Resolves when the connection has ended: with the reason, or with `undefined` after `close`. */
  readonly closed: Promise<Error | undefined>;
  /** The capabilities that this client has declared to the server. A single call may declare others. */
  readonly offered: ClientCapabilities;
  /** Calls a tool. Structured content is checked against the tool's output schema if the tool has been listed before. */
  callTool<N extends Names>(
    name: N,
    args?: ArgumentsOf<Tools[N]>,
    options?: ToolCallOptions & { readonly autoAnswer?: true },
  ): Promise<TypedResult<OutputOf<Tools[N]>>>;
  callTool<N extends Names>(
    name: N,
    args: ArgumentsOf<Tools[N]> | undefined,
    options: ToolCallOptions,
  ): Promise<TypedResult<OutputOf<Tools[N]>> | InputRequiredResult>;
  /** Reads a resource by its URI. Rejects with an `RpcError` if the server does not have it. */
  readResource(
    uri: string,
    options?: InteractiveCallOptions & { readonly autoAnswer?: true },
  ): Promise<ReadResourceResult>;
  readResource(uri: string, options: InteractiveCallOptions): Promise<ReadResourceResult | InputRequiredResult>;
  /** Gets the messages of a prompt. Its arguments are strings. */
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
  /** Suggests values for an argument of a prompt or a variable of a template. `known` has the values of the others. */
  complete(
    ref: CompletionReference,
    argument: { name: string; value: string },
    options?: CallOptions & { readonly known?: { [name: string]: string } },
  ): Promise<Completion>;
  /** Iterates over all pages of a list. */
  tools(options?: ListAllOptions): AsyncIterable<Tool>;
  /** Iterates over all pages of the list of resources. */
  resources(options?: ListAllOptions): AsyncIterable<Resource>;
  /** Iterates over all pages of the list of resource templates. */
  templates(options?: ListAllOptions): AsyncIterable<ResourceTemplate>;
  /** Iterates over all pages of the list of prompts. */
  prompts(options?: ListAllOptions): AsyncIterable<Prompt>;
  /** Returns all pages of a list in one array. */
  listTools(options?: ListAllOptions): Promise<Tool[]>;
  /** Returns all resources in one array. */
  listResources(options?: ListAllOptions): Promise<Resource[]>;
  /** Returns all resource templates in one array. */
  listTemplates(options?: ListAllOptions): Promise<ResourceTemplate[]>;
  /** Returns all prompts in one array. */
  listPrompts(options?: ListAllOptions): Promise<Prompt[]>;
  /** Resolves when the server has confirmed the changes that it will report. */
  watch(filter: ChangeFilter, options?: { readonly signal?: AbortSignal }): Promise<ChangeStream>;
  /** Sets the least severe log message that the server sends from now on. */
  setLogLevel(level: LogLevel, options?: CallOptions): Promise<void>;
  /** Notifies a stateful server that the roots have changed. A stateless server asks for them each time. */
  rootsChanged(): void;
  /** Resolves when the server answers. */
  ping(options?: CallOptions): Promise<void>;
  /** Sends any request of the protocol or of an extension. The result is returned as the server sent it. */
  request<M extends keyof ClientRequests>(
    method: M,
    params?: Omit<ClientRequests[M]["params"], "_meta">,
    options?: RawRequestOptions,
  ): Promise<ClientRequests[M]["result"]>;
  request(method: string, params?: JsonObject, options?: RawRequestOptions): Promise<JsonObject>;
  /** Sends any notification. It is not answered. */
  notify(method: string, params?: JsonObject): void;
  /** Ends the connection. Pending calls reject with "connection-closed". */
  close(): Promise<void>;
}

/** The server's description of itself. */
export interface ServerProfile {
  /** The protocol version in use. */
  readonly version: string;
  /** In the stateless era each request describes its client; in the stateful era a handshake does. */
  readonly era: "stateless" | "stateful";
  readonly info?: Implementation | undefined;
  readonly capabilities: ServerCapabilities;
  readonly instructions?: string | undefined;
}
