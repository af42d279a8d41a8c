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
import type { ToolUi } from "../apps/app.ts";
import type { Context, RequestContext } from "../call/context.ts";
import type { ExplicitQuestions, Principal } from "../call/exchange.ts";
import type { TaskMode, TaskPlan } from "../tasks/definition.ts";

/** A whole tool result, for authors who write its content themselves. */
export interface FullResult<O> extends Omit<CallToolResult, "structuredContent"> {
  structuredContent?: O;
}

/** The return value of a tool: its structured value, a text, a whole result, questions, or nothing. */
export type ToolReturn<O> = O | FullResult<O> | ExplicitQuestions | ContentBlock[] | string | undefined;

/** Options of a feature for extensions, by their ids. */
export type ExtensionOptions = { readonly [id: string]: unknown };

interface Described {
  title?: string;
  description?: string;
  icons?: Icon[];
  /** Sent as `_meta` of the definition. */
  meta?: Meta;
  /** Hides the feature from callers of a view by returning false. Default: every caller sees it. */
  visibleTo?: (view: string) => boolean;
  /** Options for extensions of the server, by their ids. */
  extensions?: ExtensionOptions;
}

/** A tool: its schemas, its description, and the function that runs it. */
export interface ToolDefinition<I, O, App, A = I> extends Described {
  /** Describes and checks the arguments, and gives them their types. It must describe an object. Default: any arguments. */
  input?: Schema<I, A>;
  /** Describes and checks the structured content of the result. Default: none. */
  output?: Schema<O>;
  /** Hints for hosts, such as `readOnlyHint: true`. They are no promise. */
  annotations?: ToolAnnotations;
  /** Client capabilities that the tool needs. A call of a client that lacks one is refused before the tool runs. */
  needs?: ClientCapabilities;
  /**
   * How the handler waits for answers of a stateless client, which answers by calling again: it runs again from the top
   * (`replay`), or it stays in memory (`park`). Default: "replay".
   */
  asks?: "replay" | "park";
  /** The app that a host shows with the results. Only after `.extend(apps())` of `portolan/server/apps`. */
  ui?: ToolUi;
  /** How it runs as a task. Only after `.extend(tasks())` of `portolan/server/tasks`. */
  task?: TaskMode | TaskPlan<I, App>;
  /** Runs the tool. Throw a `ToolError` to tell the model what is wrong; other errors are masked. */
  run(args: I, context: Context<App>): MaybePromise<ToolReturn<NoInfer<O>>>;
}

/** The return value of `read`. Return `undefined` if the resource does not exist. */
export type ReadReturn =
  | string
  | Uint8Array
  | ResourceContents
  | ResourceContents[]
  | ReadResourceResult
  | ExplicitQuestions
  | undefined;

/**
 * Starts watching a resource and returns the function that stops it. Return `undefined` if the resource does not exist.
 * `values` are the variables that a template matched in the URI. `subscriber` is the first of the callers that share the
 * watch.
 */
export type ResourceWatcher = (
  uri: string,
  changed: (uri?: string) => void,
  values: TemplateValues,
  subscriber: { readonly principal: Principal },
) => MaybePromise<(() => void) | undefined>;

interface ReadableDefinition extends Described {
  name?: string;
  mimeType?: string;
  annotations?: Annotations;
  /** Lets clients cache what they read. Default: no caching. */
  cache?: CacheHints;
  /** Lets clients subscribe; report changes with `watch` or `publish`. Default: true if there is a `watch`. */
  subscribe?: boolean;
  /** Called for the first subscriber of a URI. The function it returns is called after the last subscriber has left. */
  watch?: ResourceWatcher;
}

/** A resource with a fixed URI. */
export interface ResourceDefinition<App> extends ReadableDefinition {
  /** Size of the content in bytes, for clients that show it. */
  size?: number;
  /** Returns the content: a text, bytes, contents with their own URIs, or a whole result; `undefined` if it does not exist. */
  read(context: Context<App>): MaybePromise<ReadReturn>;
}

/** The variables that a template matched in a URI. */
export type TemplateValues = { [name: string]: string | string[] };

/** Resources whose URIs follow an RFC 6570 template. */
export interface TemplateDefinition<App> extends ReadableDefinition {
  /** Returns the resources of this template that exist now, for `resources/list`. */
  list?(context: RequestContext<App>): MaybePromise<Resource[]>;
  /** Suggests values for a variable: a list, which is filtered by the typed text, or a function. Default: none. */
  complete?: { [variable: string]: Completer<App> };
  /** Returns the content of a URI; `undefined` if it does not exist. Clients choose the values: check them. */
  read(values: TemplateValues, context: Context<App>, uri: string): MaybePromise<ReadReturn>;
}

/** An argument of a prompt; its value is always a string. */
export interface ArgumentDefinition<App> {
  /** A name for people. Default: the name of the argument. */
  title?: string;
  /** The purpose of the argument. */
  description?: string;
  /** Refuses a request without this argument. Default: false. */
  required?: boolean;
  /** Suggests values: a list, which is filtered by the typed text, or a function. Default: none. */
  complete?: Completer<App>;
}

/** The arguments that `get` of a prompt receives: a string if required, otherwise a string or undefined. */
export type PromptArguments<A> = { [K in keyof A]: A[K] extends { required: true } ? string : string | undefined };

/** A prompt: a function that makes messages from arguments. */
export interface PromptDefinition<A, App> extends Described {
  // The intersection gives the parameters of completers their types.
  /** The arguments by name. Their values are strings. Default: none. */
  arguments?: A & { [name: string]: ArgumentDefinition<App> };
  /** Returns a text, messages, or a whole result. */
  get(args: PromptArguments<A>, context: Context<App>): MaybePromise<PromptReturn>;
}

/** The return value of `get`: a text of the user, messages, a whole result, or questions. */
export type PromptReturn = string | PromptMessage[] | GetPromptResult | ExplicitQuestions;

/** Suggestions for a value: a list that is filtered by the typed prefix, or a function. */
export type Completer<App> =
  | readonly string[]
  | ((
      value: string,
      known: { [name: string]: string },
      context: RequestContext<App>,
    ) => MaybePromise<string[] | Completion>);

/** Options of `createServer`. */
export interface ServerOptions<App> {
  /** Tells models how to use the server as a whole. */
  instructions?: string;
  /** Features on one page of a list. Default: 1,000, because many clients read the first page only. */
  pageSize?: number;
  /** Lets clients cache lists. Default: no caching. */
  cache?: CacheHints;
  /** Lets handlers send log messages. Default: true if the server has features. */
  logging?: boolean;
  /** Returns the name of the caller's view, which `visibleTo` of the features gets. Keep the number of views small. */
  view?: (principal: Principal) => string;
  /** Makes the value of `ctx.app`, on first use in each request. */
  app?: (request: { principal: Principal; meta: JsonObject | undefined }) => App;
  /**
   * Keys that seal the state which clients carry between rounds of questions, at least 32 characters each. The first one
   * seals, all of them open. Default: a key that is kept in the `storage`; without a storage a random one, so that several
   * processes need one of the two.
   */
  secrets?: readonly string[];
  /** Keeps states that are too long for clients to carry. Default: the storage of `serveHttp`, or memory. */
  storage?: Storage;
  /** Time in which a question may be answered. Default: one hour, in a parked handler ten minutes. */
  questionTtlMs?: number;
  /**
   * Starts without features that are invalid, and reports each of them to `onError`. For servers that offer the features of
   * another server; their patterns are not judged. Default: false; the server does not start.
   */
  leaveOutInvalid?: boolean;
  /** Receives every error that is masked for the peer. Default: prints it to stderr. */
  onError?: (error: unknown, about: ErrorReport) => void;
}

/** The origin of an error. */
export interface ErrorReport {
  method?: string;
  /** The tool or prompt that the request names, or the URI of its resource. At most 200 characters. */
  name?: string | undefined;
  /** The key of the principal that sent the request. */
  principal?: string;
  /** The caller whose limits the request uses, over HTTP: `principal …`, `caller …` or `address …`. */
  caller?: string | undefined;
  /** The reference that the peer got instead of the error, so that a report of a user can be found in the log. */
  reference?: string;
  /** Failures of the same kind since the last report, if they are reported together: those of the storage. */
  count?: number;
}

/** The identity of a server, as every client sees it. */
export type ServerInfo = Implementation;
