import type { MaybePromise } from "../../async.ts";
import { nameOf, PortolanError } from "../../errors.ts";
import { type JsonObject, RpcError } from "../../jsonrpc/message.ts";
import { invalidParams, missingCapability } from "../../protocol/errors.ts";
import { encodeQuestion, lackedBy } from "../../protocol/questions.ts";
import type { InputRequired, Outcome } from "../../protocol/revision.ts";
import type {
  CreateMessageParams,
  FormSchema,
  InputRequest,
  InputRequests,
  SamplingContent,
} from "../../protocol/types/index.ts";
import { array, object, oneOf, optional, record, type ShapeCheck, string } from "../../schema/shape.ts";
import { canonicalJson, sha256 } from "../../storage/crypto.ts";
import type { SentQuestion, ServedExchange } from "../call/exchange.ts";
import type { ServerRuntime } from "../runtime.ts";
import {
  emptyState,
  type Parking,
  type RoundState,
  type SealedState,
  type StateSealer,
  sealState,
} from "./round-state.ts";

/**
 * How questions reach the client. `send`: as requests. `replay`: in the result, and the handler runs again with the
 * answers. `park`: in the result, and the handler waits in memory.
 */
export type Strategy = "send" | "replay" | "park";

/** Keeps the rounds of a call that outlives its requests. */
export interface RoundKeeper {
  /** The rounds so far; undefined in the first one. */
  readonly state: SealedState | undefined;
  /** The answers to the questions of the last round, by key. */
  readonly received: ReadonlyMap<string, unknown>;
  /** Keeps the state of a round whose questions are asked next. Returns the `requestState`, if the client gets one. */
  keep(exchange: ServedExchange, state: SealedState): Promise<string | undefined>;
  /** Called before an effect of `once` runs. Throws if it must not run. */
  effectBegins(key: string): MaybePromise<void>;
  /** Called with its result before the handler goes on. */
  effectEnded(key: string, resultText: string): MaybePromise<void>;
}

/** The questions of one call to its client, over all its rounds. */
export class Conversation {
  /** The request that is answered next: a parked handler outlives the first one. */
  current: ServedExchange;
  readonly #exchange: ServedExchange;
  readonly #strategy: Strategy;
  readonly #sealer: StateSealer;
  readonly #parking: Parking;
  readonly #state: SealedState;
  /** The answers that came with this request. Without a state, nobody was asked for them. */
  readonly #received: ReadonlyMap<string, unknown>;
  readonly #hasState: boolean;
  readonly #keeper: RoundKeeper | undefined;
  readonly #keys = new Set<string>();
  /** Questions of a handler that runs again. */
  readonly #pending = new Map<string, InputRequest>();
  /** Questions of a handler that waits in memory. */
  readonly #waiting = new Map<string, WaitingQuestion>();
  /** The handle under which the handler is parked. */
  #handle: string | undefined;
  /** The outcome of a parked handler that ended between two rounds. */
  #outcome: Promise<Outcome> | undefined;
  #busy = 0;
  #turn: "none" | "running" | "over" = "none";
  /** True if the questions were sent as the answer to the current request. */
  isAnswered = false;
  /** Cancelled alone if the questions are withdrawn; also cancelled with the exchange. */
  #asking: ServedExchange | undefined;

  constructor(
    exchange: ServedExchange,
    strategy: Strategy,
    { sealer, parking }: RoundState,
    state?: SealedState,
    received: ReadonlyMap<string, unknown> = new Map(),
    keeper?: RoundKeeper,
  ) {
    this.#keeper = keeper;
    this.#exchange = exchange;
    this.current = exchange;
    this.#strategy = strategy;
    this.#sealer = sealer;
    this.#parking = parking;
    this.#state = state ?? emptyState();
    this.#hasState = state !== undefined;
    this.#received = received;
  }

  /** True if a question suspended the handler, so that its end is not the answer. */
  get isSuspended(): boolean {
    return this.#pending.size > 0;
  }

  /** The state that the handler gave to `inputRequired` in the previous round, as JSON text. */
  get userState(): string | undefined {
    return this.#state.userState;
  }

  /** The results of `once`, which must not run again in a later round. */
  get effects(): SealedState["once"] {
    return this.#state.once;
  }

  /** Returns the unchecked answer to a question that `inputRequired` asked in the previous round. */
  rawAnswer(key: string): unknown {
    return this.#state.asked.has(key) ? this.#received.get(key) : undefined;
  }

  ask(key: string, question: InputRequest): Promise<JsonObject> {
    const answer = this.#ask(key, question);
    // A question that the handler does not await must not end the process.
    answer.catch(() => {});
    return answer;
  }

  async #ask(key: string, question: InputRequest): Promise<JsonObject> {
    this.#claim("question", key);
    const encoded = this.checked(question);
    if (this.#strategy === "send") {
      // A handler that has returned without awaiting the question fails in this turn, and nothing is asked.
      await undefined;
      let answer: JsonObject;
      try {
        answer = await this.#send(encoded);
      } catch (cause) {
        // An error of another stage is our own: a limit of the caller.
        throw cause instanceof RpcError && cause.stage === "handler" ? toRefusal(cause) : cause;
      }
      return checkAnswer(key, encoded, answer);
    }
    if (this.#strategy === "park") return checkAnswer(key, encoded, await this.#wait(key, encoded));
    const answer = await this.#recall(key, encoded);
    if (answer) return answer;
    if (this.isAnswered) throw exchangeEnded();
    this.#pending.set(key, encoded);
    const suspended = new SuspendError();
    this.#exchange.abortHandler(suspended);
    this.#takeTurn();
    throw suspended;
  }

  /** Returns the question as the peer's revision encodes it. Throws if its client cannot be asked. */
  checked(question: InputRequest): InputRequest {
    const { revision, capabilities } = this.current.peer;
    const missing = lackedBy(capabilities, revision, question);
    if (missing) throw missingCapability(missing, question.method);
    return encodeQuestion(revision, question);
  }

  /** Runs a side effect once for all rounds of a call. Its result is kept as JSON. */
  async once<T>(key: string, effect: () => T | Promise<T>): Promise<T> {
    this.#claim("once", key);
    const known = this.#state.once.get(key);
    if (known !== undefined) return JSON.parse(known);
    if (this.isSuspended) throw new SuspendError();
    this.#busy += 1;
    try {
      await this.#keeper?.effectBegins(key);
      const text = JSON.stringify(await effect()) ?? "null";
      this.#state.once.set(key, text);
      await this.#keeper?.effectEnded(key, text);
      return JSON.parse(text);
    } finally {
      this.#busy -= 1;
      // Code that awaited this may ask more before the questions are sent.
      if (this.#turn === "over") this.#takeTurn();
    }
  }

  /** Continues a parked handler with the answers of a retry. Throws for a wrong answer before anything changes. */
  resume(later: ServedExchange, received: ReadonlyMap<string, unknown>): void {
    const answered = [...this.#waiting].filter(([key]) => received.has(key));
    for (const [key, { question }] of answered) checkAnswer(key, question, received.get(key));
    this.current = later;
    this.#exchange.continueOn(later);
    this.isAnswered = false;
    this.#turn = "none";
    for (const [key, { resolve }] of answered) {
      this.#waiting.delete(key);
      resolve(received.get(key) as JsonObject);
    }
    if (this.#waiting.size > 0) this.#takeTurn();
  }

  /** The outcome of a parked handler that ended while no request waited for it: the answer to the retry. */
  get outcome(): Promise<Outcome> | undefined {
    return this.#outcome;
  }

  /** Keeps the outcome of a handler whose request is answered with questions. Reports it if no retry can get it. */
  endUnheard(outcome: MaybePromise<Outcome>, runtime: ServerRuntime): void {
    const handle = this.#handle;
    const ended = Promise.resolve(outcome);
    if (this.#strategy !== "park") ended.catch((mistake) => runtime.report(mistake, this.#exchange.origin));
    else if (handle !== undefined) this.#outcome = ended.then((done) => this.#parking.keep(handle, done));
    // The error goes to the retry.
    this.#outcome?.catch(() => {});
    ended.catch(() => {});
  }

  /** Rejects the questions of a parked handler whose client did not come back. */
  abandon(reason: Error): void {
    this.#exchange.abortHandler(reason);
    for (const { reject } of this.#waiting.values()) reject(reason);
    this.#waiting.clear();
  }

  /** Returns the interim result for the questions of `inputRequired`. */
  async explicit(requests: InputRequests | undefined, userState: string | undefined): Promise<InputRequired> {
    const questions = new Map(Object.entries(requests ?? {}).map(([key, question]) => [key, this.checked(question)]));
    const { userState: _before, ...state } = this.#state;
    return this.#interim(userState === undefined ? state : { ...state, userState }, questions);
  }

  /** Asks nothing any more and withdraws open questions: the request is answered with an error. */
  close(reason: Error): void {
    this.isAnswered = true;
    this.#asking?.cancel(reason);
  }

  #claim(what: string, key: string): void {
    if (!this.#exchange.isOpen) throw exchangeEnded();
    const name = `${what}:${key}`;
    if (this.#keys.has(name)) {
      throw new PortolanError(
        "question-repeated",
        `The ${what} key "${key}" was used twice in one call; keys must differ`,
      );
    }
    this.#keys.add(name);
  }

  #send(question: InputRequest): Promise<JsonObject> {
    const { returnPath } = this.#exchange;
    if (!returnPath.ask)
      throw new PortolanError("capability-missing", "This transport cannot send questions to the client");
    if (this.isAnswered) throw exchangeEnded();
    this.#asking ??= this.#exchange.withParams(this.#exchange.params);
    const observation = this.#exchange.observeQuestion?.(this.#exchange, question);
    if (!observation) return returnPath.ask(this.#asking, question);
    return observed(observation, returnPath.ask(this.#asking, withMeta(question, observation.meta)));
  }

  /** Returns the answer from this or an earlier round, if it was given to a question with the same wording. */
  async #recall(key: string, question: InputRequest): Promise<JsonObject | undefined> {
    const known = this.#state.answers.get(key);
    const received = this.#received.get(key);
    if (!known && received === undefined) return undefined;
    this.#busy += 1;
    try {
      const digest = await digestOf(question);
      if (known?.digest === digest) return known.answer;
      if (received === undefined || (this.#hasState && this.#state.asked.get(key) !== digest)) return undefined;
      const answer = checkAnswer(key, question, received);
      if (!this.#hasState && isConsent(question)) return undefined;
      this.#state.answers.set(key, { digest, answer });
      return answer;
    } finally {
      this.#busy -= 1;
      // Code that awaited this may ask more before the questions are sent.
      if (this.#turn === "over") this.#takeTurn();
    }
  }

  #wait(key: string, question: InputRequest): Promise<JsonObject> {
    return new Promise((resolve, reject) => {
      this.#waiting.set(key, { question, resolve, reject });
      this.#takeTurn();
    });
  }

  /** Waits one turn, so that questions of parallel branches are sent together. */
  #takeTurn(): void {
    if (this.#turn === "running") return;
    this.#turn = "running";
    setTimeout(() => {
      this.#turn = "over";
      this.#answerWhenIdle();
    }, 0);
  }

  #answerWhenIdle(): void {
    if (this.#turn !== "over" || this.#busy > 0 || this.isAnswered) return;
    if (this.#pending.size === 0 && this.#waiting.size === 0) return;
    this.isAnswered = true;
    this.current.settleEarly?.(this.#toOutcome());
  }

  async #toOutcome(): Promise<Outcome> {
    if (this.#strategy === "replay") return this.#interim(this.#state, this.#pending);
    const { rounds } = this.#state;
    this.#state.rounds = rounds + 1;
    const questions = new Map([...this.#waiting].map(([key, { question }]) => [key, question]));
    try {
      this.#handle = this.#parking.park(this, this.current, this.#exchange);
    } catch (refusal) {
      // The handler must not wait for answers that cannot come.
      this.abandon(refusal as Error);
      throw refusal;
    }
    return this.#interim({ ...emptyState(), rounds, parked: this.#handle }, questions);
  }

  async #interim(before: SealedState, questions: ReadonlyMap<string, InputRequest>): Promise<InputRequired> {
    const asked = new Map<string, string>();
    for (const [key, question] of questions) asked.set(key, await digestOf(question));
    const next = { ...before, asked, rounds: before.rounds + 1 };
    const kept = this.#keeper
      ? await this.#keeper.keep(this.current, next)
      : await sealState(this.#sealer, this.current, next);
    const state = kept === undefined ? {} : { state: kept };
    if (questions.size === 0) return { kind: "input_required", ...state };
    return { kind: "input_required", requests: Object.fromEntries(questions), ...state };
  }
}

function withMeta({ method, params }: InputRequest, meta: JsonObject): InputRequest {
  return { method, params: { ...params, _meta: { ...params?._meta, ...meta } } } as InputRequest;
}

async function observed(observation: SentQuestion, answer: Promise<JsonObject>): Promise<JsonObject> {
  try {
    const result = await answer;
    observation.end({ result });
    return result;
  } catch (error) {
    observation.end({ error });
    throw error;
  }
}

/**
 * Returns whether a bare yes answers the question: a page to open, or a form that requires nothing but check boxes. A yes
 * counts only for words that the user was shown. Information may come unasked, as the official conformance suite sends it.
 */
function isConsent({ method, params }: InputRequest): boolean {
  if (method !== "elicitation/create") return false;
  const { required = [], properties = {} } = (
    params.mode === "url" ? {} : params.requestedSchema
  ) as Partial<FormSchema>;
  return required.every((name) => properties[name]?.type === "boolean");
}

interface WaitingQuestion {
  readonly question: InputRequest;
  readonly resolve: (answer: JsonObject) => void;
  readonly reject: (reason: Error) => void;
}

/** Thrown into a handler whose request is answered with questions. The handler runs again with the answers. */
export class SuspendError extends Error {
  override readonly name = "SuspendError";
  constructor() {
    super(
      "The client is being asked, and the handler runs again with the answers. " +
        "Do not catch the error that suspends the handler.",
    );
  }
}

/** Marks the client's own error, so that a handler can tell it from the errors of this server. */
function toRefusal(cause: RpcError): RpcError {
  const { code, message, data } = cause;
  return new RpcError(code, message, { data, kind: "question-refused", cause });
}

function digestOf(question: InputRequest): Promise<string> {
  return sha256(canonicalJson(question));
}

function exchangeEnded(): PortolanError {
  return new PortolanError(
    "exchange-ended",
    "This request was answered or cancelled; its handler can ask nothing more",
  );
}

const answerShapes: { [method: string]: ShapeCheck } = {
  "elicitation/create": object({ action: oneOf("accept", "decline", "cancel"), content: optional(record()) }),
  "sampling/createMessage": object({ role: oneOf("user", "assistant"), content: content, model: string }),
  "roots/list": object({ roots: array(object({ uri: fileUri, name: optional(string) })) }),
};

/** Returns the answer as an object. Throws the error for the client if it has the wrong shape. */
export function checkAnswer(key: string, question: InputRequest, answer: unknown): JsonObject {
  const problem = answerShapes[question.method]?.(answer, `answer "${key}"`);
  if (problem !== undefined) throw invalidParams(problem);
  return answer as JsonObject;
}

function content(value: unknown, path: string): string | undefined {
  const block = object({ type: string });
  return Array.isArray(value) ? array(block)(value, path) : block(value, path);
}

function fileUri(value: unknown, path: string): string | undefined {
  if (typeof value === "string" && value.startsWith("file://")) return undefined;
  return `${path}: expected a file:// URI, got ${nameOf(value)}`;
}

/** Throws if the messages break a rule of the protocol, before they reach the client. */
export function checkSampling(params: CreateMessageParams): void {
  let open = new Set<string>();
  params.messages.forEach((message, index) => {
    const blocks: SamplingContent[] = Array.isArray(message.content) ? message.content : [message.content];
    const results = blocks.filter((block) => block.type === "tool_result");
    if (results.length > 0 && results.length < blocks.length) {
      throw invalidMessages(`messages[${index}]: expected only tool results beside a tool result`);
    }
    for (const result of results) {
      if (!open.delete(result.toolUseId))
        throw invalidMessages(`messages[${index}]: the message before it has no tool use "${result.toolUseId}"`);
    }
    if (open.size > 0)
      throw invalidMessages(`messages[${index}]: expected a result for the tool use "${[...open][0]}" before it`);
    open = new Set(blocks.filter((block) => block.type === "tool_use").map((use) => use.id));
  });
  if (open.size > 0) throw invalidMessages(`messages: expected a result for the last tool use "${[...open][0]}"`);
}

function invalidMessages(why: string): PortolanError {
  return new PortolanError("invalid-argument", `ctx.sample: ${why}`);
}
