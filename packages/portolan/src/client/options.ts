import type { MaybePromise } from "../async.ts";
import type { JsonObject } from "../jsonrpc/message.ts";
import type {
  ClientCapabilities,
  CreateMessageParams,
  CreateMessageResult,
  ElicitFormParams,
  ElicitResult,
  ElicitUrlParams,
  Implementation,
  InputResponses,
  LogLevel,
  LogMessageParams,
  Meta,
  Root,
} from "../protocol/types/index.ts";
import type { KeyValue } from "../storage/storage.ts";
import type { ServerProfile } from "./api.ts";
import type { ResponseCache } from "./cache.ts";
import type { Clock } from "./deadlines.ts";
import type { HttpAuth } from "./http/options.ts";

/**
 * How the era is found: `auto` probes and falls back, `stateless` and `stateful` do not look further, and a protocol
 * version is spoken or the connection fails.
 */
export type EraPolicy = "auto" | "stateless" | "stateful" | (string & {});

/** How far a call has come. */
export interface Progress {
  readonly progress: number;
  readonly total?: number;
  readonly message?: string;
}

export interface Timeouts {
  /** How long a call may be silent; progress starts it anew, and it stands still while a question is open. 60 s unless said. */
  readonly idleMs?: number;
  /** How long a call may take in all, the time of open questions left out. 30 min unless said. */
  readonly totalMs?: number;
}

export interface ConnectOptions extends Timeouts {
  /** Who this client says it is. */
  readonly info?: Implementation;
  readonly answers?: Answers;
  /** Authorizes every request to a server that is named by its address: `oauth` of `portolan/auth/client`. */
  readonly auth?: HttpAuth;
  /** Declared beside what follows from `answers`. */
  readonly capabilities?: ClientCapabilities;
  /** `auto` unless said otherwise. */
  readonly era?: EraPolicy;
  /** Remembers under `verdictKey` which era a server speaks, so that it is not probed again. */
  readonly verdicts?: KeyValue;
  /** Names the server among the verdicts; a command target names itself. */
  readonly verdictKey?: string;
  /** How long the probe may stay unanswered before the handshake is tried; 4 s unless said otherwise. */
  readonly probeMs?: number;
  /** How long connecting may take in all; 60 s unless said otherwise. */
  readonly connectMs?: number;
  /** The least severe log message to be sent; none are asked for unless said, though stateful servers may send some. */
  readonly logLevel?: LogLevel;
  /** Keeps results as long as the server allows; one of its own unless said, `false` for none. */
  readonly cache?: ResponseCache | false;
  /** Whose results these are in a shared cache. */
  readonly principal?: string;
  readonly onLog?: (message: LogMessageParams) => void;
  /** Hears of every other notification, also of those the client itself acts upon. */
  readonly onNotification?: (method: string, params: JsonObject) => void;
  /** Hears of what went wrong without failing a call: odd input, a listener that threw. */
  readonly onError?: (error: Error) => void;
  readonly signal?: AbortSignal;
  readonly clock?: Clock;
}

export interface CallOptions extends Timeouts {
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: Progress) => void;
  /** Answer the questions of this call, before those of the client are looked at. */
  readonly answers?: Answers;
  /** What this call declares instead of the client's capabilities, where each request declares them. */
  readonly capabilities?: ClientCapabilities;
  readonly logLevel?: LogLevel;
  /** Sent as `_meta`, beside what the protocol puts there. */
  readonly meta?: Meta;
  /** Asks the server even if a kept result would do. */
  readonly fresh?: boolean;
}

/** Options of the calls that a server may answer with questions. */
export interface InteractiveCallOptions extends CallOptions {
  /** `false` hands a round of questions to the caller, who calls again with the answers. */
  readonly autoAnswer?: boolean;
  /** The answers to a round that was handed over, and its state. */
  readonly inputResponses?: InputResponses;
  readonly requestState?: string;
}

/** Options of a call whose arguments are written already. */
export interface WrittenCallOptions extends InteractiveCallOptions {
  /** The arguments as `JSON.stringify` writes them, so that it need not be done twice. */
  readonly argumentsText?: string | undefined;
}

/** What is known about a question beside its text. */
export interface QuestionContext {
  /** Who asks. */
  readonly server: ServerProfile | undefined;
  /** The request in whose course it is asked, where that is known. */
  readonly during?: { readonly method: string; readonly name: string | undefined } | undefined;
  /** Aborts when the question is taken back, its call ends, or the connection is lost. */
  readonly signal: AbortSignal;
}

/**
 * How this client answers a server, the same on every revision. What is there is declared as a capability; throw to
 * refuse to answer at all, which ends the server's call.
 */
export interface Answers {
  /** Fills in a form. Defaults of fields that are left out are filled in, and what is accepted is checked. */
  elicit?(params: ElicitFormParams, context: QuestionContext): MaybePromise<ElicitResult>;
  /** Shows the address and, with the user's consent, opens it; `accept` means consent. */
  openUrl?(params: ElicitUrlParams, context: QuestionContext): MaybePromise<ElicitResult>;
  /** Asks the client's model. Declare `sampling: { tools: {} }` in `capabilities` to be asked with tools. */
  sample?(params: CreateMessageParams, context: QuestionContext): MaybePromise<CreateMessageResult>;
  /** The directories that the server may work in. */
  roots?: readonly Root[] | ((context: QuestionContext) => MaybePromise<readonly Root[]>);
}

/** A server to start as a child process that speaks over its standard input and output. */
export interface CommandTarget {
  readonly command: string;
  readonly args?: readonly string[];
  readonly cwd?: string;
  /** Given to the child beside the few variables every program needs; nothing else of ours is passed on. */
  readonly env?: { readonly [name: string]: string };
  /** The longest line that is read; 16 MiB unless said otherwise. */
  readonly maxMessageBytes?: number;
  /** Hears every line the child writes to its standard error, as it is written. */
  readonly onStderr?: (line: string) => void;
  /** How long each step of the shutdown may take: end of input, SIGTERM, SIGKILL. 2 s unless said otherwise. */
  readonly graceMs?: number;
}
