import { PortolanError } from "../../../errors.ts";
import {
  type JsonObject,
  type RequestId,
  RpcError,
  type RpcNotification,
  type RpcRequest,
  type RpcResponse,
} from "../../../jsonrpc/message.ts";
import type { InputRequest } from "../../../protocol/types/index.ts";
import type { LogEntry, Storage } from "../../../storage/storage.ts";
import type { ServedExchange } from "../../call/exchange.ts";
import type { Caller } from "../../callers.ts";
import { entryOverheadBytes, sessionAnswerTtlMs, sessionQuestionTtlMs } from "../limits.ts";
import { retry } from "../processes/keep-subscribed.ts";
import type { PostReply } from "../reply.ts";
import type { OpenStream } from "../streams.ts";
import type { StandaloneStream } from "./standalone-stream.ts";

/** The topic of the answers that reach another process than their questions' own: `[session, response]`. */
export const answerTopic = "mcp/answer";

/** The stream that a question is sent on: the answer to a request, or the stream of a session. */
export interface QuestionStream {
  /** False if no message reaches the client. */
  readonly mayStream: boolean;
  send(message: RpcRequest | RpcNotification): void;
}

/** An answer that this process has handed to the one that asked. */
interface PassedAnswer {
  readonly session: string;
  readonly response: RpcResponse;
}

/** The answers that this process has handed to others in the last minute, by question. */
type PassedAnswers = Map<string, PassedAnswer>;

/** The running requests, questions and stream of a session in this process. An idle session has none. */
export class LiveSession {
  readonly id: string;
  /** The stream for notifications outside requests. */
  standalone: StandaloneStream | undefined;
  /** Connections that get the rest of an interrupted answer. */
  readonly resumed: OpenStream[] = [];
  /** The time at which something of the session was last connected. */
  connectedAt: number = performance.now();
  /** The time at which other processes were last told that something is connected here. */
  markedAt: number = Number.NEGATIVE_INFINITY;
  readonly #storage: Storage;
  readonly #passed: PassedAnswers;
  readonly #report: (error: unknown) => void;
  readonly #calls: RunningCall[] = [];
  /** Made with the first question: idle sessions keep as little as possible. */
  #questions: Map<string, PendingQuestion> | undefined;

  /** @param report tells the operator of a failure that no client is told */
  constructor(id: string, storage: Storage, passed: PassedAnswers, report: (error: unknown) => void) {
    this.id = id;
    this.#storage = storage;
    this.#passed = passed;
    this.#report = report;
  }

  get isIdle(): boolean {
    const isUsed = this.hasCalls || (this.#questions?.size ?? 0) > 0 || this.resumed.length > 0;
    return !isUsed && this.standalone === undefined;
  }

  get hasCalls(): boolean {
    return this.#calls.length > 0;
  }

  /** True if the client has a stream open, or waits for an answer. */
  get isConnected(): boolean {
    if (this.standalone?.isConnected) return true;
    for (const stream of this.resumed) if (!stream.isClosed) return true;
    for (const { reply } of this.#calls) if (reply.isConnected) return true;
    return false;
  }

  add(exchange: ServedExchange, reply: PostReply): void {
    this.#calls.push({ exchange, reply });
    this.connectedAt = performance.now();
  }

  remove(exchange: ServedExchange): void {
    const index = this.#calls.findIndex((call) => call.exchange === exchange);
    const last = this.#calls.pop();
    if (last && this.#calls[index]) this.#calls[index] = last;
  }

  /** Cancels all requests with this id; clients may use an id several times. */
  cancel(id: RequestId, reason: Error): void {
    for (const { exchange } of [...this.#calls]) {
      if (exchange.id === id && exchange.mayBeCancelled) exchange.cancel(reason);
    }
  }

  /** Sends a question on the stream of its request, or on the session's own. The answer may reach any process. */
  async ask(exchange: ServedExchange, reply: QuestionStream, { method, params }: InputRequest): Promise<JsonObject> {
    if (!reply.mayStream) {
      const why = `${method}: no event stream to the client: too many are open, or it does not accept one`;
      throw new PortolanError("capability-missing", why);
    }
    const { caller } = exchange.returnPath;
    const size = JSON.stringify(params ?? {}).length + entryOverheadBytes;
    const full = caller?.take("keptBytes", size);
    if (full) throw caller?.beyond("keptBytes", full, `${method} is not sent`);
    const id = crypto.randomUUID();
    this.#questions ??= new Map();
    const questions = this.#questions;
    const answer = new Promise<JsonObject>((resolve, reject) => questions.set(id, { resolve, reject }));
    const stopFollowing = this.#follow(id);
    try {
      // Other processes accept an answer only if the question is stored.
      await this.#storage.kv.set(questionKey(this.id, id), method, { ttlMs: sessionQuestionTtlMs });
      exchange.onCancel((reason) => {
        if (!questions.has(id)) return;
        const cancelled = { requestId: id, reason: reason.message };
        reply.send({ jsonrpc: "2.0", method: "notifications/cancelled", params: cancelled });
        questions.get(id)?.reject(reason);
      });
      // A handler may end without waiting for its question, which must not be kept then.
      exchange.ended.then(() => questions.get(id)?.reject(new PortolanError("cancelled", "The call has ended")));
      reply.send({ jsonrpc: "2.0", id, method, ...(params && { params: params as JsonObject }) });
      return await answer;
    } finally {
      caller?.release("keptBytes", size);
      questions.delete(id);
      stopFollowing();
      // The answer is there: a failure to remove the stored question, which expires, must not lose it.
      this.#storage.kv.delete(questionKey(this.id, id)).catch(() => {});
      this.#storage.log.delete(answersKey(this.id, id)).catch(() => {});
    }
  }

  /** Hands an answer to the question that waits for it, in this or another process. */
  async settle(response: RpcResponse, caller: Caller): Promise<void> {
    const { id } = response;
    if (typeof id !== "string") return;
    if (this.#questions?.has(id)) {
      this.#settle(id, response);
      return;
    }
    const isStored = (await this.#storage.kv.get(questionKey(this.id, id))) !== undefined;
    const answer: PassedAnswer = { session: this.id, response };
    // A storage that failed over may have lost the question. The handler waits all the same.
    const told = tellAnswer(this.#storage, answer);
    if (!isStored) await told;
    else {
      told.catch(() => {});
      const size = JSON.stringify(response).length;
      const full = caller.take("keptBytes", size);
      if (full) throw caller.beyond("keptBytes", full);
      this.#passed.set(id, answer);
      const timer = setTimeout(() => {
        if (this.#passed.get(id) === answer) this.#passed.delete(id);
        caller.release("keptBytes", size);
      }, sessionAnswerTtlMs);
      if (typeof timer === "object") timer.unref?.();
      await storeAnswer(this.#storage, answer);
    }
  }

  /** Removes the stored questions of a session that has ended: a process that was killed left its own. */
  async removeQuestions(): Promise<void> {
    for (const { key } of await this.#storage.kv.list(questionKey(this.id, ""))) await this.#storage.kv.delete(key);
  }

  /** Cancels all requests. */
  cancelAll(reason: Error): void {
    for (const { exchange } of [...this.#calls]) exchange.cancel(reason);
  }

  /** Cancels all requests and ends all streams, because the session has ended. */
  end(reason: Error): void {
    this.cancelAll(reason);
    this.standalone?.end();
    for (const stream of this.resumed) stream.end();
  }

  /** Hands an answer to the question that waits for it in this process, if one does. */
  settleHere(response: RpcResponse): void {
    if (typeof response.id === "string") this.#settle(response.id, response);
  }

  #settle(id: string, response: RpcResponse): void {
    const question = this.#questions?.get(id);
    if (!question) return;
    if ("result" in response) question.resolve(response.result);
    else question.reject(new RpcError(response.error.code, response.error.message, { data: response.error.data }));
  }

  /** Waits for an answer that reaches another process. Returns the function that stops waiting. */
  #follow(id: string): () => void {
    let entries: AsyncIterator<LogEntry> | undefined;
    let hasFailed = false;
    const stopTrying = retry(async () => {
      try {
        entries = this.#storage.log.after(answersKey(this.id, id), "", { follow: true })[Symbol.asyncIterator]();
        const { value, done } = await entries.next();
        if (!done) this.#settle(id, JSON.parse(value.value) as RpcResponse);
      } catch (cause) {
        // An answer that reaches this process is received all the same.
        if (!hasFailed) this.#report(cause);
        hasFailed = true;
        throw cause;
      }
    });
    return () => {
      stopTrying();
      entries?.return?.().catch(this.#report);
    };
  }
}

/** A request that is not answered yet, and its way back. */
interface RunningCall {
  readonly exchange: ServedExchange;
  readonly reply: PostReply;
}

interface PendingQuestion {
  resolve(answer: JsonObject): void;
  reject(reason: Error): void;
}

/** Tells all processes of an answer. */
function tellAnswer({ bus }: Storage, { session, response }: PassedAnswer): Promise<void> {
  return bus.publish(answerTopic, JSON.stringify([session, response]));
}

/** Stores an answer for the process that asked, which may not have heard of it. */
async function storeAnswer({ log }: Storage, { session, response }: PassedAnswer): Promise<void> {
  const options = { keep: 1, ttlMs: sessionAnswerTtlMs, forgetsIds: true };
  await log.append(answersKey(session, String(response.id)), JSON.stringify(response), options);
}

function questionKey(session: string, id: string): string {
  return `mcp/question/${session}/${id}`;
}

function answersKey(session: string, id: string): string {
  return `mcp/answers/${session}/${id}`;
}

/** The sessions with running requests, questions or a stream in this process. */
export class LiveSessions {
  readonly #storage: Storage;
  readonly #report: (error: unknown) => void;
  readonly #all = new Map<string, LiveSession>();
  readonly #passed: PassedAnswers = new Map();

  /** @param report tells the operator of a failure that no client is told */
  constructor(storage: Storage, report: (error: unknown) => void) {
    this.#storage = storage;
    this.#report = report;
  }

  get(id: string): LiveSession | undefined {
    return this.#all.get(id);
  }

  open(id: string): LiveSession {
    let live = this.#all.get(id);
    if (!live) {
      live = this.create(id);
      this.#all.set(id, live);
    }
    return live;
  }

  /** Returns a session that is used once, and not kept. */
  create(id: string): LiveSession {
    return new LiveSession(id, this.#storage, this.#passed, this.#report);
  }

  /** Hands the latest answers over again: those that the storage has lost were not heard by a process that did not run. */
  async passAnswersAgain(): Promise<void> {
    for (const answer of [...this.#passed.values()]) {
      await tellAnswer(this.#storage, answer);
      await storeAnswer(this.#storage, answer);
    }
  }

  get isEmpty(): boolean {
    return this.#all.size === 0;
  }

  /** Forgets a standalone stream that has ended. */
  forgetStandalone(standalone: StandaloneStream): void {
    const live = this.#all.get(standalone.known.id);
    if (live?.standalone !== standalone) return;
    live.standalone = undefined;
    this.forgetIdle(live);
  }

  forgetIdle(live: LiveSession): void {
    if (live.isIdle) this.#all.delete(live.id);
  }

  values(): LiveSession[] {
    return [...this.#all.values()];
  }
}
