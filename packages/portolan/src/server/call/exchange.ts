import { isPromise, type MaybePromise } from "../../async.ts";
import { PortolanError } from "../../errors.ts";
import type { Channel } from "../../jsonrpc/channel.ts";
import type { JsonObject, RequestId, RpcRequest } from "../../jsonrpc/message.ts";
import { checkOptions } from "../../options.ts";
import { type Outcome, type Peer, progressTokenOf, type Revision } from "../../protocol/revision.ts";
import type { InputRequest, InputRequests, ProgressToken } from "../../protocol/types/index.ts";
import type { Conversation, RoundKeeper } from "../ask/conversation.ts";
import type { Caller } from "../callers.ts";
import type { SessionSettings } from "../channel/session.ts";
import type { ErrorReport } from "../define/definition.ts";
import type { ServerRuntime } from "../runtime.ts";

/** The identity that a request is made for. Sessions, answers, states and subscriptions are bound to `key`. */
export interface Principal {
  /** Identifies the caller: sessions, answers and subscriptions belong to it. */
  readonly key: string;
  /** The authorization server that issued the token. */
  readonly issuer?: string;
  /** The user of the token, unique at its issuer. */
  readonly subject?: string;
  /** The client program that got the token. */
  readonly clientId?: string;
  /** The scopes that the token allows. */
  readonly scopes?: readonly string[];
  /** Milliseconds since the epoch. */
  readonly expiresAt?: number;
  /** The claims of its token, without the token itself. */
  readonly claims?: { readonly [claim: string]: unknown };
}

/** The user of this machine, who started the process. */
export const localPrincipal: Principal = { key: "local" };

/** The caller of an HTTP server without authentication. All of them are one principal. */
export const anonymous: Principal = { key: "anonymous" };

/** One request being served, as middleware and extensions see it. */
export interface Exchange {
  /** The request as it was received. */
  readonly request: RpcRequest;
  /** The id of the request. */
  readonly id: RequestId;
  /** The method, such as "tools/call". */
  readonly method: string;
  /** The parameters. To change them, pass `exchange.withParams(…)` to `next`. */
  readonly params: JsonObject;
  /** The client: its revision, capabilities and name. */
  readonly peer: Peer;
  /** The caller. */
  readonly principal: Principal;
  /** Aborts when the client cancels the request or disconnects. */
  readonly signal: AbortSignal;
  /**
   * True once the request is cancelled or its client is gone. Nothing is sent then, whatever the outcome: middleware that
   * counts calls checks it after `next`, because a handler that ignores its signal still completes.
   */
  readonly isCancelled: boolean;
  /** Sends a notification about this request. Does nothing if the peer's revision does not have it. */
  notify(method: string, params: JsonObject): void;
  /** Sends a progress notification if the client asked for progress. */
  progress(progress: number, total?: number, message?: string): void;
  /** Returns the same request with other params, to hand to `next`. */
  withParams(params: JsonObject): Exchange;
}

/** The return value of `inputRequired`. */
export interface ExplicitQuestions {
  readonly kind: "questions";
  readonly requests: InputRequests | undefined;
  /** JSON text. */
  readonly state: string | undefined;
}

/**
 * Ends a handler with questions to the client. The handler runs again with the answers, which `ctx.answer(key)` returns;
 * `ctx.state()` returns `state`. Works on every revision.
 */
export function inputRequired(round: { requests?: InputRequests; state?: unknown }): ExplicitQuestions {
  if (typeof round === "object" && round !== null) checkOptions(round, { requests: 1, state: 1 }, "inputRequired");
  if (round?.requests === undefined && round?.state === undefined) {
    throw new PortolanError("invalid-argument", "inputRequired: expected requests or a state");
  }
  return { kind: "questions", requests: round.requests, state: JSON.stringify(round.state) };
}

/** The way back to the client of a request; each transport provides one. */
export interface ReturnPath {
  notify(method: string, params: JsonObject): void;
  /** Sends a question to the client as a request. Present where the peer's revision asks by requests. */
  ask?(exchange: ServedExchange, question: InputRequest): Promise<JsonObject>;
  /** The way to the client of a session over HTTP outside its requests. Undefined while the client has no stream for that here. */
  readonly outsideRequests?: ReturnPath | undefined;
  /** Shows a description of the state of a task. Present for calls that run as tasks. */
  status?(message: string): void;
  /** Compares the arguments of a tool with the headers that repeat them. Throws the error for the client. */
  checkArguments?(inputSchema: JsonObject, args: JsonObject): MaybePromise<void>;
  /** The headers of the HTTP request, on a revision whose headers repeat parts of the message. */
  readonly httpRequest?: { header(name: string): string | undefined };
  /** Closes the connection of a request if its client reconnects by itself. */
  hangUp?(): void;
  /** True if the transport takes results as JSON text. */
  readonly writesText?: boolean | undefined;
  /** How bytes travel, where that is known and not HTTP. */
  readonly network?: Channel["network"] | undefined;
  /** The id of the session of a stateful peer over HTTP. */
  readonly sessionId?: string;
  /** The session of a stateful peer. */
  readonly session?: SessionSettings | undefined;
  /** Calls the listener when the session that a handshake began has ended, as far as this process is told. */
  onSessionEnd?(listener: () => void): void;
  /** The caller whose limits the request uses. Absent where callers are not counted. */
  readonly caller?: Caller | undefined;
  /** False if the client is gone although its request goes on. Absent where a request ends with its connection. */
  readonly isConnected?: boolean;
}

/** Watches a question that is sent to the client as a request. Returns undefined to ignore it. */
export type ObserveQuestion = (exchange: ServedExchange, question: InputRequest) => SentQuestion | undefined;

/** A question on its way, for the middleware that watches it. */
export interface SentQuestion {
  /** Added to the `_meta` of the question. */
  readonly meta: JsonObject;
  /** Called once. */
  end(outcome: { readonly result: JsonObject } | { readonly error: unknown }): void;
}

/** The implementation of `Exchange`, with what only the library needs. */
export class ServedExchange implements Exchange {
  readonly request: RpcRequest;
  readonly id: RequestId;
  readonly method: string;
  readonly params: JsonObject;
  readonly peer: Peer;
  readonly principal: Principal;
  /** The way back to the client; that of the retry once a parked handler continues on one. */
  returnPath: ReturnPath;
  /** The questions of this exchange to its client; made with the first one. */
  conversation: Conversation | undefined;
  /** Set by middleware that watches questions. */
  observeQuestion: ObserveQuestion | undefined;
  /** Questions in results that are not answered yet. A handler that asks by requests may end before their answers. */
  unansweredQuestions = 0;
  /** Characters of its message that its channel counts. */
  size = 0;
  /** Called when the handler of a request that was not answered synchronously has ended. */
  onSettled: ((exchange: ServedExchange) => void) | undefined;
  /** True once its handler has ended, also if the request was cancelled before. */
  isSettled = false;
  /** Questions whose answer the handler does not await. */
  unawaitedQuestions = 0;
  /** Keeps the rounds of questions in another place than in a `requestState`. */
  rounds: RoundKeeper | undefined;
  /** How the handler asks where that is not the revision's way: a task asks in its state on every revision. */
  asksBy: Revision["questions"] | undefined;
  /** Answers the request before its handler has ended. */
  settleEarly: ((outcome: MaybePromise<Outcome>) => void) | undefined;
  #controller: AbortController | undefined;
  #cancelled: Error | undefined;
  #cancelListeners: ((reason: Error) => void)[] | undefined;
  #ended = false;
  #lastProgress: number | undefined;
  #later: ServedExchange | undefined;
  #whenEnded: (() => void)[] | undefined;
  #isEnding = false;
  #gracefulEnd: (() => void) | undefined;

  constructor(request: RpcRequest, peer: Peer, principal: Principal, returnPath: ReturnPath) {
    this.request = request;
    this.id = request.id;
    this.method = request.method;
    this.params = request.params ?? noParams;
    this.peer = peer;
    this.principal = principal;
    this.returnPath = returnPath;
  }

  /** The facts of the request that an operator may know; never its arguments. */
  get origin(): ErrorReport {
    const { method, params, principal, returnPath } = this;
    return { method, name: nameIn(params), principal: principal.key, caller: returnPath.caller?.key };
  }

  get session(): SessionSettings | undefined {
    return this.returnPath.session;
  }

  /** True if its questions are sent as requests; false if they are its result, and the handler runs again or is parked. */
  get asksByRequests(): boolean {
    return (this.asksBy ?? this.peer.revision.questions) === "requests";
  }

  /** Aborts when the client cancels the request or disconnects. Made on first use, because few handlers need it. */
  get signal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = new AbortController();
      if (this.#cancelled) this.#controller.abort(this.#cancelled);
    }
    return this.#controller.signal;
  }

  get isCancelled(): boolean {
    return this.#cancelled !== undefined;
  }

  /** False for a request that the protocol forbids to cancel. */
  get mayBeCancelled(): boolean {
    return this.peer.revision.requests.get(this.method)?.isUncancellable !== true;
  }

  /** The request that is answered next: this one, or the retry that a parked handler continues on. */
  get current(): ServedExchange {
    return this.#later ?? this;
  }

  /** False once the request is answered or cancelled; nothing more may be sent then. */
  get isOpen(): boolean {
    return this.#cancelled === undefined && !(this.#later ?? this).#ended;
  }

  notify(method: string, params: JsonObject): void {
    if (!this.isOpen || this.conversation?.isSuspended) return;
    const encoded = this.peer.revision.encodeNotification(method, params);
    if (encoded) this.returnPath.notify(method, encoded);
  }

  /** Drops values that do not increase, because the protocol forbids them. */
  progress(progress: number, total?: number, message?: string): void {
    if (message !== undefined) this.returnPath.status?.(message);
    const progressToken = this.progressToken;
    if (progressToken === undefined || !Number.isFinite(progress)) return;
    if (this.#lastProgress !== undefined && progress <= this.#lastProgress) return;
    this.#lastProgress = progress;
    const params: JsonObject = { progressToken, progress };
    if (total !== undefined) params["total"] = total;
    if (message !== undefined) params["message"] = message;
    this.notify("notifications/progress", params);
  }

  /** Describes the state of the call: as the status of its task, or with a progress notification. */
  status(message: string): void {
    if (this.returnPath.status) {
      this.returnPath.status(message);
      return;
    }
    const last = this.#lastProgress;
    // The least step, because a handler may report numbers of its own too.
    this.progress(last === undefined ? 0 : last + Math.max(1, Math.abs(last)) * 2 ** -20, undefined, message);
  }

  get progressToken(): ProgressToken | undefined {
    return progressTokenOf(this.current.request.params);
  }

  /** Calls the listener when this exchange is cancelled, at once if it is cancelled already. */
  onCancel(listener: (reason: Error) => void): void {
    if (this.#cancelled) listener(this.#cancelled);
    else {
      this.#cancelListeners ??= [];
      this.#cancelListeners.push(listener);
    }
  }

  cancel(reason: Error): void {
    if (this.#cancelled || this.current.#ended) return;
    this.#cancelled = reason;
    this.#controller?.abort(reason);
    for (const listener of this.#cancelListeners ?? []) listener(reason);
    for (const resolve of this.#whenEnded ?? []) resolve();
  }

  /** Aborts the handler's signal without cancelling the exchange, which is answered with questions. */
  abortHandler(reason: Error): void {
    this.#controller ??= new AbortController();
    this.#controller.abort(reason);
  }

  /** Ends an open-ended request with its result, as soon as it has begun. */
  endGracefully(): void {
    this.#isEnding = true;
    this.#gracefulEnd?.();
  }

  /** Sets the function that ends an open-ended request. */
  onGracefulEnd(end: () => void): void {
    this.#gracefulEnd = end;
    if (this.#isEnding) end();
  }

  /** Marks the answer as given. */
  end(): void {
    this.#ended = true;
    if (this.#whenEnded) for (const resolve of this.#whenEnded) resolve();
  }

  /** Marks the handler as ended. */
  settle(): void {
    this.isSettled = true;
    this.onSettled?.(this);
  }

  /** Resolves when this exchange is answered or cancelled. */
  get ended(): Promise<void> {
    if (!this.isOpen) return Promise.resolve();
    return new Promise((resolve) => {
      this.#whenEnded ??= [];
      this.#whenEnded.push(resolve);
    });
  }

  withParams(params: JsonObject): ServedExchange {
    const changed = new ServedExchange({ ...this.request, params }, this.peer, this.principal, this.returnPath);
    changed.observeQuestion = this.observeQuestion;
    changed.asksBy = this.asksBy;
    changed.rounds = this.rounds;
    this.onCancel((reason) => changed.cancel(reason));
    this.ended.then(() => changed.end());
    return changed;
  }

  /** Continues on a later request: a parked handler goes on with the retry of its call. */
  continueOn(later: ServedExchange): void {
    this.#later = later;
    this.returnPath = later.returnPath;
    this.#lastProgress = undefined;
    later.onCancel((reason) => this.cancel(reason));
  }
}

const noParams: JsonObject = {};

/** Returns the tool, prompt or URI that a request names, at most 200 characters of it. */
export function nameIn(params: JsonObject | undefined): string | undefined {
  const name = params?.["name"] ?? params?.["uri"];
  return typeof name === "string" ? name.slice(0, 200) : undefined;
}

/** The outcome of a handler, or the questions that it returned with `inputRequired`. */
export type Produced = Outcome | ExplicitQuestions;

/** Runs a handler: once, or again after each round of answers. */
export type HandlerRun = () => MaybePromise<Produced>;

/** Runs a handler that may ask the client. A retry with a state continues where the call before it stopped. */
export function runHandler(runtime: ServerRuntime, exchange: ServedExchange, run: HandlerRun): MaybePromise<Outcome> {
  if (exchange.rounds) return loadQuestions().then(({ continueRounds }) => continueRounds(runtime, exchange, run));
  const isRetry = exchange.params["requestState"] !== undefined;
  if (!isRetry || exchange.asksByRequests) return runOnce(runtime, exchange, run);
  return loadQuestions().then(({ retry }) => retry(runtime, exchange, run));
}

/** Runs a handler for one round. */
export function runOnce(runtime: ServerRuntime, exchange: ServedExchange, run: HandlerRun): MaybePromise<Outcome> {
  const produced = run();
  if (isPromise(produced)) return awaitHandler(runtime, exchange, run, produced);
  return finish(runtime, exchange, run, produced);
}

/** Throws if the handler returned without the answer to a question: it may have done what the user did not allow. */
function finish(
  runtime: ServerRuntime,
  exchange: ServedExchange,
  run: HandlerRun,
  produced: Produced,
): MaybePromise<Outcome> {
  const { conversation } = exchange;
  // A parked handler may end while its question is with the client, such as after a timeout of its own.
  if (
    conversation?.isSuspended ||
    exchange.unawaitedQuestions > 0 ||
    (exchange.unansweredQuestions > 0 && !conversation?.isAnswered)
  ) {
    return loadQuestions().then(({ ignoredQuestion }) => {
      throw ignoredQuestion(exchange);
    });
  }
  if (produced.kind !== "questions") return produced;
  return loadQuestions().then(({ askExplicitly }) => askExplicitly(runtime, exchange, run, produced));
}

/** Waits for a handler that may be suspended, parked, or continued on a later request. */
function awaitHandler(
  runtime: ServerRuntime,
  exchange: ServedExchange,
  run: HandlerRun,
  produced: Promise<Produced>,
): Promise<Outcome> {
  // A handler that asks by requests is answered when it ends, never before.
  if (exchange.asksByRequests) {
    return produced.then((value) => finish(runtime, exchange, run, value));
  }
  return new Promise((resolve) => {
    exchange.settleEarly = resolve;
    const settle = (outcome: MaybePromise<Outcome>) => {
      const { conversation } = exchange;
      // The request was answered with the questions: the outcome waits for the retry, or only the operator gets it.
      if (conversation?.isAnswered) conversation.endUnheard(outcome, runtime);
      else (conversation?.current ?? exchange).settleEarly?.(outcome);
    };
    produced.then(
      (value) => settle(finish(runtime, exchange, run, value)),
      (cause) => {
        // A suspended handler rejects with the error that suspended it; the questions are the answer.
        if (!exchange.conversation?.isSuspended) settle(Promise.reject(cause));
      },
    );
  });
}

/** Loads the code for questions, which is needed with the first question or answer only. */
export function loadQuestions(): Promise<typeof import("../ask/questions.ts")> {
  return import("../ask/questions.ts");
}
