import type { MaybePromise } from "../async.ts";
import type { JsonObject, RequestId, RpcRequest } from "../jsonrpc/message.ts";
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
import type { ClientExtension } from "./extension.ts";
import type { HttpAuth, HttpHeaders } from "./http/options.ts";

/**
 * The protocol to use. `"auto"` probes for the stateless era and falls back to the handshake. `"stateless"` and
 * `"stateful"` accept any version of that era. A version such as `"2025-11-25"` accepts no other.
 */
export type EraPolicy = "auto" | "stateless" | "stateful" | (string & {});

/** One progress notification of a call. */
export interface Progress {
  readonly progress: number;
  readonly total?: number;
  readonly message?: string;
}

/** How long a call may take. */
export interface Timeouts {
  /** Longest time without progress or an answer; open questions do not count. Default: 60 seconds. */
  readonly idleMs?: number;
  /** Longest time of a whole call; open questions do not count. Default: 30 minutes. */
  readonly totalMs?: number;
}

/** Options of `connect`. Its times are the defaults of all calls. */
export interface ConnectOptions extends Timeouts {
  /** Name and version of this client. Default: those of the library. */
  readonly info?: Implementation;
  /** Answers questions of the server: forms, sampling, roots. Default: none, and the server is told so. */
  readonly answers?: Answers;
  /** `false` sends filled-in forms as `answers.elicit` returns them; for proxies, which only pass them on. Default: `true`. */
  readonly checkForms?: boolean;
  /** Authorizes every request to an http address. See `oauth` of `portolan/auth/client`. */
  readonly auth?: HttpAuth;
  /** Capabilities beside those that follow from `answers`. */
  readonly capabilities?: ClientCapabilities;
  /** Additions to the protocol, such as `tasks()` of `portolan/client/tasks`. Default: none. */
  readonly extensions?: readonly ClientExtension[];
  /** Default: `"auto"`. */
  readonly era?: EraPolicy;
  /** Stores the era of each server for a week, so that the server is not probed at every connection. */
  readonly eraCache?: KeyValue;
  /**
   * The server's key in `eraCache`. Default: the http address, or the command with its arguments; none for links and
   * channels. Clients share results in one `cache` only if they set the same key.
   */
  readonly eraCacheKey?: string;
  /** The handshake is tried when the probe is unanswered for this long. Default: 4 seconds. */
  readonly probeMs?: number;
  /** Longest time until the connection is ready; a login does not count. Default: 60 seconds. */
  readonly connectMs?: number;
  /** The least severe log message that the server sends. Without it, only stateful servers may send some. */
  readonly logLevel?: LogLevel;
  /** Keeps results for as long as the server allows. Default: a cache of this client alone; `false` for none. */
  readonly cache?: ResponseCache | false;
  /** The owner of the results in a shared cache. Results never pass from one principal to another. */
  readonly principal?: string;
  /** Receives log messages of the server. */
  readonly onLog?: (message: LogMessageParams) => void;
  /** Receives every notification but progress, also those that the client itself acts upon. */
  readonly onNotification?: (method: string, params: JsonObject) => void;
  /** Receives problems that fail no call: invalid messages, listeners that throw. */
  readonly onError?: (error: Error) => void;
  /** Is told of every request, such as `traceClient()` of `portolan/otel`. Default: none. */
  readonly observer?: RequestObserver;
  /** Hears every message and every HTTP exchange of this connection. Default: none, which costs nothing. */
  readonly tap?: Tap;
  /** Ends the attempt to connect. It has no effect on an open connection. */
  readonly signal?: AbortSignal;
  /** The time, for tests. Default: the clock of the system. */
  readonly clock?: Clock;
}

/** Hears an event in the moment in which it happens. An error that it throws goes to `onError` and disturbs no call. */
export type Tap = (event: TapEvent) => void;

/** One event of a connection. */
export type TapEvent = TapMoment & (TappedMessage | TappedHttp | TappedOther);

interface TapMoment {
  /** Milliseconds since 1970, with fractions. Never goes back within one process. */
  readonly at: number;
  /** The `label` of the call that the event belongs to, if it is known. */
  readonly call?: string;
}

/** One message, also one of a batch. */
interface TappedMessage {
  readonly kind: "message";
  readonly from: "client" | "server";
  /** The text exactly as it was sent. Messages that are passed as objects have the text that JSON gives them. */
  readonly text: string;
  /** The HTTP exchange that carried it. */
  readonly exchange?: number;
}

/** A step of one HTTP request with its response. Sign-in has exchanges of its own, which no tap hears. */
interface TappedHttp {
  readonly kind: "http";
  /** The same number for all steps of an exchange. */
  readonly exchange: number;
  /** `end`: the response is complete, or this side has closed it, as `reason` says. `failed`: there is no more response. */
  readonly stage: "sent" | "status" | "end" | "failed";
  readonly method?: string;
  /** Without the values of its query. */
  readonly url?: string;
  /** By lower-case name. Values that may be secrets are replaced: of a request all but those of the protocol. */
  readonly headers?: HttpHeaders;
  readonly status?: number;
  /** Bytes of the response that were read. */
  readonly bytes?: number;
  readonly reason?: string;
}

type TappedOther =
  /** A line of the server's standard error. */
  | { readonly kind: "stderr"; readonly line: string }
  /** Input that is no message. `text` is its beginning; empty if it was not read. */
  | { readonly kind: "invalid"; readonly text: string; readonly reason: string }
  | TappedLinkState;

/**
 * The state of the connection. `renewed`: the server has lost its session, and there is a new one. `interrupted`: the server
 * did not continue the stream of its notifications, so that some may be missing.
 */
interface TappedLinkState {
  readonly kind: "link";
  readonly state: "open" | "renewed" | "interrupted" | "login" | "lost" | "closed";
  readonly reason?: string;
}

/** Watches the requests of a client, and may add members to their `_meta`. An error that it throws goes to `onError`. */
export interface RequestObserver {
  /**
   * Called before a request is sent, in the context of its caller. A call with questions sends a request for each round;
   * agreeing on a revision also takes requests. Return undefined to ignore the request.
   */
  begin(request: ObservedRequest): RequestObservation | undefined;
  /**
   * Called before a request of a stateful server is answered: a question, such as `elicitation/create`. Stateless servers ask
   * in results. Return undefined to ignore the question. Default: questions are not observed.
   */
  beginQuestion?(question: ObservedRequest): QuestionObservation | undefined;
  /**
   * Called when a session with a stateful server has begun. The function that it returns is called once, when the session
   * has ended: with an error unless this side closed it. Default: sessions are not observed.
   */
  beginSession?(session: ObservedSession): ((error?: Error) => void) | undefined;
}

/** A session that has begun. */
export interface ObservedSession {
  /** The protocol version of the server. */
  readonly version: string;
  readonly transport: ObservedTransport;
}

/** The observation of one question. */
export interface QuestionObservation {
  /** Called once: with the answer that is sent, or with the reason why none is sent. */
  end(outcome: RequestOutcome): void;
  /** Runs the work that answers the question. Default: runs it plainly. */
  run?(work: () => void): void;
}

/** A request that is about to be sent, or a question that is about to be answered. */
export interface ObservedRequest {
  readonly id: RequestId;
  readonly method: string;
  /** The params as they are on the wire. Do not change them. */
  readonly params: JsonObject;
  /** Undefined until the client and the server have agreed on a revision. */
  readonly server: ServerProfile | undefined;
  readonly transport: ObservedTransport;
}

/** The transport of an observed request. */
export interface ObservedTransport {
  /** `"other"` for a channel, and for a link of the application's own. */
  readonly kind: "stdio" | "http" | "other";
  /** The address of a server over HTTP. */
  readonly url?: URL;
  /** The session at a stateful server over HTTP. */
  readonly sessionId?: string | undefined;
}

/** The observation of one request. */
export interface RequestObservation {
  /** Added to the `_meta` of the request. */
  readonly meta?: Meta;
  /** Called once: with the response, or with the reason why there is none. */
  end(outcome: RequestOutcome): void;
  /** Runs what follows the response, such as the answers to its questions and the next round. Default: runs it plainly. */
  run?(work: () => void): void;
}

/** The result as the server sent it. The error is an `RpcError` if the server sent it. */
export type RequestOutcome = { readonly result: JsonObject } | { readonly error: Error };

/** Options of every call of a client. */
export interface CallOptions extends Timeouts {
  /** Cancels the call. It rejects with an `AbortError`, and the server is told. */
  readonly signal?: AbortSignal;
  /** Receives each progress notification of the call. */
  readonly onProgress?: (progress: Progress) => void;
  /** Answers for the questions of this call. They take precedence over those of the client. */
  readonly answers?: Answers;
  /** Replaces the client's capabilities for this call; stateless servers only. */
  readonly capabilities?: ClientCapabilities;
  /** The least severe log message of this call; stateless servers only. Default: the `logLevel` of the client. */
  readonly logLevel?: LogLevel;
  /** Sent in `_meta`. Members of the protocol take precedence. */
  readonly meta?: Meta;
  /** Bypasses the cache. */
  readonly fresh?: boolean;
  /** The caller's own name for this call. The questions of the call have it in their context; it is not sent. */
  readonly label?: string;
}

/** Options of the calls that a server may answer with questions. */
export interface InteractiveCallOptions extends CallOptions {
  /** `false` returns a round of questions to the caller, who calls again with the answers. Default: `true`. */
  readonly autoAnswer?: boolean;
  /** The answers to a returned round of questions. */
  readonly inputResponses?: InputResponses;
  /** The state of a returned round of questions, unchanged. */
  readonly requestState?: string;
}

/** Options of a tool call. */
export interface ToolCallOptions extends InteractiveCallOptions {
  /**
   * The arguments as the text of one JSON object, sent as it is: numbers keep all their digits, and members their order. Line
   * breaks between members become spaces. Pass it instead of the argument `args`.
   */
  readonly argumentsText?: string;
  /**
   * `"report"` returns a result that does not match the tool's output schema, and passes the problems to `onOutputProblems`.
   * Default: `"refuse"`, which rejects with "answer-invalid".
   */
  readonly output?: "refuse" | "report";
  /** Called before the call resolves, if `output` is `"report"` and the result does not match. */
  readonly onOutputProblems?: (problems: readonly string[]) => void;
}

/** Options of `client.request`. */
export interface RawRequestOptions extends CallOptions {
  /**
   * The params as the text of one JSON object, sent as it is but for the members of the protocol in `_meta`. Pass it instead
   * of the argument `params`.
   */
  readonly paramsText?: string;
}

/** Options of a call whose arguments are serialized already. */
export interface SerializedCallOptions extends ToolCallOptions {
  /** The arguments as `JSON.stringify` writes them, so that they are not serialized twice. */
  readonly serializedArguments?: string | undefined;
  /** Replaces the arguments of a request by their own text. */
  readonly rewrite?: (request: RpcRequest) => RpcRequest;
  /** Gets the running call, so that it can be cancelled without a signal of its own, which would cost on every call. */
  readonly handle?: CallHandle | undefined;
}

/** Holds a call while it runs. */
export interface CallHandle {
  running: { cancel(reason: Error): void } | undefined;
}

/** The circumstances of a question. */
export interface QuestionContext {
  /** The server that asks. */
  readonly server: ServerProfile | undefined;
  /** The request that led to the question, if it is known. */
  readonly during?:
    | { readonly method: string; readonly name: string | undefined; readonly label?: string | undefined }
    | undefined;
  /** Aborts when the question is cancelled, its call ends, or the connection is lost. */
  readonly signal: AbortSignal;
}

/**
 * The client's answers to a server's questions, the same on every revision. Each member is declared as a capability.
 * Throw to refuse a question, which ends the server's call.
 */
export interface Answers {
  /** Fills in a form. The library adds the defaults of missing fields and checks accepted content (see `checkForms`). */
  elicit?(params: ElicitFormParams, context: QuestionContext): MaybePromise<ElicitResult>;
  /** Shows the address and opens it with the user's consent. Return `accept` for consent. */
  openUrl?(params: ElicitUrlParams, context: QuestionContext): MaybePromise<ElicitResult>;
  /** Calls the client's model. To receive tools, declare `sampling: { tools: {} }` in `capabilities`. */
  sample?(params: CreateMessageParams, context: QuestionContext): MaybePromise<CreateMessageResult>;
  /** The directories that the server may use. */
  roots?: readonly Root[] | ((context: QuestionContext) => MaybePromise<readonly Root[]>);
}

/** A server that is started as a child process and uses its standard input and output. */
export interface CommandTarget {
  readonly command: string;
  readonly args?: readonly string[];
  readonly cwd?: string;
  /** Variables for the child. Of our own, the child gets only those that every program needs, such as `PATH`. */
  readonly env?: { readonly [name: string]: string };
  /** The longest line that is read. Default: 16 MiB. */
  readonly maxMessageBytes?: number;
  /** Receives every line of the child's standard error. */
  readonly onStderr?: (line: string) => void;
  /** Longest time of each step of the shutdown: end of input, SIGTERM, SIGKILL. Default: 2 seconds. */
  readonly graceMs?: number;
}
