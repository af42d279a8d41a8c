import type { JsonObject } from "../jsonrpc/message.ts";
import type {
  ClientCapabilities,
  Implementation,
  InputResponses,
  LogLevel,
  LogMessageParams,
  Meta,
} from "../protocol/types/index.ts";
import type { KeyValue } from "../storage/storage.ts";
import type { Answers } from "./answers.ts";
import type { ResponseCache } from "./cache.ts";
import type { Clock } from "./clock.ts";
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
export interface AskingCallOptions extends CallOptions {
  /** `false` hands a round of questions to the caller, who calls again with the answers. */
  readonly autoAnswer?: boolean;
  /** The answers to a round that was handed over, and its state. */
  readonly inputResponses?: InputResponses;
  readonly requestState?: string;
}

/** Options of a call whose arguments are written already. */
export interface WrittenCallOptions extends AskingCallOptions {
  /** The arguments as `JSON.stringify` writes them, so that it need not be done twice. */
  readonly argumentsText?: string | undefined;
}
