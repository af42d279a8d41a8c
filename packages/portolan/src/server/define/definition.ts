import type { MaybePromise } from "../../async.ts";
import type { JsonObject } from "../../jsonrpc/message.ts";
import type {
  Annotations,
  CacheHints,
  CallToolResult,
  ClientCapabilities,
  Completion,
  ContentBlock,
  GetPromptResult,
  Icon,
  Implementation,
  Meta,
  PromptMessage,
  ReadResourceResult,
  Resource,
  ResourceContents,
  ToolAnnotations,
} from "../../protocol/types/index.ts";
import type { Schema } from "../../schema/infer.ts";
import type { Storage } from "../../storage/storage.ts";
import type { Context, RequestContext } from "../call/context.ts";
import type { ExplicitQuestions, Principal } from "../call/exchange.ts";

/** A whole tool result, for authors who write its content themselves. */
export interface FullResult<O> extends Omit<CallToolResult, "structuredContent"> {
  structuredContent?: O;
}

/** What a tool may return: its structured value, a text, a whole result, questions, or nothing. */
export type ToolReturn<O> = O | FullResult<O> | ExplicitQuestions | ContentBlock[] | string | undefined;

interface Described {
  title?: string;
  description?: string;
  icons?: Icon[];
  /** Sent as `_meta` of the definition. */
  meta?: Meta;
  /** Whether callers of a view see it at all; absent means everybody does. */
  visibleTo?: (view: string) => boolean;
}

/** A tool: what it takes, what it gives, and what it does. */
export interface ToolDefinition<I, O, App, A = I> extends Described {
  input?: Schema<I, A>;
  output?: Schema<O>;
  annotations?: ToolAnnotations;
  /** Client capabilities without which the tool is refused before it runs. */
  needs?: ClientCapabilities;
  /** How its questions wait where a client answers by calling again; `replay` unless said otherwise. */
  asks?: "replay" | "park";
  run(args: I, context: Context<App>): MaybePromise<ToolReturn<NoInfer<O>>>;
}

/** What reading a resource may return; undefined means that there is no such resource. */
export type ReadReturn =
  | string
  | Uint8Array
  | ResourceContents
  | ResourceContents[]
  | ReadResourceResult
  | ExplicitQuestions
  | undefined;

/**
 * Starts watching a resource and returns how to stop; undefined means that there is no such resource. `values` are what
 * a template found in the URI.
 */
export type ResourceWatcher = (
  uri: string,
  changed: (uri?: string) => void,
  values: TemplateValues,
) => MaybePromise<(() => void) | undefined>;

interface ReadableDefinition extends Described {
  name?: string;
  mimeType?: string;
  annotations?: Annotations;
  /** How long and by whom a read may be kept; nobody keeps anything unless said. */
  cache?: CacheHints;
  /** Clients may subscribe; changes come from `watch` or from `publish`. */
  subscribe?: boolean;
  /** Called for the first subscriber of a URI; what it returns is called after the last one left. */
  watch?: ResourceWatcher;
}

/** A resource with a fixed URI. */
export interface ResourceDefinition<App> extends ReadableDefinition {
  size?: number;
  read(context: Context<App>): MaybePromise<ReadReturn>;
}

/** The variables of a URI as the template found them. */
export type TemplateValues = { [name: string]: string | string[] };

/** Resources whose URIs follow an RFC 6570 template. */
export interface TemplateDefinition<App> extends ReadableDefinition {
  /** The resources of this template that exist now, for `resources/list`. */
  list?(context: RequestContext<App>): MaybePromise<Resource[]>;
  complete?: { [variable: string]: Completer<App> };
  read(values: TemplateValues, context: Context<App>, uri: string): MaybePromise<ReadReturn>;
}

/** An argument of a prompt; its value is always a string. */
export interface ArgumentDefinition<App> {
  title?: string;
  description?: string;
  required?: boolean;
  complete?: Completer<App>;
}

/** The arguments a prompt's `get` receives: a string where required, maybe none elsewhere. */
export type PromptArguments<A> = { [K in keyof A]: A[K] extends { required: true } ? string : string | undefined };

/** A prompt: messages made from arguments. */
export interface PromptDefinition<A, App> extends Described {
  // The second part gives the parameters of completers their types.
  arguments?: A & { [name: string]: ArgumentDefinition<App> };
  get(args: PromptArguments<A>, context: Context<App>): MaybePromise<PromptReturn>;
}

export type PromptReturn = string | PromptMessage[] | GetPromptResult | ExplicitQuestions;

/** Suggestions for a value: a list to filter by what was typed, or a function. */
export type Completer<App> =
  | readonly string[]
  | ((
      value: string,
      known: { [name: string]: string },
      context: RequestContext<App>,
    ) => MaybePromise<string[] | Completion>);

/** What a server is told once, when it is defined. */
export interface ServerOptions<App> {
  instructions?: string;
  /** How many features a list page holds; 1,000 unless said otherwise, because many clients read one page only. */
  pageSize?: number;
  /** How long and by whom lists may be kept; not at all unless said. */
  cache?: CacheHints;
  /** Whether handlers may send log messages; true unless said otherwise. */
  logging?: boolean;
  /** The view of a caller: which features it sees. Keep the number of views small. */
  view?: (principal: Principal) => string;
  /** What handlers find as `ctx.app`; made on first use in each request. */
  app?: (request: { principal: Principal; meta: JsonObject | undefined }) => App;
  /** Keys for what clients carry for the server; the first one seals, all of them open. Needed by several processes. */
  secrets?: readonly string[];
  storage?: Storage;
  /** How long a question may wait for its answer; one hour unless said otherwise, ten minutes in a parked handler. */
  questionTtlMs?: number;
  /** Hears every error that is masked for the peer; prints to stderr unless said otherwise. */
  onError?: (error: unknown, about: ErrorReport) => void;
}

/** Where an error came from. */
export interface ErrorReport {
  method?: string;
  /** What the peer was told instead, so that its report can be found in the log. */
  reference?: string;
}

/** The identity of a server, as every client sees it. */
export type ServerInfo = Implementation;
