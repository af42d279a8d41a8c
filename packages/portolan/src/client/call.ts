import { PortolanError } from "../errors.ts";
import { type JsonObject, type RequestId, RpcError, type RpcResponse } from "../jsonrpc/message.ts";
import type { InputRequired } from "../protocol/revision.ts";
import type { InputResponses } from "../protocol/types/index.ts";
import { array, integer, object, optional, record, type ShapeCheck, string } from "../schema/shape.ts";
import type { ResponseSink } from "./channel-link.ts";
import type { ClientConnection } from "./connection.ts";
import { pauseFor, type Timed } from "./deadlines.ts";
import { aborted, cutOff, timedOut, toError } from "./failures.ts";
import type { WrittenCallOptions } from "./options.ts";

/** As many rounds of questions as a server may need; official clients stop after ten. */
const maxRounds = 16;
const pauseBetweenEmptyRoundsMs = 100;
const longestPauseMs = 5_000;

type Resolve = (result: JsonObject) => void;
type Reject = (reason: Error) => void;

/** One call from its first request to its result, through any number of rounds of questions. */
export class Call implements ResponseSink, Timed {
  readonly method: string;
  /** Its own: `_meta` is written into them. */
  readonly params: JsonObject;
  readonly options: WrittenCallOptions;
  id: RequestId = 0;
  dueAt = 0;
  /** Looks at the result before the caller does, and throws if it is not what it should be. */
  inspect: ((result: JsonObject) => void) | undefined;
  /** How often it was sent. */
  rounds = 0;
  readonly #wire: ClientConnection;
  readonly #resolve: Resolve;
  readonly #reject: Reject;
  #totalAt = 0;
  #openQuestions = 0;
  #pausedAt = 0;
  #isOver = false;
  #abortListener: (() => void) | undefined;
  /** Aborts what answers its questions; made when there are any. */
  #questions: AbortController | undefined;

  constructor(
    wire: ClientConnection,
    method: string,
    params: JsonObject,
    options: WrittenCallOptions,
    resolve: Resolve,
    reject: Reject,
  ) {
    this.#wire = wire;
    this.method = method;
    this.params = params;
    this.options = options;
    this.#resolve = resolve;
    this.#reject = reject;
  }

  start(): void {
    const { signal, inputResponses, requestState } = this.options;
    if (signal) {
      if (signal.aborted) {
        this.#fail(aborted(this.what, signal, false));
        return;
      }
      this.#abortListener = () => this.#giveUp(aborted(this.what, signal, true));
      signal.addEventListener("abort", this.#abortListener, { once: true });
    }
    const now = this.#wire.deadlines.now();
    this.#totalAt = now + this.totalMs;
    this.dueAt = Math.min(now + this.idleMs, this.#totalAt);
    this.#send(inputResponses, requestState);
  }

  /** What this is, in messages. */
  get what(): string {
    const name = this.name;
    return name === undefined ? this.method : `${this.method} ${JSON.stringify(name)}`;
  }

  get name(): string | undefined {
    const { name, uri } = this.params;
    if (typeof name === "string") return name;
    return typeof uri === "string" ? uri : undefined;
  }

  get idleMs(): number {
    return this.options.idleMs ?? this.#wire.idleMs;
  }

  get totalMs(): number {
    return this.options.totalMs ?? this.#wire.totalMs;
  }

  /** Aborts when the call is over, however it ended. */
  get questionSignal(): AbortSignal {
    this.#questions ??= new AbortController();
    return this.#questions.signal;
  }

  /** The server shows that it is at work. */
  touch(): void {
    if (this.#openQuestions === 0) this.dueAt = Math.min(this.#wire.deadlines.now() + this.idleMs, this.#totalAt);
  }

  /** While somebody thinks about a question, no time passes for the call. */
  pause(): void {
    this.#openQuestions += 1;
    if (this.#openQuestions > 1) return;
    this.#pausedAt = this.#wire.deadlines.now();
    this.dueAt = Number.POSITIVE_INFINITY;
  }

  resume(): void {
    this.#openQuestions -= 1;
    if (this.#openQuestions > 0 || this.#isOver) return;
    const now = this.#wire.deadlines.now();
    this.#totalAt += now - this.#pausedAt;
    this.dueAt = Math.min(now + this.idleMs, this.#totalAt);
    this.#wire.deadlines.watch(this);
  }

  response(response: RpcResponse): void {
    this.#wire.calls.delete(this.id);
    this.#wire.firstAnswer?.(response);
    if ("error" in response) {
      const { code, message, data } = response.error;
      this.#fail(new RpcError(code, message, { data }));
      return;
    }
    try {
      const outcome = this.#wire.codec.decodeResult(this.method, response.result);
      if (outcome.kind === "complete") this.#complete(outcome.result);
      else if (this.options.autoAnswer === false) this.#succeed(response.result);
      else this.#answer(outcome);
    } catch (reason) {
      this.#fail(toError(reason));
    }
  }

  failed(reason: Error): void {
    this.#fail(cutOff(this.what, reason));
  }

  expire(now: number): void {
    const silence = `${this.what} was silent for ${this.idleMs} ms; raise idleMs if it may be`;
    const length = `${this.what} took more than ${this.totalMs} ms; raise totalMs if it may take longer`;
    this.#giveUp(timedOut(now >= this.#totalAt ? length : silence));
  }

  #send(inputResponses: InputResponses | undefined, requestState: string | undefined): void {
    const wire = this.#wire;
    this.rounds += 1;
    this.id = wire.nextId();
    let params = this.params;
    if (inputResponses !== undefined) params = { ...params, inputResponses };
    if (requestState !== undefined) params = { ...params, requestState };
    wire.calls.set(this.id, this);
    wire.deadlines.watch(this);
    try {
      const text = params === this.params ? wire.textOf(this) : undefined;
      if (text !== undefined) wire.link.exchangeText?.(this.id, text, this);
      else wire.link.exchange(wire.encode(this.id, this.method, params, this.options), this);
    } catch (reason) {
      this.#fail(toError(reason));
    }
  }

  #complete(result: JsonObject): void {
    const problem = problemOfResult(this.method, result);
    if (problem === undefined) {
      this.inspect?.(result);
      this.#succeed(result);
    } else this.#fail(new PortolanError("answer-invalid", `${this.what}: the server's result is unusable: ${problem}`));
  }

  /** Answers a round of questions and calls again, with a fresh id and the state exactly as it came. */
  async #answer({ requests, state }: InputRequired): Promise<void> {
    this.pause();
    // Between two requests nothing of this call is on its way, so that nobody else tells it.
    const stopWaiting = this.#wire.onLost((reason) => this.failed(reason));
    try {
      if (this.rounds >= maxRounds) {
        throw new PortolanError("limit-reached", `${this.what} asked in ${maxRounds} rounds and has not ended`);
      }
      const isEmpty = requests === undefined || Object.keys(requests).length === 0;
      if (isEmpty) await pauseFor(this.#wire.clock, pauseAfter(this.rounds), this.questionSignal);
      const answers = isEmpty ? undefined : await (await this.#wire.answering()).answerRound(requests, this);
      if (this.#isOver) return;
      this.resume();
      this.#send(answers, state);
    } catch (reason) {
      this.#fail(toError(reason));
    } finally {
      stopWaiting();
    }
  }

  #giveUp(reason: Error): void {
    if (this.#isOver) return;
    this.#wire.link.cancel(this.id, reason.message);
    this.#fail(reason);
  }

  #succeed(result: JsonObject): void {
    if (this.#isOver) return;
    this.#end();
    this.#resolve(result);
  }

  #fail(reason: Error): void {
    if (this.#isOver) return;
    this.#end();
    this.#reject(reason);
  }

  #end(): void {
    this.#isOver = true;
    this.#wire.calls.delete(this.id);
    if (this.#abortListener) this.options.signal?.removeEventListener("abort", this.#abortListener);
    this.#questions?.abort(new PortolanError("cancelled", `${this.what} is over`));
  }
}

/** A server that only hands its state back and forth is called again at once, then ever more slowly. */
function pauseAfter(rounds: number): number {
  return rounds === 1 ? 0 : Math.min(pauseBetweenEmptyRoundsMs * 2 ** (rounds - 2), longestPauseMs);
}

const page = (member: string, item: ShapeCheck): ShapeCheck =>
  object({ [member]: array(item), nextCursor: optional(string) });
const named = object({ name: string });
const typed = object({ type: string });

/** The way of every call: written by hand because it is taken so often. */
function toolResult(value: unknown, path: string): string | undefined {
  const content = (value as { content?: unknown } | null | undefined)?.content;
  if (!Array.isArray(content)) return anyContent(value, path);
  for (const block of content) if (typeof block?.type !== "string") return anyContent(value, path);
  return undefined;
}

const anyContent = object({ content: array(typed) });

/** What a result must have for its reader not to fall over; everything else in it is passed on as it came. */
const shapes: ReadonlyMap<string, ShapeCheck> = new Map([
  ["tools/call", toolResult],
  ["tools/list", page("tools", object({ name: string, inputSchema: record() }))],
  ["resources/list", page("resources", object({ uri: string }))],
  ["resources/templates/list", page("resourceTemplates", object({ uriTemplate: string }))],
  ["resources/read", object({ contents: array(object({ uri: string })) })],
  ["prompts/list", page("prompts", named)],
  ["prompts/get", object({ messages: array(object({ role: string })) })],
  ["completion/complete", object({ completion: object({ values: array(string), total: optional(integer) }) })],
]);

/** What is wrong with a result; undefined when it can be used. */
export function problemOfResult(method: string, result: unknown): string | undefined {
  return shapes.get(method)?.(result, "result");
}
