// The interface between the console's server and any front end: types only, nothing of Node and nothing of a browser.
// `POST /api/<verb>` takes the `takes` of the verb as JSON and answers `Reply<gives>`; `GET /api/events` is one stream of
// `ConsoleEvent`s. docs/console-api.md describes both for the author of another front end.
import type {
  CallToolResult,
  ClientCapabilities,
  ContentBlock,
  GetPromptResult,
  Icon,
  JsonObject,
  LogLevel,
  Prompt,
  ReadResourceResult,
  Resource,
  ResourceTemplate,
  ServerCapabilities,
  Tool,
} from "portolan";
import type {
  ApprovalQuestion,
  ChangedDefinition,
  ChangedQuestion,
  FormQuestion,
  Grant,
  HostTask,
  RootsQuestion,
  SamplingRequestQuestion,
  SamplingResponseQuestion,
  SayQuestion,
  ServerState,
  TrustQuestion,
  TrustSubject,
  UrlQuestion,
} from "portolan-host";

/** The version of this interface. A request names it in the header `Portolan-Api`. */
export const apiVersion = 1;

/** The header that carries the session of every request but `hello`. */
export const sessionHeader = "Portolan-Session";

// ── Servers ──────────────────────────────────────────────────────────────────────────────────────────────────────────

export interface ServerRecord {
  readonly name: string;
  readonly state: ServerState;
  /** The reason of the state, in words for a person. */
  readonly reason?: string;
  /** The command line or the address, without secrets. */
  readonly target: string;
  readonly transport: "stdio" | "http" | "other";
  /** Where the server is configured. */
  readonly from: string;
  readonly title?: string;
  readonly version?: string;
  readonly icons?: readonly Icon[];
  /** The revision that is spoken with the server. */
  readonly revision?: string;
  readonly pid?: number;
  readonly startMs?: number;
  /** Milliseconds since 1970: when the state began. */
  readonly since: number;
  readonly restarts: number;
  readonly retryInMs?: number;
  readonly counts: {
    readonly tools: number;
    readonly resources: number;
    readonly templates: number;
    readonly prompts: number;
  };
  /** Changes with every change of the server's lists. */
  readonly catalog: string;
  /** Estimated tokens of all visible tools for a model. */
  readonly toolTokens: number;
  /** Definitions that changed since they were accepted. The model does not get them. */
  readonly changed: number;
  /** True if it serves skills, which `skills` lists. */
  readonly hasSkills: boolean;
  /** Lists that were not read completely, in words for a person. */
  readonly listProblems: readonly string[];
  /** Lists that have more items than are shown. */
  readonly cutLists: readonly ("tools" | "prompts" | "resources" | "templates")[];
  readonly isTrusted: boolean;
  readonly logLevel: LogLevel;
}

/** A tool in a list: its whole definition comes by `definition`. */
export interface ToolRow {
  readonly name: string;
  readonly title?: string;
  /** The first 200 characters. */
  readonly description?: string;
  readonly isReadOnly: boolean;
  readonly isDestructive: boolean;
  /** True if its server says neither of both. */
  readonly isUnmarked: boolean;
  readonly isVisible: boolean;
  /** True if its definition changed since it was accepted. */
  readonly isQuarantined: boolean;
  readonly hasApp: boolean;
  readonly tokens: number;
  readonly digest: string;
}

export interface CatalogRecord {
  readonly server: string;
  readonly digest: string;
  readonly instructions?: string;
  readonly tools: readonly ToolRow[];
  readonly prompts: readonly Prompt[];
  readonly resources: readonly Resource[];
  readonly templates: readonly ResourceTemplate[];
  readonly changed: readonly ChangedDefinition[];
}

/** A skill of a server: instructions that a model can load. */
export interface SkillRow {
  /** The address of its `SKILL.md`. */
  readonly uri: string;
  readonly name: string;
  readonly description: string;
  /** Its files; undefined for a skill whose content nothing can be compared with. */
  readonly files?: readonly { readonly uri: string; readonly size: number }[];
}

/** A server in the configuration of another product, that could be added. */
export interface FoundServer {
  readonly name: string;
  readonly product: string;
  readonly file: string;
  readonly target: string;
  readonly isKnown: boolean;
  readonly problem?: string;
}

// ── Conversations ────────────────────────────────────────────────────────────────────────────────────────────────────

export interface ConversationHead {
  readonly id: string;
  readonly title: string;
  /** Milliseconds since 1970. */
  readonly createdAt: number;
  readonly changedAt: number;
  readonly state: "idle" | "running" | "waiting" | "failed" | "interrupted";
  readonly model: string;
  /** Tools switched off, as `server.tool` or `server.*`. */
  readonly off: readonly string[];
  /** Resources that are added to the next message. */
  readonly attached: readonly AttachedResource[];
  readonly tokens?: ContextTokens;
  readonly usage?: { readonly inputTokens: number; readonly outputTokens: number };
}

export interface AttachedResource {
  readonly server: string;
  readonly uri: string;
  readonly name: string;
  readonly tokens?: number;
  /** True if the resource changed after it was read. */
  readonly isChanged?: boolean;
}

/** Estimated tokens of the next request to the model. */
export interface ContextTokens {
  readonly system: number;
  readonly tools: number;
  readonly conversation: number;
  readonly resources: number;
  readonly limit: number;
}

/** One part of a conversation, in order. `id` is unique in the conversation. */
export type Block =
  | {
      readonly id: string;
      readonly kind: "user";
      readonly text: string;
      readonly prompt?: { readonly server: string; readonly name: string };
      readonly attached: readonly AttachedResource[];
      readonly at: number;
    }
  | { readonly id: string; readonly kind: "text"; readonly text: string; readonly isCut?: boolean }
  | { readonly id: string; readonly kind: "thinking"; readonly text: string }
  | { readonly id: string; readonly kind: "call"; readonly call: string; readonly record: CallRecord }
  | { readonly id: string; readonly kind: "notice"; readonly text: string; readonly server?: string }
  /** How an answered question ended: the line that stays of its card. */
  | {
      readonly id: string;
      readonly kind: "answered";
      readonly question: string;
      readonly summary: string;
      /** The subject of the question, for example the tool or the resource. */
      readonly subject?: string;
      readonly grant?: string;
      /** The call that asked. */
      readonly call?: string;
      readonly at: number;
    }
  | { readonly id: string; readonly kind: "end"; readonly reason: string; readonly message?: string }
  /** The console ended while this call ran: nobody knows whether it was carried out. */
  | {
      readonly id: string;
      readonly kind: "uncertain";
      readonly server: string;
      readonly tool: string;
      readonly argumentsText: string;
      readonly isSettled: boolean;
    };

export interface CallRecord {
  readonly id: string;
  readonly server: string;
  readonly tool: string;
  /** The URI of the app that offers the tool, and not the server itself. */
  readonly app?: string;
  readonly by: "user" | "model" | "app";
  readonly conversation?: string;
  readonly connection?: string;
  /** The arguments exactly as they were sent; of longer ones the first 64 KB. */
  readonly argumentsText: string;
  /** Milliseconds since 1970. */
  readonly startedAt: number;
  readonly progress?: { readonly progress: number; readonly total?: number; readonly message?: string };
  /** The question that the call waits for. */
  readonly waitsFor?: string;
  /** The host of the page that the person opened for this call, until they have finished there. */
  readonly visits?: string;
  /** The time in which its questions waited for the person. */
  readonly waitedMs?: number;
  /** The last model that failed instead of answering a request of the server during this call, and why. */
  readonly modelFailure?: { readonly model: string; readonly message: string };
  readonly task?: string;
  readonly end?: CallEnd;
}

export interface CallEnd {
  /** "unsent": the console ended before the person had answered. */
  readonly how: "done" | "failed" | "refused" | "cancelled" | "unsent" | "unknown";
  /** The time of the server, as far as it is known: without that in which the person was asked. */
  readonly ms: number;
  /** The reason of a call that failed or was refused, in words for a person. */
  readonly message?: string;
  readonly result?: CallResultHead;
}

/** The start of a result. The rest comes by `result`. */
export interface CallResultHead {
  readonly isError: boolean;
  /** The characters of the whole result as JSON. */
  readonly chars: number;
  /** The whole result if it is small (64 KB of JSON), else without its large parts. */
  readonly result: CallToolResult;
  readonly isWhole: boolean;
  /** The part of the result that the model sees, and its estimated tokens. */
  readonly modelText: string;
  readonly modelTokens: number;
  /** Where the structured content breaks the output schema of the tool. */
  readonly schemaProblems: readonly string[];
  /** The app of the tool, which can show the result. */
  readonly app?: { readonly uri: string };
}

// ── Questions ────────────────────────────────────────────────────────────────────────────────────────────────────────

/** The members that the console adds to every question of the host. */
export interface QuestionFacts {
  /** Milliseconds since 1970. */
  readonly askedAt: number;
  /** The digest of what is shown. An answer names it, so that it never answers another question. */
  readonly digest: string;
  readonly conversation?: string;
  readonly connection?: string;
  /** The call that the question belongs to. */
  readonly call?: string;
}

type Wire<Q> = Omit<Q, "signal"> & QuestionFacts;

export type QuestionRecord =
  | Wire<TrustQuestion>
  | Wire<ApprovalQuestion>
  | Wire<FormQuestion>
  | Wire<UrlQuestion>
  | Wire<SamplingRequestQuestion>
  | Wire<SamplingResponseQuestion>
  | Wire<RootsQuestion>
  | Wire<SayQuestion>
  | Wire<ChangedQuestion>;

// ── Inspect ──────────────────────────────────────────────────────────────────────────────────────────────────────────

/** A connection whose messages are kept: that of the host to a server (`main`), or one that was opened for inspection. */
export interface ConnectionRecord {
  readonly id: string;
  readonly server: string;
  readonly isMain: boolean;
  readonly state: "opening" | "open" | "failed" | "closed";
  readonly reason?: string;
  readonly revision?: string;
  readonly pid?: number;
  /** The number of messages and other rows so far. */
  readonly rows: number;
}

export interface ConnectionFacts extends ConnectionRecord {
  readonly peer: {
    readonly name?: string;
    readonly version?: string;
    readonly capabilities: ServerCapabilities;
    readonly instructions?: string;
  };
  readonly client: { readonly name: string; readonly version: string; readonly capabilities: ClientCapabilities };
}

/** One row of the timeline. */
export interface MessageRow {
  /** Counts from 1 within its connection. */
  readonly n: number;
  /** Milliseconds since 1970, with fractions. */
  readonly at: number;
  readonly lane: "client" | "server" | "http" | "stderr";
  readonly kind: "request" | "response" | "notification" | "http" | "line" | "invalid" | "link";
  /** The method, the status, or the start of the line. At most 200 characters. */
  readonly title: string;
  /** The name of the tool, prompt or resource. */
  readonly name?: string;
  /** The row of the request that a response, a progress notification or a question belongs to. */
  readonly partner?: number;
  /** For a response: the time since its request. */
  readonly tookMs?: number;
  readonly bytes: number;
  readonly isError?: boolean;
  /** True if the other side does not know a request that every side may try: no error. */
  readonly isUnsupported?: boolean;
  /** True if this row cancels the request that `partner` names. */
  readonly cancels?: boolean;
  readonly call?: string;
}

export interface MessageDetail extends MessageRow {
  /** The message exactly as it was written, up to 4 MB. */
  readonly text: string;
  readonly isCut: boolean;
  readonly http?: {
    readonly method: string;
    readonly url: string;
    readonly status?: number;
    readonly requestHeaders: readonly (readonly [string, string])[];
    readonly responseHeaders: readonly (readonly [string, string])[];
    readonly ms?: number;
  };
}

export type CopyFormat = "curl" | "command" | "typescript" | "json";

export interface RowFilter {
  readonly text?: string;
  readonly lanes?: readonly MessageRow["lane"][];
  readonly onlyErrors?: boolean;
  readonly method?: string;
  readonly from?: number;
  readonly to?: number;
}

export interface LineRow {
  readonly n: number;
  readonly at: number;
  readonly kind: "stderr" | "log" | "warning";
  readonly level?: LogLevel;
  readonly logger?: string;
  readonly text: string;
}

export interface RecordingHead {
  readonly id: string;
  readonly server: string;
  readonly startedAt: number;
  readonly isRunning: boolean;
  readonly messages: number;
  readonly bytes: number;
  /** False for one that was made with its secrets, or was cut before a secret that was recognized late was removed from it. */
  readonly isRedacted: boolean;
  /** The console ended before the recording: its end is missing. */
  readonly isCut?: true;
  readonly revision?: string;
}

/** What a person can change of a server. */
export interface EditableServer {
  /** The command line or the address as it is typed; empty if it contains a secret. */
  readonly target: string;
  readonly isAddress: boolean;
  /** The names of its variables or headers. */
  readonly names: readonly string[];
  /** The file in which a change can be kept. */
  readonly file?: string;
}

export interface CatalogDifference {
  readonly kind: "tool" | "prompt" | "resource" | "template";
  readonly name: string;
  readonly how: "added" | "removed" | "changed";
  readonly lines: readonly { readonly path: string; readonly before?: string; readonly after?: string }[];
}

export interface SavedCall {
  readonly name: string;
  readonly server: string;
  readonly tool: string;
  readonly argumentsText: string;
  readonly expect: readonly Expectation[];
}

/** An expectation about a result: a value at a path, a pattern at a path, the output schema, no error, a time. */
export type Expectation =
  | { readonly path: string; readonly is: unknown }
  | { readonly path: string; readonly matches: string }
  | { readonly schema: true }
  | { readonly isError: boolean }
  | { readonly underMs: number };

export interface SavedVerdict {
  readonly name: string;
  readonly isPassed: boolean;
  readonly ms: number;
  readonly problems: readonly string[];
  readonly call?: string;
}

/** A report of doctor or check that may still be growing. */
export interface ReportRecord {
  readonly id: string;
  readonly server: string;
  readonly of: "doctor" | "check";
  readonly isRunning: boolean;
  readonly findings: readonly FindingRecord[];
  /** The verdict of a check. */
  readonly summary?: string;
  readonly error?: string;
}

export interface FindingRecord {
  /** The kind of the finding. Several findings of a report may have the same. */
  readonly id: string;
  /** A heading, in words for a person: the step of an examination, or the revision and the transport of a check. */
  readonly step?: string;
  readonly level: "error" | "warning" | "note" | "ok";
  readonly what: string;
  readonly why: string;
  /** Empty if nothing is to be done. A sentence, or a command that can be typed. */
  readonly next: string;
  /** Where the cause is configured. */
  readonly place?: string;
  /** A repair that the console can make itself. */
  readonly fix?: {
    readonly label: string;
    readonly verb: keyof Verbs;
    readonly takes: JsonObject;
    /** A value that the person types first: it becomes `env[name]` of `takes`. */
    readonly asks?: { readonly name: string; readonly isSecret: boolean };
  };
}

export interface LoginRecord {
  readonly id: string;
  readonly server: string;
  readonly state: "running" | "waiting" | "done" | "failed";
  /** The page that the person must open. */
  readonly address?: string;
  readonly reason?: string;
  readonly steps: readonly LoginStep[];
}

export interface LoginStep {
  readonly id: number;
  readonly title: string;
  /** For example "RFC 9728". */
  readonly standard: string;
  readonly state: "running" | "done" | "failed";
  readonly request?: string;
  readonly response?: string;
  readonly reason?: string;
  /** True if `login.again` can do it once more: a request that changes nothing. */
  readonly isRepeatable?: boolean;
}

/** An entry of the activity log as a row. */
export interface ActivityRow {
  readonly seq: number;
  readonly at: number;
  readonly kind: string;
  readonly server?: string;
  readonly title: string;
  readonly how?: string;
  readonly detail: JsonObject;
}

/** A call of a tool that was carried out: what was done for the person. */
export interface DoneRow {
  readonly id: string;
  /** The number of its entry in the log. */
  readonly seq: number;
  readonly at: number;
  readonly server: string;
  readonly tool: string;
  /** The URI of the app that offered the tool, and not the server itself. */
  readonly app?: string;
  /** Its arguments, such as "flight: PT521, seats: 2". */
  readonly words: string;
  readonly by: "user" | "model" | "app";
  /** "unknown" if its end is not in the log. */
  readonly how: "done" | "failed" | "cancelled" | "running" | "unknown";
  /** Why it failed or was cancelled, and whose words these are. */
  readonly reason?: { readonly by: "host" | "server"; readonly text: string };
  /** How it was allowed: by hand, by an answer that holds once or longer, by an earlier answer, or by a rule. */
  readonly allowed: "hand" | "once" | "session" | "always" | "grant" | "rule";
  /** The effect of the tool as its server declares it; "unknown" without a declaration, or while the server is not known. */
  readonly effect: "reads" | "changes" | "unknown";
  readonly ms?: number;
  readonly run?: string;
  readonly conversation?: string;
}

export interface ModelRecord {
  readonly id: string;
  readonly label: string;
  readonly isDemo: boolean;
  readonly contextTokens: number;
  /** For example "demo, not a language model". */
  readonly notice?: string;
}

export interface RootRecord {
  readonly uri: string;
  readonly name?: string;
  /** Servers that may see the folder. Default: all. */
  readonly for?: readonly string[];
}

export interface Settings {
  readonly theme: "system" | "light" | "dark";
  /** The model of new conversations. */
  readonly model?: string;
}

/** An app of a server that is shown. */
export interface AppRecord {
  readonly id: string;
  readonly call: string;
  readonly server: string;
  readonly uri: string;
  /** The address of its frame, on an origin of its own. */
  readonly frame: string;
  readonly state: "waiting" | "open" | "stopped";
  readonly reason?: string;
  readonly height?: number;
  /** The names of the tools that it offers to the model of its conversation. */
  readonly tools?: readonly string[];
}

// ── State and events ─────────────────────────────────────────────────────────────────────────────────────────────────

/** Everything but rows: the state that a front end begins with. */
export interface ConsoleState {
  readonly version: string;
  /** True with the sandbox servers of `npm start`. */
  readonly isSandbox: boolean;
  /** The project folder, in which calls are saved. */
  readonly folder: string;
  readonly servers: readonly ServerRecord[];
  readonly questions: readonly QuestionRecord[];
  readonly conversations: readonly ConversationHead[];
  readonly connections: readonly ConnectionRecord[];
  readonly recordings: readonly RecordingHead[];
  readonly reports: readonly ReportRecord[];
  readonly logins: readonly LoginRecord[];
  readonly tasks: readonly HostTask[];
  readonly grants: readonly Grant[];
  readonly models: readonly ModelRecord[];
  readonly roots: readonly RootRecord[];
  readonly apps: readonly AppRecord[];
  readonly settings: Settings;
  /** Running calls, and the last 50 that ended. */
  readonly calls: readonly CallRecord[];
  /** Sealed entries of the activity log. */
  readonly activity: number;
}

/**
 * Sent as server-sent events with `id: <boot>.<n>`. Records replace the record with the same id; rows are appended.
 * `reset` comes first, and again when a reader was away for too long.
 */
export type ConsoleEvent =
  | { readonly kind: "reset"; readonly state: ConsoleState }
  | { readonly kind: "server"; readonly server: ServerRecord }
  | { readonly kind: "server-gone"; readonly name: string }
  | { readonly kind: "question"; readonly question: QuestionRecord }
  | {
      readonly kind: "answered";
      readonly id: string;
      readonly how: "answered" | "withdrawn" | "expired";
      readonly summary?: string;
      readonly grant?: string;
    }
  /** The server has what it waited for behind the address of an answered question. */
  | { readonly kind: "visited"; readonly id: string }
  | { readonly kind: "conversation"; readonly conversation: ConversationHead }
  | { readonly kind: "conversation-gone"; readonly id: string }
  /** A block of a conversation is new or has changed. */
  | { readonly kind: "block"; readonly conversation: string; readonly block: Block }
  /** Text was appended to a block of kind `text` or `thinking`, whose text was `from` UTF-16 code units long before. */
  | {
      readonly kind: "delta";
      readonly conversation: string;
      readonly block: string;
      readonly from: number;
      readonly delta: string;
    }
  | { readonly kind: "call"; readonly call: CallRecord }
  | { readonly kind: "connection"; readonly connection: ConnectionRecord }
  | { readonly kind: "messages"; readonly connection: string; readonly rows: readonly MessageRow[] }
  | { readonly kind: "lines"; readonly server: string; readonly rows: readonly LineRow[] }
  | { readonly kind: "recording"; readonly recording: RecordingHead }
  | { readonly kind: "recording-gone"; readonly id: string }
  | { readonly kind: "report"; readonly report: ReportRecord }
  | { readonly kind: "login"; readonly login: LoginRecord }
  | { readonly kind: "task"; readonly task: HostTask }
  | { readonly kind: "task-gone"; readonly id: string }
  | { readonly kind: "grants"; readonly grants: readonly Grant[] }
  | { readonly kind: "models"; readonly models: readonly ModelRecord[] }
  | { readonly kind: "roots"; readonly roots: readonly RootRecord[] }
  | { readonly kind: "settings"; readonly settings: Settings }
  | { readonly kind: "app"; readonly app: AppRecord }
  /** A message for the frame of an app. */
  | { readonly kind: "app-message"; readonly app: string; readonly message: JsonObject }
  | { readonly kind: "activity"; readonly head: number }
  | { readonly kind: "saved"; readonly verdicts: readonly SavedVerdict[] }
  /** Rows were dropped because this reader was too slow. Read them by verb. */
  | { readonly kind: "lost"; readonly rows: number }
  /** The console ends. */
  | { readonly kind: "bye"; readonly reason: string };

// ── Verbs ────────────────────────────────────────────────────────────────────────────────────────────────────────────

export interface Page<Row> {
  readonly rows: readonly Row[];
  /** Numbers of the first and last row that exist. */
  readonly first: number;
  readonly last: number;
}

/** At most `limit` rows (default 200, at most 500) before or after a number; without either, the newest. */
export interface PageRequest {
  readonly before?: number;
  readonly after?: number;
  readonly limit?: number;
}

/** Members of every verb that changes something: the same `request` again within ten minutes gives the same reply and does nothing. */
export interface ChangeRequest {
  /** A UUID, made when the person acted. */
  readonly request: string;
}

interface Named {
  readonly server: string;
}
type Done = Record<string, never>;

/** Each verb: what it takes, what it gives. Verbs that take a `request` change something. */
export interface Verbs {
  /** Exchanges the token of the address for a session. The only verb without a session. */
  hello: {
    takes: { readonly launch: string };
    gives: { readonly session: string; readonly boot: string; readonly api: readonly number[] };
  };

  "server.start": { takes: Named & ChangeRequest; gives: Done };
  "server.stop": { takes: Named & ChangeRequest; gives: Done };
  "server.enable": { takes: Named & ChangeRequest & { readonly isOn: boolean }; gives: Done };
  "server.remove": { takes: Named & ChangeRequest; gives: Done };
  /** Adds a server by command line or address, for this console; with `keep`, also in its own configuration file. */
  "server.add": {
    takes: ChangeRequest & {
      readonly name: string;
      readonly target: string;
      readonly env?: { readonly [name: string]: string };
      readonly headers?: { readonly [name: string]: string };
      readonly keep?: boolean;
    };
    gives: Done;
  };
  /** Returns what a person can change of a server, without its secrets. */
  "server.entry": { takes: Named; gives: EditableServer };
  /**
   * Changes the command or address of a server, or its variables or headers, and starts it again. It keeps its name and its
   * conversations. Grants hold as long as its command or address stays the same. Members that are left out stay; of `env` and
   * `headers` `null` keeps a value, and a name that is left out is removed. With `keep`, the file that `server.entry` names is
   * changed, too.
   */
  "server.replace": {
    takes: Named &
      ChangeRequest & {
        readonly target?: string;
        readonly env?: { readonly [name: string]: string | null };
        readonly headers?: { readonly [name: string]: string | null };
        readonly keep?: boolean;
      };
    gives: Done;
  };
  /** Adds a server that `found` has listed. */
  "server.adopt": { takes: ChangeRequest & { readonly name: string; readonly file: string }; gives: Done };
  /**
   * Sets variables of the environment of a server for this console, and starts it again. The value `${env:NAME}` stands
   * for the variable of the shell in which the console was started.
   */
  "server.set-variables": {
    takes: Named & ChangeRequest & { readonly env: { readonly [name: string]: string } };
    gives: Done;
  };
  "server.trust": {
    takes: Named & ChangeRequest & { readonly allow: boolean; readonly trustHints?: boolean; readonly digest: string };
    gives: Done;
  };
  "server.subject": { takes: Named; gives: { readonly subject: TrustSubject; readonly digest: string } };
  "server.ping": { takes: Named; gives: { readonly ms: number } };
  "server.log-level": { takes: Named & ChangeRequest & { readonly level: LogLevel }; gives: Done };
  "server.show-tool": {
    takes: Named & ChangeRequest & { readonly tool: string; readonly isVisible: boolean };
    gives: Done;
  };
  "server.accept": {
    takes: Named &
      ChangeRequest & { readonly kind: ChangedDefinition["kind"]; readonly name: string; readonly digest: string };
    gives: Done;
  };
  found: { takes: Done; gives: { readonly servers: readonly FoundServer[]; readonly problems: readonly string[] } };
  catalog: { takes: Named; gives: CatalogRecord };
  definition: {
    takes: Named & { readonly tool: string; readonly connection?: string };
    gives: {
      readonly definition: Tool;
      readonly modelName: string;
      readonly modelText: string;
      readonly tokens: number;
    };
  };
  skills: { takes: Named; gives: { readonly skills: readonly SkillRow[]; readonly problems: readonly string[] } };
  /** Returns the verified instructions of a skill, for the person alone: nothing is allowed by it. */
  "skill.preview": {
    takes: Named & { readonly uri: string };
    gives: { readonly text: string; readonly tokens: number };
  };
  complete: {
    takes: Named & {
      readonly ref:
        | { readonly type: "ref/prompt"; readonly name: string }
        | { readonly type: "ref/resource"; readonly uri: string };
      readonly argument: { readonly name: string; readonly value: string };
      readonly known?: { readonly [name: string]: string };
    };
    gives: { readonly values: readonly string[]; readonly hasMore: boolean };
  };
  "resource.read": {
    takes: Named & { readonly uri: string; readonly connection?: string };
    gives: { readonly result: ReadResourceResult; readonly tokens: number };
  };
  "resource.follow": { takes: Named & ChangeRequest & { readonly uri: string; readonly isOn: boolean }; gives: Done };
  "prompt.get": {
    takes: Named & {
      readonly name: string;
      readonly args: { readonly [name: string]: string };
      readonly connection?: string;
    };
    gives: { readonly result: GetPromptResult; readonly tokens: number };
  };

  "conversation.create": { takes: ChangeRequest & { readonly model?: string }; gives: { readonly id: string } };
  "conversation.blocks": { takes: { readonly id: string }; gives: { readonly blocks: readonly Block[] } };
  "conversation.change": {
    takes: ChangeRequest & {
      readonly id: string;
      readonly title?: string;
      readonly model?: string;
      readonly off?: readonly string[];
      readonly attached?: readonly Omit<AttachedResource, "tokens" | "isChanged">[];
    };
    gives: Done;
  };
  "conversation.remove": { takes: ChangeRequest & { readonly id: string }; gives: Done };
  "conversation.send": {
    takes: ChangeRequest & {
      readonly id: string;
      readonly text?: string;
      readonly prompt?: {
        readonly server: string;
        readonly name: string;
        readonly args: { readonly [name: string]: string };
      };
    };
    gives: Done;
  };
  "conversation.cancel": { takes: ChangeRequest & { readonly id: string }; gives: Done };
  /** Continues after an interruption; `uncertain` says what happens with calls that may have run. */
  "conversation.continue": {
    takes: ChangeRequest & { readonly id: string; readonly uncertain?: "ask-again" | "tell-model" };
    gives: Done;
  };
  preview: { takes: { readonly id: string; readonly text?: string }; gives: ContextTokens };

  /** Answers a question. `answer` is an `AnswerOf` its kind (see portolan-host); for `changed`, an `ApprovalVerdict`. */
  answer: {
    takes: ChangeRequest & { readonly id: string; readonly digest: string; readonly answer: unknown };
    gives: { readonly grant?: string };
  };
  cancel: { takes: ChangeRequest & { readonly call: string }; gives: Done };

  /** Calls a tool by hand. The result comes as events, and by `result`. */
  call: {
    takes: Named &
      ChangeRequest & { readonly tool: string; readonly argumentsText: string; readonly connection?: string };
    gives: { readonly id: string };
  };
  /** A piece of a result as JSON text. */
  result: {
    takes: { readonly call: string; readonly from: number; readonly chars: number };
    gives: { readonly text: string; readonly total: number };
  };
  /** One content block of a result, whole. */
  content: { takes: { readonly call: string; readonly index: number }; gives: { readonly block: ContentBlock } };
  /** Sends any request on an opened connection. */
  request: {
    takes: ChangeRequest & { readonly connection: string; readonly method: string; readonly paramsText: string };
    gives: { readonly row: number; readonly responseText: string };
  };

  /** Opens a second connection of its own to a server, with a chosen revision. */
  "connection.open": { takes: Named & ChangeRequest & { readonly revision?: string }; gives: { readonly id: string } };
  "connection.close": { takes: ChangeRequest & { readonly id: string }; gives: Done };
  "connection.facts": { takes: { readonly id: string }; gives: ConnectionFacts };
  messages: {
    takes: PageRequest & { readonly connection: string; readonly filter?: RowFilter };
    gives: Page<MessageRow>;
  };
  message: { takes: { readonly connection: string; readonly n: number }; gives: MessageDetail };
  "message.copy": {
    takes: { readonly connection: string; readonly n: number; readonly as: CopyFormat };
    gives: { readonly text: string };
  };
  lines: { takes: PageRequest & Named; gives: Page<LineRow> };

  "recording.start": { takes: Named & ChangeRequest & { readonly isRaw?: boolean }; gives: { readonly id: string } };
  "recording.stop": { takes: ChangeRequest & { readonly id: string }; gives: Done };
  "recording.remove": { takes: ChangeRequest & { readonly id: string }; gives: Done };
  /** Opens a recording as a connection, whose messages `messages` lists, without any server. */
  "recording.open": { takes: ChangeRequest & { readonly id: string }; gives: { readonly connection: string } };
  "recording.import": {
    takes: ChangeRequest & { readonly name: string; readonly text: string };
    gives: { readonly id: string };
  };
  "recording.export": { takes: { readonly id: string }; gives: { readonly name: string; readonly text: string } };
  /** Adds a server that answers from the recording. */
  "recording.mock": { takes: ChangeRequest & { readonly id: string }; gives: { readonly server: string } };
  /** Compares the catalogs of two recordings, of two servers, or of one of each. A server that has not started is started. */
  compare: {
    takes: {
      readonly before: { readonly recording: string } | Named;
      readonly after: { readonly recording: string } | Named;
    };
    gives: { readonly differences: readonly CatalogDifference[] };
  };

  "saved.list": {
    takes: Done;
    gives: { readonly file: string; readonly calls: readonly SavedCall[]; readonly problem?: string };
  };
  "saved.put": { takes: ChangeRequest & { readonly call: SavedCall; readonly replaces?: string }; gives: Done };
  "saved.remove": { takes: ChangeRequest & { readonly name: string }; gives: Done };
  "saved.run": {
    takes: ChangeRequest & { readonly names?: readonly string[] };
    gives: { readonly verdicts: readonly SavedVerdict[] };
  };

  "report.start": {
    takes: Named & ChangeRequest & { readonly of: ReportRecord["of"] };
    gives: { readonly id: string };
  };
  "report.cancel": { takes: ChangeRequest & { readonly id: string }; gives: Done };
  "login.begin": { takes: Named & ChangeRequest; gives: { readonly id: string } };
  /** Does one step once more, also after the sign-in has ended. Its new course comes as events. */
  "login.again": { takes: ChangeRequest & { readonly id: string; readonly step: number }; gives: Done };
  "login.cancel": { takes: ChangeRequest & { readonly id: string }; gives: Done };
  logout: { takes: Named & ChangeRequest; gives: Done };

  "task.cancel": { takes: ChangeRequest & { readonly id: string }; gives: Done };

  "app.open": { takes: ChangeRequest & { readonly call: string }; gives: { readonly id: string } };
  "app.message": { takes: { readonly id: string; readonly message: JsonObject }; gives: Done };
  "app.close": { takes: ChangeRequest & { readonly id: string }; gives: Done };

  activity: {
    takes: PageRequest & { readonly text?: string; readonly server?: string; readonly kind?: string };
    gives: Page<ActivityRow>;
  };
  /** Carried-out calls of tools, newest first: at most `limit` (default 100, at most 1,000). */
  "activity.done": {
    takes: { readonly limit?: number; readonly text?: string; readonly server?: string };
    gives: { readonly rows: readonly DoneRow[]; readonly hasMore: boolean };
  };
  "activity.verify": {
    takes: Done;
    gives: { readonly isIntact: boolean; readonly message: string; readonly entries: number };
  };
  "activity.export": { takes: Done; gives: { readonly name: string; readonly text: string } };
  "grant.revoke": { takes: ChangeRequest & { readonly id: string }; gives: Done };
  /** Takes a revocation back, unless the grant has expired or the person has answered anew since. */
  "grant.restore": { takes: ChangeRequest & { readonly id: string }; gives: Done };
  "roots.set": { takes: ChangeRequest & { readonly roots: readonly RootRecord[] }; gives: Done };
  /** Adds a model of a provider, whose key is kept in memory only. */
  "model.add": {
    takes: ChangeRequest & {
      readonly provider: "anthropic" | "openai";
      readonly model: string;
      readonly key: string;
      readonly address?: string;
    };
    gives: { readonly id: string };
  };
  "settings.change": { takes: ChangeRequest & Partial<Settings>; gives: Done };
  /** Finds messages of all connections that contain a text. The rest is found in the page. */
  find: {
    takes: { readonly text: string; readonly limit?: number };
    gives: { readonly rows: readonly (MessageRow & { readonly connection: string; readonly server: string })[] };
  };
}

export type Verb = keyof Verbs;

/** The body of every answer with a status of 400 or more. */
export interface ApiError {
  readonly error: {
    /** One of `ApiErrorCode`, or a `PortolanErrorCode`. */
    readonly code: string;
    readonly message: string;
    /** The next step for the person. */
    readonly next?: string;
    /** Problems of single members, for example of a form. */
    readonly paths?: readonly { readonly path: string; readonly message: string }[];
    /** With `changed`: the question as it is now. With `answered`: how it was answered. */
    readonly question?: QuestionRecord;
    readonly how?: string;
  };
}

export type ApiErrorCode =
  | "bad-request"
  | "no-session"
  | "wrong-origin"
  | "not-found"
  | "wrong-method"
  | "answered"
  | "changed"
  | "busy"
  | "expired"
  | "too-large"
  | "wrong-type"
  | "wrong-host"
  | "invalid"
  | "wrong-version"
  | "too-many"
  | "internal"
  | "closing";
