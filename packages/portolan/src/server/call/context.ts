import type { MaybePromise } from "../../async.ts";
import type { JsonObject, RequestId } from "../../jsonrpc/message.ts";
import { mayAsk } from "../../protocol/questions.ts";
import { type AskableCapability, metaOf, type Peer } from "../../protocol/revision.ts";
import type {
  ClientCapabilities,
  CreateMessageParams,
  CreateMessageResult,
  Implementation,
  ListRootsResult,
  LogLevel,
  Root,
} from "../../protocol/types/index.ts";
import type { Schema } from "../../schema/infer.ts";
import type { Conversation, Strategy } from "../ask/conversation.ts";
import type { Form } from "../ask/form.ts";
import type { FullResult, ServerOptions } from "../define/definition.ts";
import type { ServerRuntime } from "../runtime.ts";
import { loadQuestions, type Principal, type ServedExchange } from "./exchange.ts";

/** The user's reaction to a form: filled in (`accept`), refused (`decline`), or closed without an answer (`cancel`). */
export type ElicitAnswer<T> = { action: "accept"; content: T } | { action: "decline" } | { action: "cancel" };

/** A form for the user to fill in. */
export interface ElicitForm<T> {
  message: string;
  /** The fields; compile them once with `form(schema)` where the program starts. */
  form: Form<T> | Schema<T>;
}

/** A page for the user to open. */
export interface OpenUrl {
  message: string;
  url: string;
  /** Resolves when the user has finished there. Default: the client's answer means that the user has finished. */
  ready?: (signal: AbortSignal) => MaybePromise<void>;
}

/** The context of every handler: the caller, and notifications to it. */
export interface RequestContext<App> {
  /** The id that the client gave to the request. */
  readonly requestId: RequestId;
  /** Aborts when the client cancels the request or disconnects. */
  readonly signal: AbortSignal;
  /** The client's own description of itself, which is not verified. */
  readonly client: Implementation | undefined;
  /** The capabilities that the client has declared. */
  readonly capabilities: ClientCapabilities;
  /** The protocol version of this request. */
  readonly protocolVersion: string;
  /** The caller. Local programs over stdio have the key "local". */
  readonly principal: Principal;
  /** The `_meta` of the request. */
  readonly meta: JsonObject | undefined;
  /** The value that the server's `app` option made for this request. */
  readonly app: App;
  /** Sends a progress notification if the client asked for progress. */
  progress(progress: number, total?: number, message?: string): void;
  /** Describes the state of the call, such as "3 of 40 frames": as the status of its task, or with a progress notification. */
  status(message: string): void;
  /** Sends a log message if the client wants that level. Do not log secrets. */
  log(level: LogLevel, data: unknown, logger?: string): void;
  /**
   * Closes the connection of a long call, but not the call: the client reconnects by itself for the rest. Does nothing
   * where the client's revision does not reconnect.
   */
  hangUp(): void;
}

/** The context of tools, prompts and resources, which may ask the client. */
export interface Context<App = undefined> extends RequestContext<App> {
  /** Asks the user to fill in a form. `key` names the question; keys must differ within a call. */
  elicit<T = JsonObject>(key: string, question: ElicitForm<T>): Promise<ElicitAnswer<T>>;
  /** Asks the user to confirm. Resolves to true only if the user accepts. */
  confirm(key: string, message: string): Promise<boolean>;
  /** Asks the user to open a page, and waits until the user has finished there. */
  openUrl(key: string, page: OpenUrl): Promise<{ action: "accept" | "decline" | "cancel" }>;
  /** Asks the client's model. */
  sample(key: string, params: CreateMessageParams): Promise<CreateMessageResult>;
  /** Asks for the folders that the client works on. */
  roots(key?: string): Promise<Root[]>;
  /** Returns whether this client can be asked. */
  mayAsk(question: AskableCapability): boolean;
  /** Runs a side effect once, although the handler may run again after a question. */
  once<T>(key: string, effect: () => MaybePromise<T>): Promise<T>;
  /** Returns the answer to a question of `inputRequired`; undefined in the first round. */
  answer(key: string): JsonObject | undefined;
  /** Returns the state that was given to `inputRequired` in the previous round. */
  state(): unknown;
  /** Returns an error result which says that the user cancelled. */
  cancelled(message?: string): FullResult<never>;
}

// Hot path: one object per request and no closures.
export class HandlerContext<App> implements Context<App> {
  readonly #exchange: ServedExchange;
  readonly #runtime: ServerRuntime;
  readonly #makeApp: ServerOptions<App>["app"] | undefined;
  readonly #strategy: Strategy;
  #app: { made: App } | undefined;

  constructor(
    exchange: ServedExchange,
    runtime: ServerRuntime,
    makeApp: ServerOptions<App>["app"],
    strategy: Strategy = "replay",
  ) {
    this.#exchange = exchange;
    this.#runtime = runtime;
    this.#makeApp = makeApp;
    this.#strategy = strategy;
  }

  get requestId(): RequestId {
    return this.#exchange.id;
  }

  get signal(): AbortSignal {
    return this.#exchange.signal;
  }

  get client(): Implementation | undefined {
    return this.#exchange.peer.info;
  }

  get capabilities(): ClientCapabilities {
    return this.#exchange.peer.capabilities;
  }

  get protocolVersion(): string {
    return this.#exchange.peer.revision.version;
  }

  get principal(): Principal {
    return this.#exchange.principal;
  }

  get meta(): JsonObject | undefined {
    return metaOf(this.#exchange.request.params);
  }

  get app(): App {
    const { principal } = this.#exchange;
    this.#app ??= { made: this.#makeApp?.({ principal, meta: this.meta }) as App };
    return this.#app.made;
  }

  progress(progress: number, total?: number, message?: string): void {
    this.#exchange.progress(progress, total, message);
  }

  status(message: string): void {
    this.#exchange.status(message);
  }

  log(level: LogLevel, data: unknown, logger?: string): void {
    if (!this.#runtime.snapshot.logging || !mayLog(this.#exchange.current.peer, level)) return;
    this.#exchange.notify("notifications/message", { level, ...(logger !== undefined && { logger }), data });
  }

  hangUp(): void {
    this.#exchange.current.returnPath.hangUp?.();
  }

  elicit<T = JsonObject>(key: string, question: ElicitForm<T>): Promise<ElicitAnswer<T>> {
    return this.#ask((questions, conversation) => questions.elicit(conversation, key, question));
  }

  confirm(key: string, message: string): Promise<boolean> {
    return this.#ask((questions, conversation) => questions.confirm(conversation, key, message));
  }

  openUrl(key: string, page: OpenUrl): Promise<{ action: "accept" | "decline" | "cancel" }> {
    return this.#ask((questions, conversation) => questions.openUrl(conversation, this.#exchange, key, page));
  }

  sample(key: string, params: CreateMessageParams): Promise<CreateMessageResult> {
    return this.#ask((questions, conversation) => {
      questions.checkSampling(params);
      return questions.askFor(conversation, key, { method: "sampling/createMessage", params });
    });
  }

  roots(key = "roots"): Promise<Root[]> {
    return this.#ask(async (questions, conversation) => {
      const { roots } = await questions.askFor<ListRootsResult>(conversation, key, { method: "roots/list" });
      return roots;
    });
  }

  once<T>(key: string, effect: () => MaybePromise<T>): Promise<T> {
    return this.#ask((_, conversation) => conversation.once(key, effect));
  }

  mayAsk(question: AskableCapability): boolean {
    return mayAsk(this.#exchange.peer, question);
  }

  answer(key: string): JsonObject | undefined {
    return this.#exchange.conversation?.rawAnswer(key) as JsonObject | undefined;
  }

  state(): unknown {
    const text = this.#exchange.conversation?.userState;
    return text === undefined ? undefined : JSON.parse(text);
  }

  cancelled(message = "Cancelled by the user."): FullResult<never> {
    return { content: [{ type: "text", text: message }], isError: true };
  }

  #ask<T>(ask: (questions: Questions, conversation: Conversation) => Promise<T>): Promise<T> {
    const exchange = this.#exchange;
    // A handler that asks by a request may end before the answer, such as after a timeout of its own.
    const counted = exchange.asksByRequests ? 0 : 1;
    exchange.unansweredQuestions += counted;
    const asked = new Asked<T>((resolve, reject) => {
      const end = <V>(settle: (value: V) => void) => {
        return (value: V) => {
          exchange.unansweredQuestions -= counted;
          settle(value);
        };
      };
      loadQuestions()
        .then((questions) => ask(questions, questions.conversationOf(this.#runtime, exchange, this.#strategy)))
        .then(end(resolve), end(reject));
    });
    // A question that the handler does not await fails the call, and must not end the process.
    asked.catch(() => {});
    exchange.unawaitedQuestions += 1;
    asked.onAwait = () => {
      exchange.unawaitedQuestions -= 1;
    };
    return asked;
  }
}

/** The promise of an answer, which knows whether the handler awaits it. */
class Asked<T> extends Promise<T> {
  onAwait: (() => void) | undefined;

  override then<A = T, B = never>(
    onFulfilled?: ((value: T) => A | PromiseLike<A>) | null,
    onRejected?: ((reason: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    this.onAwait?.();
    this.onAwait = undefined;
    return super.then(onFulfilled, onRejected);
  }
}

type Questions = typeof import("../ask/questions.ts");

const severity: { [L in LogLevel]: number } = {
  debug: 0,
  info: 1,
  notice: 2,
  warning: 3,
  error: 4,
  critical: 5,
  alert: 6,
  emergency: 7,
};

/** Returns whether a peer wants log messages of this level. Without a level, the revision decides. */
export function mayLog({ logLevel, revision }: Peer, level: LogLevel): boolean {
  if (logLevel === undefined) return revision.logsUnasked;
  return severity[level] >= severity[logLevel];
}
