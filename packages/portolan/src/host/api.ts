import type { Clock } from "../client/deadlines.ts";
import type { HttpAuth } from "../client/http/options.ts";
import type { CallOptions } from "../client/options.ts";
import type { JsonObject } from "../jsonrpc/message.ts";
import type { Model } from "../models/model.ts";
import type {
  CallToolResult,
  Completion,
  CompletionReference,
  GetPromptResult,
  Implementation,
  LogLevel,
  ReadResourceResult,
} from "../protocol/types/index.ts";
import type { KeyValue } from "../storage/storage.ts";
import type { ActivityLog } from "./activity/index.ts";
import type { Run, RunOptions, RunState, Task } from "./agent/run.ts";
import type { SamplingLimits } from "./answers/budget.ts";
import type { RootDefinition } from "./answers/roots.ts";
import type { CatalogView } from "./catalog/catalog.ts";
import type { OfferLimits } from "./catalog/load-lists.ts";
import type { ServerEntry, ServerSettings, Way } from "./entry.ts";
import type { EventFilter, HostEvent } from "./events.ts";
import type { ChangedDefinition, Grant, Rule } from "./policy/index.ts";
import type { HostAnswers, Question, TrustVerdict } from "./questions.ts";
import type { ServerStatus } from "./status.ts";

/** A server as an application names it: how it is reached, and what is to be known of it. */
export type ServerDefinition = Way & ServerSettings;

/** How servers may use the models. */
export interface SamplingOptions extends SamplingLimits {
  /** What the user looks at: what is asked and what is answered, unless said. */
  readonly review?: "both" | "request" | "none";
  /** Other settings for some servers. */
  readonly servers?: { readonly [server: string]: SamplingLimits & Pick<SamplingOptions, "review"> };
}

export interface HostOptions {
  /** By name; or as `readConfigs` gives them; or the path of a configuration file, which is read. */
  readonly servers?: { readonly [name: string]: ServerDefinition } | readonly ServerEntry[] | string;
  /** What answers; of several, each request of a server chooses. */
  readonly model?: Model | readonly Model[];
  /** The first rule that fits decides; what none fits is asked. */
  readonly policy?: readonly Rule[];
  /** How the user is asked. */
  readonly answers?: HostAnswers;
  /** The directories that servers may work in. */
  readonly roots?: readonly RootDefinition[];
  readonly sampling?: SamplingOptions;
  /** How many forms, addresses and wishes for roots a server may come with in a minute; 60 unless said. */
  readonly questionsPerMinute?: number;
  /** Keeps grants, accepted definitions and what servers offer; in memory unless said. */
  readonly storage?: { readonly kv: KeyValue };
  /** Whose host it is, where the storage is one for several users: nobody has what another was asked. */
  readonly account?: string;
  /** Where all that is done is written down; in memory unless said. */
  readonly activity?: ActivityLog;
  /** Who the host says it is. */
  readonly info?: Implementation;
  /** How requests to a server are authorized that its entry says nothing about: `oauth` of `portolan/auth/client`. */
  readonly auth?: (entry: ServerEntry) => HttpAuth | undefined;
  /** The fetch for an address that is not reached straight, such as by a proxy; undefined for one that is. */
  readonly via?: (url: URL) => typeof fetch | undefined;
  /** The least severe message that servers are to log; `info` unless said. */
  readonly logLevel?: LogLevel;
  readonly limits?: OfferLimits;
  /** How many servers may start at once; 8 unless said. */
  readonly startsAtOnce?: number;
  readonly clock?: Clock;
}

/** What was said so far, as far as consent needs to know. */
export interface Conversation {
  /** Servers whose words are in it, and are not to be trusted. */
  readonly contentFrom: Set<string>;
  /** Servers whose resources are in it. */
  readonly resourcesFrom: Set<string>;
}

export interface HostCallOptions extends Pick<CallOptions, "signal" | "onProgress" | "idleMs" | "totalMs" | "meta"> {
  /** Who wants it: what the user does by hand needs no second question, though a rule may forbid it. A model's wish unless said. */
  readonly by?: "user" | "model";
  /** The same for all calls of a conversation: notes whose words came in. Without it, nobody is asked because of them. */
  readonly conversation?: Conversation;
  /** Before those of the host. */
  readonly answers?: HostAnswers;
  /** The run that it is part of, and the call as the model names it. */
  readonly run?: string;
  readonly callId?: string;
}

/** How a completion is asked for. */
export interface CompleteOptions extends Pick<HostCallOptions, "signal"> {
  /** The values of the other arguments, as far as there are any. */
  readonly known?: { [name: string]: string };
}

/** How long servers are waited for. */
export interface ReadyOptions {
  /** 10 s unless said. */
  readonly withinMs?: number;
  readonly signal?: AbortSignal;
}

/** Many servers and one user in control of them. */
export interface Host extends AsyncDisposable {
  readonly servers: readonly ServerStatus[];
  readonly catalog: CatalogView;
  readonly activity: ActivityLog;
  /** The questions that wait for `answer`. */
  readonly questions: readonly Question[];
  readonly grants: { list(): readonly Grant[]; revoke(id: string): Promise<boolean> };
  /** Answers a question that waits, with an `AnswerOf` its kind; rejects what is none, and the question goes on waiting. */
  answer(id: string, answer: unknown): Promise<void>;
  events(filter?: EventFilter): AsyncIterableIterator<HostEvent>;
  /** Starts every server that may be started, and resolves when each is ready or has failed, or after a while. */
  ready(options?: ReadyOptions): Promise<readonly ServerStatus[]>;

  callTool(server: string, tool: string, args?: JsonObject, options?: HostCallOptions): Promise<CallToolResult>;
  readResource(server: string, uri: string, options?: HostCallOptions): Promise<ReadResourceResult>;
  getPrompt(
    server: string,
    name: string,
    args?: { [name: string]: string },
    options?: HostCallOptions,
  ): Promise<GetPromptResult>;
  complete(
    server: string,
    ref: CompletionReference,
    argument: { name: string; value: string },
    options?: CompleteOptions,
  ): Promise<Completion>;
  /** Tells of changes of a resource as events of the kind `resource`; undo by calling what it gives. */
  follow(server: string, uri: string): Promise<() => Promise<void>>;

  /** Has a model work on a prompt, or go on with what it has begun. */
  run(task: Task | RunState, options?: RunOptions): Run;

  add(name: string, server: ServerDefinition | ServerEntry): Promise<void>;
  remove(server: string): Promise<void>;
  /** Starts it now, however often it has failed. */
  start(server: string): Promise<ServerStatus>;
  stop(server: string): Promise<void>;
  /** Switches it off, or on again. */
  enable(server: string, isOn: boolean): Promise<void>;
  /** Decides whether it may be started. */
  trust(server: string, verdict: TrustVerdict | boolean): Promise<void>;
  /** Asks for a sign of life. */
  ping(server: string): Promise<{ readonly ms: number }>;
  setLogLevel(server: string, level: LogLevel): Promise<void>;
  /** Shows a tool to models, or hides it. */
  show(server: string, tool: string, isVisible: boolean): Promise<void>;
  /** The definitions that have changed since they were accepted. */
  changedDefinitions(): readonly (ChangedDefinition & { readonly server: string })[];
  /** Accepts a changed definition, exactly as `changedDefinitions` or an event has shown it. */
  accept(server: string, change: Pick<ChangedDefinition, "kind" | "name" | "digest">): Promise<void>;
  setRoots(roots: readonly RootDefinition[]): Promise<void>;
  /** Ends every server and every run. */
  close(): Promise<void>;
}
