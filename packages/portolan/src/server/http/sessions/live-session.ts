import { PortolanError } from "../../../errors.ts";
import { type JsonObject, type RequestId, RpcError, type RpcResponse } from "../../../jsonrpc/message.ts";
import type { InputRequest } from "../../../protocol/types/index.ts";
import type { Storage } from "../../../storage/storage.ts";
import type { ServedExchange } from "../../call/exchange.ts";
import type { PostReply } from "../reply.ts";
import type { StandaloneStream } from "./get-stream.ts";

const longestQuestionMs = 60 * 60_000;
const answerMs = 60_000;

interface Question {
  resolve(answer: JsonObject): void;
  reject(reason: Error): void;
}

/** What is under way for a session in this process; nothing is kept of a session that is idle. */
export class LiveSession {
  readonly id: string;
  /** The stream for what belongs to no request. */
  standalone: StandaloneStream | undefined;
  readonly #storage: Storage;
  readonly #exchanges = new Set<ServedExchange>();
  readonly #questions = new Map<string, Question>();

  constructor(id: string, storage: Storage) {
    this.id = id;
    this.#storage = storage;
  }

  get isIdle(): boolean {
    return this.#exchanges.size === 0 && this.#questions.size === 0 && this.standalone === undefined;
  }

  add(exchange: ServedExchange): void {
    this.#exchanges.add(exchange);
  }

  remove(exchange: ServedExchange): void {
    this.#exchanges.delete(exchange);
  }

  /** Cancels the requests of this id; clients may use one several times. */
  cancel(id: RequestId, reason: Error): void {
    for (const exchange of this.#exchanges) {
      if (exchange.id === id && exchange.method !== "initialize") exchange.cancel(reason);
    }
  }

  /** Puts a question on the stream of the request it belongs to; the answer may come to any process. */
  async ask(exchange: ServedExchange, reply: PostReply, { method, params }: InputRequest): Promise<JsonObject> {
    if (!reply.maySpeak) {
      throw new PortolanError("capability-missing", `${method}: there is no event stream to ask the client on`);
    }
    const id = crypto.randomUUID();
    const answer = new Promise<JsonObject>((resolve, reject) => this.#questions.set(id, { resolve, reject }));
    const elsewhere = this.#follow(id);
    // Others accept an answer only to a question that was asked.
    await this.#storage.kv.set(questionKey(this.id, id), method, { ttlMs: longestQuestionMs });
    exchange.onCancel((reason) => {
      if (!this.#questions.has(id)) return;
      const cancelled = { requestId: id, reason: reason.message };
      reply.say({ jsonrpc: "2.0", method: "notifications/cancelled", params: cancelled });
      this.#questions.get(id)?.reject(reason);
    });
    reply.say({ jsonrpc: "2.0", id, method, ...(params && { params: params as JsonObject }) });
    try {
      return await answer;
    } finally {
      this.#questions.delete(id);
      elsewhere();
      await Promise.all([
        this.#storage.kv.delete(questionKey(this.id, id)),
        this.#storage.log.delete(answersKey(this.id, id)),
      ]);
    }
  }

  /** Hands an answer to whoever waits for it, here or in another process. */
  async settle(response: RpcResponse): Promise<void> {
    const { id } = response;
    if (typeof id !== "string") return;
    if (this.#questions.has(id)) this.#settle(id, response);
    else if ((await this.#storage.kv.get(questionKey(this.id, id))) !== undefined) {
      await this.#storage.log.append(answersKey(this.id, id), JSON.stringify(response), { keep: 1, ttlMs: answerMs });
    }
  }

  /** The session is over. */
  end(reason: Error): void {
    for (const exchange of [...this.#exchanges]) exchange.cancel(reason);
    this.standalone?.end();
  }

  #settle(id: string, response: RpcResponse): void {
    const question = this.#questions.get(id);
    if (!question) return;
    if ("result" in response) question.resolve(response.result);
    else question.reject(new RpcError(response.error.code, response.error.message, { data: response.error.data }));
  }

  /** Waits for an answer that another process was given. */
  #follow(id: string): () => void {
    const entries = this.#storage.log.after(answersKey(this.id, id), "", { follow: true })[Symbol.asyncIterator]();
    entries.next().then(
      ({ value, done }) => {
        if (!done) this.#settle(id, JSON.parse(value.value) as RpcResponse);
      },
      () => {},
    );
    return () => {
      entries.return?.();
    };
  }
}

function questionKey(session: string, id: string): string {
  return `mcp/question/${session}/${id}`;
}

function answersKey(session: string, id: string): string {
  return `mcp/answers/${session}/${id}`;
}

/** The sessions that something is under way for in this process. */
export class LiveSessions {
  readonly #storage: Storage;
  readonly #all = new Map<string, LiveSession>();

  constructor(storage: Storage) {
    this.#storage = storage;
  }

  get(id: string): LiveSession | undefined {
    return this.#all.get(id);
  }

  open(id: string): LiveSession {
    let live = this.#all.get(id);
    if (!live) {
      live = new LiveSession(id, this.#storage);
      this.#all.set(id, live);
    }
    return live;
  }

  forgetIdle(live: LiveSession): void {
    if (live.isIdle) this.#all.delete(live.id);
  }

  values(): LiveSession[] {
    return [...this.#all.values()];
  }
}
