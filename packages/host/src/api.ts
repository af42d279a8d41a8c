import type {
  CallToolResult,
  Completion,
  CompletionReference,
  GetPromptResult,
  Implementation,
  JsonObject,
  LogLevel,
  ReadResourceResult,
} from "portolan";
import type { CallOptions, Change, Clock, HttpAuth, Progress, ServerProfile } from "portolan/client";
import type { KeyValue } from "portolan/storage";
import type { ActivityLog } from "./activity/index.ts";
import type { Run, RunInput, RunOptions, RunState } from "./agent/run.ts";
import type { RootDefinition } from "./answers/forms.ts";
import type { SamplingLimits } from "./answers/sampling.ts";
import type { CatalogView } from "./catalog/catalog.ts";
import type { FeatureKind, FeatureLimits } from "./catalog/load-lists.ts";
import { Feed } from "./feed.ts";
import type { Model } from "./models/model.ts";
import type { ServerEntry, ServerSettings, ServerTarget, Source } from "./options.ts";
import type { ChangedDefinition, Grant, Rule } from "./policy/index.ts";
import type { HostAnswers, HostQuestion, TrustVerdict } from "./questions.ts";

/** A server as an application names it: how it is reached, and what is to be known of it. */
export type ServerDefinition = ServerTarget & ServerSettings;

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
  readonly limits?: FeatureLimits;
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
  readonly questions: readonly HostQuestion[];
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
  run(task: RunInput | RunState, options?: RunOptions): Run;

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

/** Something that an interface may want to show. */
export type HostEvent =
  | { readonly kind: "server"; readonly server: string; readonly status: ServerStatus }
  /** What a server offers is another now. */
  | { readonly kind: "catalog"; readonly server: string; readonly changed: FeatureKind }
  /** A definition has changed since it was accepted, and cannot be used until it is again. */
  | { readonly kind: "definition"; readonly server: string; readonly change: ChangedDefinition }
  | { readonly kind: "resource"; readonly server: string; readonly uri: string }
  | {
      readonly kind: "call";
      readonly server: string;
      readonly id: string;
      readonly name: string;
      readonly run?: string;
    }
  | {
      readonly kind: "progress";
      readonly server: string;
      readonly id: string;
      readonly name: string;
      readonly progress: Progress;
    }
  /** A call has ended in one way or another. */
  | {
      readonly kind: "ended";
      readonly server: string;
      readonly id: string;
      readonly name: string;
      readonly how: "done" | "failed" | "cancelled";
      readonly ms: number;
    }
  | {
      readonly kind: "log";
      readonly server: string;
      readonly level: LogLevel;
      readonly logger?: string;
      readonly data: unknown;
    }
  | { readonly kind: "stderr"; readonly server: string; readonly line: string }
  | { readonly kind: "question"; readonly server: string; readonly question: HostQuestion }
  /** A question needs no answer any more. */
  | { readonly kind: "answered"; readonly server: string; readonly question: HostQuestion }
  /** Something odd that failed no call. */
  | { readonly kind: "warning"; readonly server: string; readonly message: string }
  /** So many events were not kept for a reader that was too slow. */
  | { readonly kind: "lost"; readonly server: ""; readonly count: number };

export type HostEventKind = HostEvent["kind"];

/** Which events to hear of; all unless said. */
export interface EventFilter {
  readonly kinds?: readonly HostEventKind[];
  readonly server?: string;
}

export function createHostFeed(): Feed<HostEvent> {
  return new Feed<HostEvent>({
    keyOf(event) {
      if (event.kind === "progress") return `progress ${event.id}`;
      if (event.kind === "server") return `server ${event.server}`;
      if (event.kind === "catalog") return `catalog ${event.server} ${event.changed}`;
      return event.kind === "resource" ? `resource ${event.server} ${event.uri}` : undefined;
    },
    lost: (count) => ({ kind: "lost", server: "", count }),
  });
}

/** Whether an event is wanted. */
export function createEventFilter({ kinds, server }: EventFilter): (event: HostEvent) => boolean {
  const set = kinds && new Set<string>(kinds);
  return (event) => (set?.has(event.kind) ?? true) && (server === undefined || event.server === server);
}

/** The kinds of lists that a change is about. */
export function changedFeatures(change: Change): FeatureKind | undefined {
  return change.kind === "resource" ? undefined : change.kind;
}

/** What a server is doing, as far as its user is concerned. */
export type ServerState =
  /** Switched off by the configuration or the user. */
  | "disabled"
  /** Its entry cannot be used as it is. */
  | "misconfigured"
  /** Nobody has said yet that it may be started. */
  | "untrusted"
  /** It will be started when it is needed. */
  | "idle"
  | "starting"
  | "ready"
  /** It failed: calls fail at once until it is tried again. */
  | "down"
  /** Somebody must sign in first. */
  | "login"
  /** It was removed, or the host is closed. */
  | "closed";

/** A server as an interface shows it. */
export interface ServerStatus {
  readonly name: string;
  readonly state: ServerState;
  readonly source: Source;
  /** Why it is in this state, and what to do, where there is something to say. */
  readonly reason?: string;
  /** Who answered, once somebody has. */
  readonly profile?: ServerProfile;
  readonly pid?: number;
  /** The end of what it wrote to its standard error. */
  readonly stderr?: string;
  /** How long the last start took. */
  readonly startMs?: number;
  /** How often it was started again after it was lost. */
  readonly restarts: number;
  /** In so many milliseconds it is tried again. */
  readonly retryInMs?: number;
}

/** Why a server is in its state, also where that needs no word beside its state. */
export function reasonOf({ state, reason }: Pick<ServerStatus, "state" | "reason">): string | undefined {
  if (reason !== undefined || state !== "untrusted") return reason;
  return "nobody has agreed to it: give the host `answers.trust`, or call `host.trust`";
}

/** Why a server takes no part in a run; one without a status is not there. */
export function explainAbsence(name: string, status?: ServerStatus): string {
  if (!status) return `${name} takes no part: there is no such server`;
  const why = reasonOf(status);
  return `${name} takes no part: it is ${status.state}${why === undefined ? "" : `, ${why}`}`;
}
