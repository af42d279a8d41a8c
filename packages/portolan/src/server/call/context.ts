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
import type { Runtime } from "../subscribe/hub.ts";
import { loadAsking, type Principal, type ServedExchange } from "./exchange.ts";

type Asking = typeof import("../ask/questions.ts");

/** What the user did with a form: filled it in, refused, or closed it. */
export type ElicitAnswer<T> = { action: "accept"; content: T } | { action: "decline" } | { action: "cancel" };

/** A question to the user by a form. */
export interface ElicitForm<T> {
  message: string;
  /** The fields; compile them once with `form(schema)` where the program starts. */
  form: Form<T> | Schema<T>;
}

/** A question that sends the user to a page. */
export interface OpenUrl {
  message: string;
  url: string;
  /** Resolves when what the user does there is done; absent means that coming back says so. */
  ready?: (signal: AbortSignal) => MaybePromise<void>;
}

/** What every handler receives: who asks, and ways to talk back that need no answer. */
export interface RequestContext<App> {
  readonly requestId: RequestId;
  /** Aborts when the client cancels or is gone. */
  readonly signal: AbortSignal;
  /** Advisory: what the client says of itself. */
  readonly client: Implementation | undefined;
  readonly capabilities: ClientCapabilities;
  /** The protocol version this request is spoken in. */
  readonly protocolVersion: string;
  readonly principal: Principal;
  /** The `_meta` of the request. */
  readonly meta: JsonObject | undefined;
  /** What the server's `app` option made for this request. */
  readonly app: App;
  /** Tells how far the work is, if the client wants to know. */
  progress(progress: number, total?: number, message?: string): void;
  /** Sends a log message, if the client wants that level. Keep secrets out of it. */
  log(level: LogLevel, data: unknown, logger?: string): void;
  /**
   * Ends the connection of a call that takes long, and not the call: clients whose revision has that come back by
   * themselves for what is still said. Does nothing where they would not.
   */
  hangUp(): void;
}

/** What tools, prompts and resources receive: they may ask the client too. */
export interface Context<App = undefined> extends RequestContext<App> {
  /** Asks the user to fill in a form. Keys name questions and must differ within a call. */
  elicit<T = JsonObject>(key: string, question: ElicitForm<T>): Promise<ElicitAnswer<T>>;
  /** Asks the user for a yes; everything else is a no. */
  confirm(key: string, message: string): Promise<boolean>;
  /** Sends the user to a page, and waits until it is done there. */
  openUrl(key: string, page: OpenUrl): Promise<{ action: "accept" | "decline" | "cancel" }>;
  /** Asks the client's model. */
  sample(key: string, params: CreateMessageParams): Promise<CreateMessageResult>;
  /** Asks which folders the client works on. */
  roots(key?: string): Promise<Root[]>;
  /** Whether this client can be asked, so that a handler may do without. */
  mayAsk(question: AskableCapability): boolean;
  /** Runs a side effect once, although the handler may run again after a question. */
  once<T>(key: string, effect: () => MaybePromise<T>): Promise<T>;
  /** The answer to a question of `inputRequired`, undefined in the first round. */
  answer(key: string): JsonObject | undefined;
  /** The state given to `inputRequired` in the round before. */
  state(): unknown;
  /** A result that says that the user did not want it. */
  cancelled(message?: string): FullResult<never>;
}

/** One context per request, without closures: what is not used costs nothing. */
export class HandlerContext<App> implements Context<App> {
  readonly #exchange: ServedExchange;
  readonly #runtime: Runtime;
  readonly #makeApp: ServerOptions<App>["app"] | undefined;
  readonly #strategy: Strategy;
  #app: { made: App } | undefined;

  constructor(
    exchange: ServedExchange,
    runtime: Runtime,
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

  log(level: LogLevel, data: unknown, logger?: string): void {
    if (!this.#runtime.snapshot.logging || !mayLog(this.#exchange.current.peer, level)) return;
    this.#exchange.notify("notifications/message", { level, ...(logger !== undefined && { logger }), data });
  }

  hangUp(): void {
    this.#exchange.current.back.hangUp?.();
  }

  elicit<T = JsonObject>(key: string, question: ElicitForm<T>): Promise<ElicitAnswer<T>> {
    return this.#talk((asking, conversation) => asking.elicit(conversation, key, question));
  }

  confirm(key: string, message: string): Promise<boolean> {
    return this.#talk((asking, conversation) => asking.confirm(conversation, key, message));
  }

  openUrl(key: string, page: OpenUrl): Promise<{ action: "accept" | "decline" | "cancel" }> {
    return this.#talk((asking, conversation) => asking.openUrl(conversation, this.#exchange, key, page));
  }

  sample(key: string, params: CreateMessageParams): Promise<CreateMessageResult> {
    return this.#talk((asking, conversation) => {
      asking.checkSampling(params);
      return asking.askFor(conversation, key, { method: "sampling/createMessage", params });
    });
  }

  roots(key = "roots"): Promise<Root[]> {
    return this.#talk(async (asking, conversation) => {
      const { roots } = await asking.askFor<ListRootsResult>(conversation, key, { method: "roots/list" });
      return roots;
    });
  }

  once<T>(key: string, effect: () => MaybePromise<T>): Promise<T> {
    return this.#talk((_, conversation) => conversation.once(key, effect));
  }

  mayAsk(question: AskableCapability): boolean {
    return mayAsk(this.#exchange.peer, question);
  }

  answer(key: string): JsonObject | undefined {
    return this.#exchange.conversation?.given(key) as JsonObject | undefined;
  }

  state(): unknown {
    const text = this.#exchange.conversation?.userState;
    return text === undefined ? undefined : JSON.parse(text);
  }

  cancelled(message = "Cancelled by the user."): FullResult<never> {
    return { content: [{ type: "text", text: message }], isError: true };
  }

  /** Begins or goes on with the conversation; a promise that is never awaited must not end the process. */
  #talk<T>(say: (asking: Asking, conversation: Conversation) => Promise<T>): Promise<T> {
    const exchange = this.#exchange;
    exchange.openQuestions += 1;
    const said = loadAsking()
      .then((asking) => say(asking, asking.conversationOf(this.#runtime, exchange, this.#strategy)))
      .finally(() => {
        exchange.openQuestions -= 1;
      });
    said.catch(() => {});
    return said;
  }
}

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

/** Whether a peer wants log messages of this level; one that never named a level gets what its revision sends unasked. */
export function mayLog({ logLevel, revision }: Peer, level: LogLevel): boolean {
  if (logLevel === undefined) return revision.logsUnasked;
  return severity[level] >= severity[logLevel];
}
