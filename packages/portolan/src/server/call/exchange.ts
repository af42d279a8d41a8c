import { isPromise, type MaybePromise } from "../../async.ts";
import { PortolanError } from "../../errors.ts";
import type { JsonObject, RequestId, RpcRequest } from "../../jsonrpc/message.ts";
import { type Outcome, type Peer, progressTokenOf } from "../../protocol/revision.ts";
import type { InputRequest, InputRequests, ProgressToken } from "../../protocol/types/index.ts";
import type { Conversation } from "../ask/conversation.ts";
import type { SessionMemory } from "../channel/session.ts";
import type { Runtime } from "../subscribe/hub.ts";

/** Who a request is made for. Sessions, answers, states and subscriptions are bound to `key`. */
export interface Principal {
  readonly key: string;
  readonly issuer?: string;
  readonly subject?: string;
  readonly clientId?: string;
  readonly scopes?: readonly string[];
  /** Milliseconds since the epoch. */
  readonly expiresAt?: number;
  /** All that its token says, though never the token. */
  readonly claims?: { readonly [claim: string]: unknown };
}

/** The user of this machine, who started the process. */
export const localPrincipal: Principal = { key: "local" };

/** The way back to the one who asked; a transport provides it. */
export interface ReturnPath {
  notify(method: string, params: JsonObject): void;
  /** Puts a question to the client as a request of its own; present where the peer's revision asks that way. */
  ask?(exchange: ServedExchange, question: InputRequest): Promise<JsonObject>;
  /** Checks what the transport says of a tool's arguments against them; throws what the client is to hear. */
  checkArguments?(inputSchema: JsonObject, args: JsonObject): MaybePromise<void>;
  /** Ends the connection of a request whose client comes back for the rest. */
  hangUp?(): void;
  /** Whether results are wanted as JSON text. */
  readonly writesText?: boolean | undefined;
  /** What is remembered of a stateful peer. */
  readonly session?: SessionMemory | undefined;
}

/** One request being served, as middleware and extensions see it: who asked, what for, and ways to talk back. */
export interface Exchange {
  readonly request: RpcRequest;
  readonly id: RequestId;
  readonly method: string;
  readonly params: JsonObject;
  readonly peer: Peer;
  readonly principal: Principal;
  /** Aborts when the client cancels or goes away. */
  readonly signal: AbortSignal;
  readonly isCancelled: boolean;
  /** Sends a notification about this request, as far as the peer's revision has it. */
  notify(method: string, params: JsonObject): void;
  /** Tells how far the work is, if the client wants to know. */
  progress(progress: number, total?: number, message?: string): void;
  /** The same request with other params, to hand on to `next`. */
  withParams(params: JsonObject): Exchange;
}

/** The exchange behind the interface, with what only the library needs. */
export class ServedExchange implements Exchange {
  readonly request: RpcRequest;
  readonly peer: Peer;
  readonly principal: Principal;
  /** Questions put to the client in this exchange; made when the first one is asked. */
  conversation: Conversation | undefined;
  /** Questions that were begun and have not come to an end. */
  openQuestions = 0;
  /** Lets the conversation answer before the handler has ended. */
  settleEarly: ((outcome: MaybePromise<Outcome>) => void) | undefined;
  #back: ReturnPath;
  #controller: AbortController | undefined;
  #cancelled: Error | undefined;
  #cancelListeners: ((reason: Error) => void)[] | undefined;
  #ended = false;
  #lastProgress: number | undefined;
  #later: ServedExchange | undefined;
  #whenEnded: (() => void)[] | undefined;
  #isToEnd = false;
  #gracefulEnd: (() => void) | undefined;

  constructor(request: RpcRequest, peer: Peer, principal: Principal, back: ReturnPath) {
    this.request = request;
    this.peer = peer;
    this.principal = principal;
    this.#back = back;
  }

  get id(): RequestId {
    return this.request.id;
  }

  get method(): string {
    return this.request.method;
  }

  get params(): JsonObject {
    return this.request.params ?? noParams;
  }

  get session(): SessionMemory | undefined {
    return this.#back.session;
  }

  get back(): ReturnPath {
    return this.#back;
  }

  /** Aborts when the client cancels or goes away. Made on first use: most handlers never look at it. */
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

  /** Whether the handler may end only with an answer to what it asked, and did not wait for it. */
  get forgotQuestion(): boolean {
    return this.openQuestions > 0 && this.peer.revision.questions === "in-result";
  }

  /** The request that is being answered: this one, or the retry that a parked handler continues on. */
  get current(): ServedExchange {
    return this.#later ?? this;
  }

  /** False once the answer is on its way or the client has cancelled: nothing more may be said. */
  get isOpen(): boolean {
    return this.#cancelled === undefined && !this.current.#ended;
  }

  /** Sends a notification about this request, as far as the peer's revision has it. */
  notify(method: string, params: JsonObject): void {
    if (!this.isOpen || this.conversation?.isStopped) return;
    const encoded = this.peer.revision.encodeNotification(method, params);
    if (encoded) this.#back.notify(method, encoded);
  }

  /** Tells how far the work is; values that do not grow are not sent, because the protocol forbids them. */
  progress(progress: number, total?: number, message?: string): void {
    const progressToken = this.progressToken;
    if (progressToken === undefined || !Number.isFinite(progress)) return;
    if (this.#lastProgress !== undefined && progress <= this.#lastProgress) return;
    this.#lastProgress = progress;
    const params: JsonObject = { progressToken, progress };
    if (total !== undefined) params["total"] = total;
    if (message !== undefined) params["message"] = message;
    this.notify("notifications/progress", params);
  }

  get progressToken(): ProgressToken | undefined {
    return progressTokenOf(this.current.request.params);
  }

  /** Runs when this exchange is cancelled, at once if it has been. */
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

  /** Aborts the handler's signal without cancelling the exchange: its answer is a question. */
  abortHandler(reason: Error): void {
    if (!this.#controller) this.#controller = new AbortController();
    this.#controller.abort(reason);
  }

  /** Ends a request that would otherwise stay open, with its result, as soon as it has begun. */
  endGracefully(): void {
    this.#isToEnd = true;
    this.#gracefulEnd?.();
  }

  /** Says how to end a request that stays open. */
  onGracefulEnd(end: () => void): void {
    this.#gracefulEnd = end;
    if (this.#isToEnd) end();
  }

  /** Marks the answer as given. */
  end(): void {
    this.#ended = true;
    if (this.#whenEnded) for (const resolve of this.#whenEnded) resolve();
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
    const changed = new ServedExchange({ ...this.request, params }, this.peer, this.principal, this.#back);
    this.onCancel((reason) => changed.cancel(reason));
    this.ended.then(() => changed.end());
    return changed;
  }

  /** Goes on talking through a later request: a parked handler continues on the retry of its call. */
  continueOn(later: ServedExchange): void {
    this.#later = later;
    this.#back = later.#back;
    this.#lastProgress = undefined;
    later.onCancel((reason) => this.cancel(reason));
  }
}

const noParams: JsonObject = {};

/** What a handler's function produced: an outcome, or questions it lists itself. */
export type Produced = Outcome | ExplicitQuestions;

/** The value of `inputRequired`: the client is asked, and the handler runs again with `ctx.answer(key)`. */
export interface ExplicitQuestions {
  readonly kind: "questions";
  readonly requests: InputRequests | undefined;
  /** JSON text. */
  readonly state: string | undefined;
}

/** Ends a handler with questions to the client; on every revision it runs again when they are answered. */
export function inputRequired(round: { requests?: InputRequests; state?: unknown }): ExplicitQuestions {
  if (round?.requests === undefined && round?.state === undefined) {
    throw new PortolanError("invalid-argument", "inputRequired: expected requests, a state, or both; got neither");
  }
  return { kind: "questions", requests: round.requests, state: JSON.stringify(round.state) };
}

/** Everything about asking; loaded when the first question or answer comes by. */
export function loadAsking(): Promise<typeof import("../ask/questions.ts")> {
  return import("../ask/questions.ts");
}

/** A handler to run, once or again after each round of answers. */
export type HandlerRun = () => MaybePromise<Produced>;

/** Runs a handler that may ask the client, in the way the client's revision allows. */
export function runHandler(runtime: Runtime, exchange: ServedExchange, run: HandlerRun): MaybePromise<Outcome> {
  const { inputResponses, requestState } = exchange.params;
  const isRetry = requestState !== undefined || inputResponses !== undefined;
  if (!isRetry || exchange.peer.revision.questions === "requests") return attempt(runtime, exchange, run);
  return loadAsking().then(({ retry }) => retry(runtime, exchange, run));
}

/** Runs a handler for one round; what it returns after a question that stopped it is refused loudly. */
export function attempt(runtime: Runtime, exchange: ServedExchange, run: HandlerRun): MaybePromise<Outcome> {
  const produced = run();
  if (isPromise(produced)) return awaitHandler(runtime, exchange, run, produced);
  return finish(runtime, exchange, run, produced);
}

function finish(
  runtime: Runtime,
  exchange: ServedExchange,
  run: HandlerRun,
  produced: Produced,
): MaybePromise<Outcome> {
  if (exchange.conversation?.isStopped || exchange.forgotQuestion) {
    return loadAsking().then(({ swallowed }) => {
      throw swallowed(exchange);
    });
  }
  if (produced.kind !== "questions") return produced;
  return loadAsking().then(({ answerExplicitly }) => answerExplicitly(runtime, exchange, run, produced));
}

/** Waits for a handler that may be stopped, parked, or go on in a later request. */
function awaitHandler(
  runtime: Runtime,
  exchange: ServedExchange,
  run: HandlerRun,
  produced: Promise<Produced>,
): Promise<Outcome> {
  return new Promise((resolve) => {
    exchange.settleEarly = resolve;
    const settle = (outcome: MaybePromise<Outcome>) => {
      if (exchange.conversation?.isAnswered && isPromise(outcome)) {
        // The questions have been the answer: nobody but the operator can hear of this.
        outcome.catch((mistake) => runtime.report(mistake, exchange.method));
        return;
      }
      const target = exchange.conversation?.current ?? exchange;
      target.settleEarly?.(outcome);
    };
    produced.then(
      (value) => settle(finish(runtime, exchange, run, value)),
      (cause) => {
        // A stopped handler ends with an error on its way out; the questions are the answer.
        if (!exchange.conversation?.isStopped) settle(Promise.reject(cause));
      },
    );
  });
}
