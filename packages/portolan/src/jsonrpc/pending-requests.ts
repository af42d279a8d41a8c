import type { JsonObject, Message, RequestId, RpcRequest, RpcResponse } from "./message.ts";
import { RpcError } from "./message.ts";

export interface ConnectionOptions {
  /** Prefix of the request ids, which keeps the ids of several connections apart. Default: ids are numbers. */
  idPrefix?: string;
}

/** A request that was sent. */
export interface PendingRequest {
  id: RequestId;
  response: Promise<JsonObject>;
}

interface Waiting {
  resolve(result: JsonObject): void;
  reject(reason: unknown): void;
}

/** The pending requests of one channel. Each settles once: by its response, by `abandon`, or by `closeAll`. */
export class PendingRequests {
  readonly #send: (message: Message) => void | Promise<void>;
  readonly #idPrefix: string | undefined;
  readonly #waiting = new Map<RequestId, Waiting>();
  #nextId = 0;
  #closedBy: Error | undefined = undefined;

  constructor(send: (message: Message) => void | Promise<void>, options: ConnectionOptions = {}) {
    this.#send = send;
    this.#idPrefix = options.idPrefix;
  }

  /** Number of pending requests. */
  get size(): number {
    return this.#waiting.size;
  }

  request(method: string, params?: JsonObject): PendingRequest {
    const id = this.#idPrefix === undefined ? this.#nextId++ : `${this.#idPrefix}${this.#nextId++}`;
    if (this.#closedBy !== undefined) return { id, response: Promise.reject(this.#closedBy) };
    // Registered before sending: the answer can arrive before send() returns.
    const response = new Promise<JsonObject>((resolve, reject) => this.#waiting.set(id, { resolve, reject }));
    this.#transmit(params === undefined ? { jsonrpc: "2.0", id, method } : { jsonrpc: "2.0", id, method, params });
    return { id, response };
  }

  /** Settles the request of a response. Returns false for an unknown id, also one already answered or abandoned. */
  settle(response: RpcResponse): boolean {
    const waiting = this.#take(response.id);
    if (waiting === undefined) return false;
    if ("result" in response) waiting.resolve(response.result);
    else {
      const { code, message, data } = response.error;
      waiting.reject(new RpcError(code, message, { data }));
    }
    return true;
  }

  /** Rejects a request without notifying the peer. Returns false if it is not pending. */
  abandon(id: RequestId, reason: Error): boolean {
    const waiting = this.#take(id);
    waiting?.reject(reason);
    return waiting !== undefined;
  }

  /** Rejects all pending and all later requests. */
  closeAll(reason: Error): void {
    this.#closedBy ??= reason;
    const all = [...this.#waiting.values()];
    this.#waiting.clear();
    for (const waiting of all) waiting.reject(reason);
  }

  #transmit(request: RpcRequest): void {
    const fail = (reason: unknown): void => this.#take(request.id)?.reject(reason);
    try {
      const sending = this.#send(request);
      if (sending !== undefined) sending.then(undefined, fail);
    } catch (error) {
      fail(error);
    }
  }

  #take(id: RequestId | null | undefined): Waiting | undefined {
    if (id === null || id === undefined) return undefined;
    const waiting = this.#waiting.get(id);
    if (waiting !== undefined) this.#waiting.delete(id);
    return waiting;
  }
}
