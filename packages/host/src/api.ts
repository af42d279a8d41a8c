import type {
  CallToolResult,
  Completion,
  CompletionReference,
  GetPromptResult,
  Implementation,
  JsonObject,
  LogLevel,
  PortolanErrorCode,
  ReadResourceResult,
} from "portolan";
import type {
  CallOptions,
  Change,
  ClientExtension,
  Clock,
  HttpAuth,
  Progress,
  RequestObserver,
  ServerProfile,
  TapEvent,
  ToolCallOptions,
} from "portolan/client";
import type { KeyValue } from "portolan/storage";
import type { ActivityLog } from "./activity/index.ts";
import type { SeenResult } from "./agent/present.ts";
import type { PresentOptions } from "./agent/preview.ts";
import type { Run, RunInput, RunOptions, RunPreview, RunState } from "./agent/run.ts";
import type { RootDefinition } from "./answers/forms.ts";
import type { SamplingLimits } from "./answers/sampling-budget.ts";
import type { SamplingFailure } from "./answers/server-answers.ts";
import type { CatalogView } from "./catalog/catalog.ts";
import type { FeatureKind, FeatureLimits, ListProblem } from "./catalog/load-lists.ts";
import type { TrustSubject } from "./config/index.ts";
import { Feed } from "./feed.ts";
import type { Model } from "./models/model.ts";
import type { OpenConnectionOptions, OpenedConnection } from "./opened-connections.ts";
import type { EntrySource, ServerEntry, ServerSettings, ServerTarget } from "./options.ts";
import type { ChangedDefinition, Grant, GrantChange, Rule } from "./policy/index.ts";
import type { AnswerOptions, AnswerReceipt, HostAnswers, HostQuestion, TrustVerdict } from "./questions.ts";
import type { HostSkills } from "./skills/skills.ts";
import type { HostTask, HostTasks, HostTasksOptions } from "./tasks/tasks.ts";

/** One server as an application defines it: how to reach it, and its settings. */
export type ServerDefinition = ServerTarget & ServerSettings;

/** Limits and review for servers that ask for a model's answer (sampling). */
export interface SamplingOptions extends SamplingLimits {
  /** Parts that the user reviews: the request and the answer, only the request, or none. Default: "both". */
  readonly review?: "both" | "request" | "none";
  /** Other limits or another review for single servers, by name. */
  readonly servers?: { readonly [server: string]: SamplingLimits & Pick<SamplingOptions, "review"> };
}

/** Options of `createHost`. */
export interface HostOptions {
  /** Servers by name, entries from `readConfigs`, or the path of a configuration file to read. */
  readonly servers?: { readonly [name: string]: ServerDefinition } | readonly ServerEntry[] | string;
  /** The model for runs and sampling. With several, each sampling request chooses one by its preferences. */
  readonly model?: Model | readonly Model[];
  /** The first rule that matches decides. Without a match the user is asked. */
  readonly policy?: readonly Rule[];
  /** Callbacks that answer questions on the user's behalf. */
  readonly answers?: HostAnswers;
  /** Directories that servers may work in. */
  readonly roots?: readonly RootDefinition[];
  /** Limits of what servers may ask of the model. Default: those of each member. */
  readonly sampling?: SamplingOptions;
  /** Forms, addresses and root lists that one server may ask for in a minute. Default: 60. */
  readonly questionsPerMinute?: number;
  /** Stores grants, accepted definitions and lists of features. Default: in memory. */
  readonly storage?: { readonly kv: KeyValue };
  /** The user of this host, where several users share one storage. Each account has its own grants and pins. */
  readonly account?: string;
  /** The log of all calls and decisions. Default: in memory. */
  readonly activity?: ActivityLog;
  /** Name and version that the host sends to servers. */
  readonly info?: Implementation;
  /** Returns the authorization for an entry that has none of its own, such as `oauth` of `portolan/auth/client`. */
  readonly auth?: (entry: ServerEntry) => HttpAuth | undefined;
  /** Returns the `fetch` for an address that needs a proxy; undefined for a direct connection. */
  readonly via?: (url: URL) => typeof fetch | undefined;
  /** Is told of every request to every server, such as `traceClient()` of `portolan/otel`. Default: none. */
  readonly observer?: RequestObserver;
  /**
   * Hears every message and HTTP exchange with every server. `connection` is "main" for the host's own connection, otherwise
   * the id of an opened one. Events of a call have its id as `call`. Default: none, which costs nothing.
   */
  readonly tap?: (server: string, connection: string, event: TapEvent) => void;
  /** Additions to the protocol, spoken with every server that has them. Default: none. */
  readonly extensions?: readonly ClientExtension[];
  /** Lets tools run as tasks, which outlive their connection and this process. Default: false. */
  readonly tasks?: boolean | HostTasksOptions;
  /** The least severe level that servers log. Default: "info". */
  readonly logLevel?: LogLevel;
  /** Limits of what is read of the lists of a server. Default: those of each member. */
  readonly limits?: FeatureLimits;
  /** Servers that may start at the same time. Default: 8. */
  readonly startsAtOnce?: number;
  /**
   * A connected server that was not heard from for this long is asked whether it still answers; over stateless HTTP there
   * is no connection to ask about. 0 turns it off. Default: 30 seconds.
   */
  readonly pingMs?: number;
  /** The time, for tests. Default: the clock of the system. */
  readonly clock?: Clock;
}

/** The origins of what is in a conversation, which consent depends on. */
export interface ContentOrigins {
  /** Servers whose untrusted content is in the conversation. */
  readonly contentFrom: Set<string>;
  /** Servers whose resources are in the conversation. */
  readonly resourcesFrom: Set<string>;
  /** Servers whose skills the conversation acts on. They cause no reads from other servers without a question. */
  readonly skillsFrom?: Set<string>;
}

/** Options of a call through a host. */
export interface HostCallOptions
  extends Pick<CallOptions, "signal" | "onProgress" | "idleMs" | "totalMs" | "meta">,
    Pick<ToolCallOptions, "output" | "onOutputProblems"> {
  /**
   * The initiator of the call. A call by the user is not asked about again, but a rule may still deny it. The model and
   * the apps of a server call only the tools that the server has for them. Default: "model".
   */
  readonly by?: "user" | "model" | "app";
  /**
   * Shared by all calls of one conversation; collects the servers whose content entered it. Without it, content causes
   * no questions.
   */
  readonly conversation?: ContentOrigins;
  /** Answers that come before those of the host. */
  readonly answers?: HostAnswers;
  /** The run that makes the call, and the model's id of the call. */
  readonly run?: string;
  /** The model's id of the call. */
  readonly callId?: string;
  /** Awaited after the consent, before the call is sent. If it rejects, the call is not sent. */
  readonly beforeSend?: () => Promise<void>;
  /** True if the same call was sent before and its end is not known. The user is asked even if a rule or a grant allows it. */
  readonly mayHaveRun?: boolean;
  /**
   * The arguments of a tool as the text of one JSON object, sent as it is: numbers keep all their digits. Only for calls by the
   * user, and instead of the argument `args`.
   */
  readonly argumentsText?: string;
}

/** Options of `host.complete`. */
export interface CompleteOptions extends Pick<HostCallOptions, "signal"> {
  /** Values of the other arguments that are already filled in. */
  readonly known?: { [name: string]: string };
}

/** Options of `host.ready`. */
export interface ReadyOptions {
  /** Default: 10 seconds. */
  readonly withinMs?: number;
  /** Ends the wait. */
  readonly signal?: AbortSignal;
}

/** Several servers under the control of one user. */
export interface Host extends AsyncDisposable {
  /** The state of each server. */
  readonly servers: readonly ServerStatus[];
  /** The features of all servers. */
  readonly catalog: CatalogView;
  /** The log of decisions and calls. */
  readonly activity: ActivityLog;
  /** Questions that wait for `host.answer`. */
  readonly questions: readonly HostQuestion[];
  /** The skills of the servers. */
  readonly skills: HostSkills;
  /** What the user has allowed until it is revoked. */
  readonly grants: {
    list(): readonly Grant[];
    revoke(id: string): Promise<boolean>;
    /** Undoes a `revoke` of this process. Resolves to false where that is not possible any more. */
    restore(id: string): Promise<boolean>;
  };
  /** Tool calls that go on as tasks; only with `createHost({ tasks: true })`. */
  readonly tasks: HostTasks;
  /**
   * Answers a waiting question with an `AnswerOf` its kind. Rejects an invalid answer, and one for another digest; the
   * question then keeps waiting. Resolves, and the call goes on, when the decision is in the log.
   */
  answer(id: string, answer: unknown, options?: AnswerOptions): Promise<AnswerReceipt>;
  /** Calls that have begun and not ended, also those that wait for consent. */
  readonly calls: readonly RunningCall[];
  /**
   * Ends a running call, whoever made it. Its caller hears that it was cancelled by the user. Returns false if no call with
   * this id is running.
   */
  cancel(call: string, reason?: string): boolean;
  /** Iterates over everything that a user interface shows. Each reader has a limited buffer. */
  events(filter?: EventFilter): AsyncIterableIterator<HostEvent>;
  /**
   * Starts every trusted server. Resolves when each is ready or has failed, at the latest `withinMs` after the user has
   * answered whether they may start.
   */
  ready(options?: ReadyOptions): Promise<readonly ServerStatus[]>;

  /** Calls a tool, with the same rules, consent and log as a call of a model. A server that is not running starts first. */
  callTool(server: string, tool: string, args?: JsonObject, options?: HostCallOptions): Promise<CallToolResult>;
  /** Reads a resource. A server that is not running starts first. */
  readResource(server: string, uri: string, options?: HostCallOptions): Promise<ReadResourceResult>;
  /** Gets the messages of a prompt. Its arguments are strings. */
  getPrompt(
    server: string,
    name: string,
    args?: { [name: string]: string },
    options?: HostCallOptions,
  ): Promise<GetPromptResult>;
  /** Suggests values for an argument of a prompt or a variable of a template. */
  complete(
    server: string,
    ref: CompletionReference,
    argument: { name: string; value: string },
    options?: CompleteOptions,
  ): Promise<Completion>;
  /** Subscribes to a resource: changes arrive as events of kind `resource`. Returns the function that ends it. */
  follow(server: string, uri: string): Promise<() => Promise<void>>;

  /** Starts an agent run for the input of a user, or continues a run from its state. */
  run(input: RunInput | RunState, options?: RunOptions): Run;
  /**
   * Returns the first request of a run, as far as it is known now. Starts no server, contacts none and changes nothing;
   * `leftOut` says what is missing.
   */
  preview(input: RunInput, options?: RunOptions): Promise<RunPreview>;
  /** Returns what a model gets of a result in a run. */
  present(result: CallToolResult, options?: PresentOptions): SeenResult;
  /** The models for runs and sampling. The first one is the default of runs. */
  readonly models: readonly Model[];
  /**
   * Replaces the models. A run keeps the model that it began with. A server that connected while there was no model asks
   * for sampling only after it has connected again.
   */
  setModels(models: readonly Model[]): void;

  /** Adds a server. */
  add(name: string, server: ServerDefinition | ServerEntry): Promise<void>;
  /** Removes a server and ends its calls. */
  remove(server: string): Promise<void>;
  /**
   * Replaces the configuration of a server. It keeps its name, its place, and what the user switched on and off; its running
   * calls fail. Grants and trust hold as far as the configuration that they are bound to is the same.
   */
  replace(name: string, server: ServerDefinition | ServerEntry): Promise<void>;
  /** Starts the server now, without waiting for the next retry. */
  start(server: string): Promise<ServerStatus>;
  /** Stops a server. It starts again when a call needs it. */
  stop(server: string): Promise<void>;
  /** Switches the server on or off. */
  enable(server: string, isOn: boolean): Promise<void>;
  /**
   * Returns true if the user has agreed to exactly this configuration, or the application defines the server. The state
   * does not tell: a server that is disabled or misconfigured may be untrusted, too.
   */
  isTrusted(server: string): boolean;
  /** Returns the facts that a trust decision is about, and what changed since the last one. */
  trustSubject(server: string): TrustSubject;
  /** Decides whether the server may be started. */
  trust(server: string, verdict: TrustVerdict | boolean): Promise<void>;
  /** Measures the time of one ping. */
  ping(server: string): Promise<{ readonly ms: number }>;
  /** Sets the least severe log message of a server. */
  setLogLevel(server: string, level: LogLevel): Promise<void>;
  /** Shows a tool to models, or hides it. */
  show(server: string, tool: string, isVisible: boolean): Promise<void>;
  /** Definitions that changed since they were accepted. */
  changedDefinitions(): readonly (ChangedDefinition & { readonly server: string })[];
  /** Accepts a changed definition, exactly as `changedDefinitions` or an event showed it. */
  accept(server: string, change: Pick<ChangedDefinition, "kind" | "name" | "digest">): Promise<void>;
  /** Replaces the directories that servers may work in, and informs the servers. */
  setRoots(roots: readonly RootDefinition[]): Promise<void>;
  /** The directories that servers may work in, as they were set. */
  readonly roots: readonly RootDefinition[];
  /**
   * Opens a connection of its own to a server, such as one on another revision, under the same trust and authorization. It
   * ends with the host, and when the server is removed, disabled or no longer trusted. At most 64.
   */
  open(server: string, options?: OpenConnectionOptions): Promise<OpenedConnection>;
  /** Stops every run and every server. Tasks go on: a host with the same storage follows them again. */
  close(): Promise<void>;
}

/** Something that a user interface may show. */
export type HostEvent =
  | { readonly kind: "server"; readonly server: string; readonly status: ServerStatus }
  /** The list of a server's features changed. */
  | { readonly kind: "catalog"; readonly server: string; readonly changed: FeatureKind }
  /** A definition changed since it was accepted. It cannot be used until it is accepted again. */
  | { readonly kind: "definition"; readonly server: string; readonly change: ChangedDefinition }
  | { readonly kind: "resource"; readonly server: string; readonly uri: string }
  /** A call begins. It may still wait for its server and for consent. */
  | ({ readonly kind: "call" } & RunningCall)
  | {
      readonly kind: "progress";
      readonly server: string;
      readonly id: string;
      readonly name: string;
      readonly progress: Progress;
    }
  /** A call ended. */
  | {
      readonly kind: "ended";
      readonly server: string;
      readonly id: string;
      readonly what: RunningCall["what"];
      readonly name: string;
      readonly by: RunningCall["by"];
      readonly app?: RunningCall["app"];
      readonly callId?: string;
      /** "refused": a rule or the user did not allow it, so it was not sent. */
      readonly how: "done" | "failed" | "cancelled" | "refused";
      /** Milliseconds since it was sent; 0 if it was not sent. */
      readonly ms: number;
      /** Why it has no result, as a sentence. */
      readonly error?: string;
    }
  | {
      readonly kind: "log";
      readonly server: string;
      readonly level: LogLevel;
      readonly logger?: string;
      readonly data: unknown;
    }
  /** A call has become a task, or its task has changed or ended. */
  | {
      readonly kind: "task";
      readonly server: string;
      readonly how: "created" | "changed" | "ended";
      readonly task: HostTask;
    }
  | { readonly kind: "stderr"; readonly server: string; readonly line: string }
  | { readonly kind: "question"; readonly server: string; readonly question: HostQuestion }
  /** A question no longer needs an answer. */
  | {
      readonly kind: "answered";
      readonly server: string;
      readonly question: HostQuestion;
      readonly how: "answered" | "withdrawn";
      /** The name that `host.answer` was given. */
      readonly by?: string;
      /** The answer in a few words for a person, such as "Allowed once". */
      readonly summary?: string;
      /** The id of the grant that the answer made. */
      readonly grant?: string;
    }
  /** A grant was added or revoked in this process, or has decided an action. */
  | { readonly kind: "grant"; readonly server: string; readonly grant: Grant; readonly how: GrantChange }
  /** This process has written to the activity log; `seq` is the number of the newest entry. */
  | { readonly kind: "activity"; readonly server: ""; readonly seq: number }
  /** The directories that servers may work in have changed. */
  | { readonly kind: "roots"; readonly server: "" }
  /**
   * The user has finished at an address that the question `question` was about, as the server says, or the call of the
   * question has ended.
   */
  | { readonly kind: "visited"; readonly server: string; readonly question: string }
  /** A model failed instead of answering a request of a server (sampling). The server does not get the reason. */
  | ({ readonly kind: "model-failed" } & SamplingFailure)
  /** A problem that made no call fail. */
  | { readonly kind: "warning"; readonly server: string; readonly message: string }
  /** The application replaced the models. */
  | { readonly kind: "models"; readonly server: "" }
  /** The reader was too slow, and this many events were dropped. */
  | { readonly kind: "lost"; readonly server: ""; readonly count: number };

/** The kind of an event, for a filter. */
export type HostEventKind = HostEvent["kind"];

/** A call that has begun and not ended. */
export interface RunningCall {
  /** The same in its events, in its questions and in the activity log. */
  readonly id: string;
  readonly server: string;
  readonly what: "tool" | "resource" | "prompt";
  /** Name of the tool or prompt, or the address of the resource. */
  readonly name: string;
  readonly by: "user" | "model" | "app";
  /** The URI of the app that offers the tool, and not the server itself. */
  readonly app?: string;
  readonly args?: JsonObject;
  /** The arguments of a tool call exactly as they are sent. */
  readonly argumentsText?: string;
  readonly run?: string;
  /** The model's id of the call. */
  readonly callId?: string;
  /** Milliseconds since 1970. */
  readonly startedAt: number;
}

/** The events to read. Default: all. */
export interface EventFilter {
  readonly kinds?: readonly HostEventKind[];
  readonly server?: string;
}

export function createHostFeed(onReaders: (hasReaders: boolean) => void): Feed<HostEvent> {
  return new Feed<HostEvent>({
    onReaders,
    keyOf(event) {
      if (event.kind === "progress") return `progress ${event.id}`;
      if (event.kind === "server") return `server ${event.server}`;
      if (event.kind === "task") return `task ${event.task.id}`;
      if (event.kind === "activity" || event.kind === "roots") return event.kind;
      if (event.kind === "grant" && event.how === "used") return `grant used ${event.grant.id}`;
      if (event.kind === "catalog") return `catalog ${event.server} ${event.changed}`;
      return event.kind === "resource" ? `resource ${event.server} ${event.uri}` : undefined;
    },
    lost: (count) => ({ kind: "lost", server: "", count }),
    sizeOf: sizeOfEvent,
  });
}

/** Returns about how many characters an event occupies. */
function sizeOfEvent(event: HostEvent): number {
  switch (event.kind) {
    case "log":
      return typeof event.data === "string" ? event.data.length : charsOf(event.data);
    case "stderr":
      return event.line.length;
    case "warning":
    case "model-failed":
      return event.message.length;
    case "progress":
      return event.progress.message?.length ?? 0;
    case "server":
      return event.status.stderr?.length ?? 0;
    case "task":
      return event.task.message?.length ?? 0;
    case "definition":
      return charsOf(event.change);
    case "grant":
      return charsOf(event.grant);
    case "call":
      return (event.argumentsText ?? "").length * 2;
    case "ended":
      return event.error?.length ?? 0;
    case "question":
    case "answered":
      return charsOf(event.question);
    default:
      return 0;
  }
}

/** Returns the length of a value as JSON; 0 for one that cannot be written. */
export function charsOf(value: unknown): number {
  try {
    return JSON.stringify(value)?.length ?? 0;
  } catch {
    return 0;
  }
}

/** Returns the test of whether an event passes a filter. */
export function createEventFilter({ kinds, server }: EventFilter): (event: HostEvent) => boolean {
  const set = kinds && new Set<string>(kinds);
  return (event) => (set?.has(event.kind) ?? true) && (server === undefined || event.server === server);
}

/** Returns the lists that a change affects; undefined for a change of one resource or of an extension. */
export function changedFeatures(change: Change): FeatureKind | undefined {
  return change.kind === "resource" || change.kind === "extension" ? undefined : change.kind;
}

/** The state of one server. */
export type ServerState =
  /** Switched off by the configuration or by the user. */
  | "disabled"
  /** Its entry is invalid; `reason` says why. */
  | "misconfigured"
  /** The user has not agreed to start it. */
  | "untrusted"
  /** Starts when a call needs it. */
  | "idle"
  | "starting"
  | "ready"
  /** Connected, but the last ping was not answered. Its calls are still sent. */
  | "unresponsive"
  /** The last start or connection failed. Calls fail at once until the next retry. */
  | "down"
  /** The user must sign in first. */
  | "login"
  /** Removed, or the host is closed. */
  | "closed";

/** One server as a user interface shows it. */
export interface ServerStatus {
  readonly name: string;
  readonly state: ServerState;
  readonly source: EntrySource;
  /** The reason of the state, and the next step where there is one. */
  readonly reason?: string;
  /** The code of the failure that led to the state. */
  readonly code?: PortolanErrorCode;
  /** The name, version and capabilities of the connected server. */
  readonly profile?: ServerProfile;
  readonly pid?: number;
  /** The end of its standard error output. */
  readonly stderr?: string;
  /** Duration of the last start. */
  readonly startMs?: number;
  /** Restarts after a lost connection. */
  readonly restarts: number;
  /** Milliseconds until the next retry. */
  readonly retryInMs?: number;
  /** Lists of the connected server that were not read completely. */
  readonly listProblems?: readonly ListProblem[];
  /** True for a starting server that runs no longer wait for. It takes part as soon as it is ready. */
  readonly isOverdue?: boolean;
  /** True for an untrusted server that the user trusted before, with another configuration. */
  readonly isChanged?: boolean;
}

/** Returns the reason of a state, and the next step for an untrusted server. */
export function reasonOf({ state, reason }: Pick<ServerStatus, "state" | "reason">): string | undefined {
  if (reason !== undefined || state !== "untrusted") return reason;
  return "the user has not agreed to start it: give the host `answers.trust`, or call `host.trust`";
}

/** Explains why a server is not part of a run; without a status it does not exist. */
export function explainAbsence(name: string, status?: ServerStatus): string {
  if (!status) return `${name} is not used: there is no such server`;
  if (status.state === "starting") return `${name} is not used yet: it is still starting`;
  const why = reasonOf(status);
  return `${name} is not used: it is ${status.state}${why === undefined ? "" : `, ${why}`}`;
}
