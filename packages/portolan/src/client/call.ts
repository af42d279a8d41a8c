import { onAbort } from "../async.ts";
import { nameOf, PortolanError } from "../errors.ts";
import { type JsonObject, type RequestId, RpcError, type RpcResponse } from "../jsonrpc/message.ts";
import { checkOptions, type OptionKinds, type OptionNames } from "../options.ts";
import type { InputRequired } from "../protocol/revision.ts";
import type { InputResponses } from "../protocol/types/index.ts";
import { any, array, integer, object, optional, type ShapeCheck, string } from "../schema/shape.ts";
import type { ResponseSink } from "./channel-link.ts";
import type { ClientConnection } from "./connection.ts";
import type { Timed } from "./deadlines.ts";
import { aborted, disconnected, timedOut, toError } from "./failures.ts";
import type { CallOptions, InteractiveCallOptions, RawRequestOptions, SerializedCallOptions } from "./options.ts";

type Resolve = (result: JsonObject) => void;
type Reject = (reason: Error) => void;

/** One call from its first request to its result, including all rounds of questions. */
export class Call implements ResponseSink, Timed {
  readonly method: string;
  /** Owned by the call: `_meta` is written into them. */
  params: JsonObject;
  readonly options: SerializedCallOptions;
  readonly idleMs: number;
  readonly totalMs: number;
  id: RequestId = 0;
  dueAt = 0;
  /** Checks the result before the caller receives it; throws if it is invalid. */
  inspect: ((result: JsonObject) => void) | undefined;
  /** Number of requests sent. */
  rounds = 0;
  /** True if an extension has changed the params. */
  isPrepared = false;
  readonly #connection: ClientConnection;
  readonly #resolve: Resolve;
  readonly #reject: Reject;
  #totalAt = 0;
  #openQuestions = 0;
  #pausedAt = 0;
  #isOver = false;
  #stopWaiting: (() => void) | undefined;
  /** Aborts the answers to its questions; created with the first question. */
  #questions: AbortController | undefined;

  constructor(
    connection: ClientConnection,
    method: string,
    params: JsonObject,
    options: SerializedCallOptions,
    resolve: Resolve,
    reject: Reject,
  ) {
    this.#connection = connection;
    this.method = method;
    this.params = params;
    this.options = options;
    this.idleMs = options.idleMs ?? connection.idleMs;
    this.totalMs = options.totalMs ?? connection.totalMs;
    this.#resolve = resolve;
    this.#reject = reject;
    if (options.handle) options.handle.running = this;
  }

  /** Sends the request, unless another call has sent it before. */
  start(wasSent = false): void {
    if (this.#isOver) return;
    const { signal, inputResponses, requestState } = this.options;
    if (signal) {
      if (signal.aborted) {
        this.fail(aborted(this.what, signal, false));
        return;
      }
      this.#stopWaiting = onAbort(signal, () => this.#giveUp(aborted(this.what, signal, true)));
    }
    const now = this.#connection.deadlines.now();
    this.#totalAt = now + this.totalMs;
    this.dueAt = Math.min(now + this.idleMs, this.#totalAt);
    if (!wasSent) this.#send(inputResponses, requestState);
  }

  /** The call's name in error messages. */
  get what(): string {
    const name = this.name;
    return name === undefined ? this.method : `${this.method} ${JSON.stringify(name)}`;
  }

  get name(): string | undefined {
    const { name, uri } = this.params;
    if (typeof name === "string") return name;
    return typeof uri === "string" ? uri : undefined;
  }

  /** Aborts when the call is over, for any reason. */
  get questionSignal(): AbortSignal {
    this.#questions ??= new AbortController();
    return this.#questions.signal;
  }

  /** Restarts the idle time, because the server has reported progress. */
  touch(): void {
    if (this.#openQuestions === 0) this.dueAt = Math.min(this.#connection.deadlines.now() + this.idleMs, this.#totalAt);
  }

  /** Stops the clock of the call while a question is open or a person signs in. */
  pause(): void {
    this.#openQuestions += 1;
    if (this.#openQuestions > 1) return;
    this.#pausedAt = this.#connection.deadlines.now();
    this.dueAt = Number.POSITIVE_INFINITY;
  }

  resume(): void {
    this.#openQuestions -= 1;
    if (this.#openQuestions > 0 || this.#isOver) return;
    const now = this.#connection.deadlines.now();
    this.#totalAt += now - this.#pausedAt;
    this.dueAt = Math.min(now + this.idleMs, this.#totalAt);
    this.#connection.deadlines.watch(this);
  }

  /** Ends the call with this reason, and tells the server if it has the request. */
  cancel(reason: Error): void {
    if (this.rounds > 0) this.#giveUp(reason);
    else this.fail(reason);
  }

  response(response: RpcResponse): void {
    this.#connection.calls.delete(this.id);
    this.#connection.firstAnswer?.(response);
    if ("error" in response) {
      const { code, message, data } = response.error;
      this.fail(new RpcError(code, message, { data }));
      return;
    }
    try {
      const { extensions } = this.#connection;
      if (extensions?.take(this, response.result)) return;
      const outcome = this.#connection.codec.decodeResult(this.method, response.result);
      if (outcome.kind === "complete") this.complete(outcome.result);
      else if (this.options.autoAnswer === false) this.#succeed(response.result);
      else this.#answer(outcome);
    } catch (reason) {
      this.fail(toError(reason));
    }
  }

  failed(reason: Error): void {
    this.fail(disconnected(this.what, reason));
  }

  expire(now: number): void {
    const silence = `${this.what}: no answer and no progress for ${this.idleMs} ms; raise idleMs if it may take longer`;
    const length = `${this.what}: no result for ${this.totalMs} ms; raise totalMs if it may take longer`;
    this.#giveUp(timedOut(now >= this.#totalAt ? length : silence));
  }

  #send(inputResponses: InputResponses | undefined, requestState: string | undefined): void {
    const connection = this.#connection;
    this.rounds += 1;
    this.id = connection.nextId();
    let params = this.params;
    if (inputResponses !== undefined) params = { ...params, inputResponses };
    if (requestState !== undefined) params = { ...params, requestState };
    connection.calls.set(this.id, this);
    connection.deadlines.watch(this);
    try {
      const text = params === this.params ? connection.textOf(this) : undefined;
      if (text !== undefined) connection.link.exchangeText?.(this.id, text, this);
      else {
        const request = connection.encode(this.id, this.method, params, this.options);
        connection.link.exchange(this.options.rewrite?.(request) ?? request, this);
      }
    } catch (reason) {
      this.fail(toError(reason));
    }
  }

  complete(result: JsonObject): void {
    const problem = problemOfResult(this.method, result);
    if (problem === undefined) {
      this.inspect?.(result);
      this.#succeed(result);
    } else this.fail(new PortolanError("answer-invalid", `${this.what}: the server's result is invalid: ${problem}`));
  }

  /** Answers a round of questions and sends the request again, with a new id and the unchanged state. */
  async #answer(round: InputRequired): Promise<void> {
    this.pause();
    // Between two requests the link knows nothing of this call, so the call itself must learn of a loss.
    const stopWaiting = this.#connection.onLost((reason) => this.failed(reason));
    try {
      const answers = await (await this.#connection.answerer()).answerRound(round, this);
      if (this.#isOver) return;
      this.resume();
      this.#send(answers, round.state);
    } catch (reason) {
      this.fail(toError(reason));
    } finally {
      stopWaiting();
    }
  }

  #giveUp(reason: Error): void {
    if (this.#isOver) return;
    this.#connection.link.cancel(this.id, reason.message);
    this.fail(reason);
  }

  #succeed(result: JsonObject): void {
    if (this.#isOver) return;
    this.#end();
    this.#resolve(result);
  }

  fail(reason: Error): void {
    if (this.#isOver) return;
    this.#end();
    this.#reject(reason);
  }

  #end(): void {
    this.#isOver = true;
    this.#connection.calls.delete(this.id);
    this.#stopWaiting?.();
    this.#questions?.abort(new PortolanError("cancelled", `${this.what} has ended`));
  }
}

/** The type of each option of a call. */
export const callOptionKinds: OptionKinds<CallOptions> = {
  idleMs: "number",
  totalMs: "number",
  signal: "object",
  onProgress: "function",
  answers: "object",
  capabilities: "object",
  logLevel: "string",
  meta: "object",
  fresh: "boolean",
  label: "string",
};
/** Options that only this library and its host use. */
type OwnOptions = Pick<SerializedCallOptions, "serializedArguments" | "handle" | "rewrite">;
export const interactiveOptionKinds: OptionKinds<InteractiveCallOptions & OwnOptions> = {
  ...callOptionKinds,
  autoAnswer: "boolean",
  inputResponses: "object",
  requestState: "string",
  serializedArguments: "string",
  handle: "object",
  rewrite: "function",
};
export const requestOptionKinds: OptionKinds<RawRequestOptions & InteractiveCallOptions & OwnOptions> = {
  ...interactiveOptionKinds,
  paramsText: "string",
};
export const toolOptionKinds: OptionKinds<SerializedCallOptions> = {
  ...interactiveOptionKinds,
  argumentsText: "string",
  output: "string",
  onOutputProblems: "function",
};

/** Returns a rejection if an option is unknown or of another type. Hot path: otherwise nothing is allocated. */
export function rejectInvalid<T extends object>(
  options: T,
  kinds: OptionKinds<T>,
  where: string,
): Promise<never> | undefined {
  if (typeof options !== "object" || options === null) return rejectArgument(where, "an object of options", options);
  for (const name in options) {
    const kind = kinds[name];
    const value: unknown = options[name];
    const fits = typeof value === kind && (kind === "number" ? (value as number) >= 0 : value !== null);
    if (!fits && (value !== undefined || !kind)) return rejectOption(name, value, kinds, where);
  }
  return undefined;
}

async function rejectOption(name: string, value: unknown, kinds: OptionKinds<object>, where: string): Promise<never> {
  const names = kinds as object as OptionNames<object>;
  const option: object = { [name]: value };
  checkOptions(option, names, where, { synonyms: { timeout: "idleMs" } });
  const kind = kinds[name as never];
  return rejectArgument(
    `${where}: ${name}`,
    kind === "number" ? "a number from 0 on" : `a value of type ${kind}`,
    value,
  );
}

export function rejectArgument(what: string, expected: string, got: unknown): Promise<never> {
  return Promise.reject(new PortolanError("invalid-argument", `${what}: expected ${expected}, got ${nameOf(got)}`));
}

/** Returns undefined for a valid result. */
function problemOfResult(method: string, result: unknown): string | undefined {
  return shapes.get(method)?.(result, "result");
}

/** Items of a list are checked one by one in lists.ts, so that an invalid one does not take the others with it. */
const page = (member: string): ShapeCheck => object({ [member]: array(any), nextCursor: optional(string) });
const typed = object({ type: string });

/** Hot path: checks the result of a tool without building a path for each block. */
function toolResult(value: unknown, path: string): string | undefined {
  const content = (value as { content?: unknown } | null | undefined)?.content;
  if (!Array.isArray(content)) return anyContent(value, path);
  for (const block of content) if (typeof block?.type !== "string") return anyContent(value, path);
  return undefined;
}

const anyContent = object({ content: array(typed) });

/** The members that readers of a result rely on. Everything else is passed on as it came. */
const shapes: ReadonlyMap<string, ShapeCheck> = new Map([
  ["tools/call", toolResult],
  ["tools/list", page("tools")],
  ["resources/list", page("resources")],
  ["resources/templates/list", page("resourceTemplates")],
  ["resources/read", object({ contents: array(object({ uri: string })) })],
  ["prompts/list", page("prompts")],
  ["prompts/get", object({ messages: array(object({ role: string })) })],
  ["completion/complete", object({ completion: object({ values: array(string), total: optional(integer) }) })],
]);
