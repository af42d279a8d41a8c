import type { JsonObject } from "portolan";
import { PortolanError, RpcError } from "portolan";
import { CallFailure, type Clock } from "portolan/client";
import { isObject, onAbort, rpcCodes, timedOut, toError } from "portolan/internal";
import { appAnswerMs, maxAppCalls } from "./limits.ts";

/** Options of `HostRequests`. */
export interface HostRequestsOptions {
  /** The beginning of each id. */
  readonly id: string;
  readonly clock: Clock;
  readonly post: (message: JsonObject) => void;
}

/** Options of one request. */
export interface HostRequestOptions {
  readonly signal?: AbortSignal;
  /** Characters of JSON of its answer. Default: those of any message of an app. */
  readonly maxChars?: number;
}

interface Waiting {
  readonly maxChars: number | undefined;
  readonly resolve: (result: JsonObject) => void;
  readonly reject: (reason: Error) => void;
}

/** The requests that the host sends to an app, until each has an answer. */
export class HostRequests {
  readonly #options: HostRequestsOptions;
  readonly #waiting = new Map<unknown, Waiting>();
  #count = 0;

  constructor(options: HostRequestsOptions) {
    this.#options = options;
  }

  /**
   * Sends a request. Rejects if the app answers with an error or not in time, when it is removed, and when the signal aborts.
   */
  send(method: string, params: JsonObject, { signal, maxChars }: HostRequestOptions = {}): Promise<JsonObject> {
    const { id: prefix, clock, post } = this.#options;
    if (signal?.aborted) return Promise.reject(toError(signal.reason));
    if (this.#waiting.size >= maxAppCalls) {
      const why = `${maxAppCalls} requests to the app are waiting for an answer already`;
      return Promise.reject(new PortolanError("limit-reached", why));
    }
    this.#count += 1;
    const id = `${prefix}-${this.#count}`;
    return new Promise((resolve, reject) => {
      const settle = () => {
        this.#waiting.delete(id);
        stopTimer();
        stopWaiting?.();
      };
      const fail = (reason: Error) => {
        settle();
        reject(reason);
      };
      const giveUp = (reason: Error) => {
        fail(reason);
        post({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: id, reason: reason.message } });
      };
      const stopTimer = clock.after(appAnswerMs, () =>
        giveUp(timedOut(`The app did not answer ${method} within ${appAnswerMs / 1_000} s`)),
      );
      const stopWaiting = signal && onAbort(signal, () => giveUp(stopped(method, toError(signal.reason))));
      this.#waiting.set(id, {
        maxChars,
        resolve(result) {
          settle();
          resolve(result);
        },
        reject: fail,
      });
      post({ jsonrpc: "2.0", id, method, params });
    });
  }

  /** Returns how many characters a message may have because of the request that it answers; undefined for other messages. */
  allowedCharsOf(message: unknown): number | undefined {
    return this.#find(message)?.maxChars;
  }

  /** Settles the request that a message answers, which is too long to be read. */
  refuseAnswer(message: unknown, problem: string): void {
    this.#find(message)?.reject(answeredWith(`The answer of the app is ${problem}`));
  }

  /** Takes an answer. Returns false if no request waits for it. */
  answer(message: JsonObject): boolean {
    const waiting = this.#find(message);
    if (!waiting) return false;
    const { result, error } = message;
    if (isObject(result) && error === undefined) waiting.resolve(result);
    else if (isObject(error) && typeof error["message"] === "string") {
      const { code, message: text } = error;
      waiting.reject(new RpcError(typeof code === "number" ? code : rpcCodes.internalError, text as string));
    } else waiting.reject(answeredWith("The answer of the app has neither a result nor an error"));
    return true;
  }

  /** Fails everything that waits, because the app is removed. */
  end(): void {
    const reason = new CallFailure("connection-closed", "The app was closed before it answered", {
      name: "CallFailure",
      requestMayHaveRun: true,
    });
    for (const waiting of [...this.#waiting.values()]) waiting.reject(reason);
  }

  #find(message: unknown): Waiting | undefined {
    return isObject(message) && !("method" in message) ? this.#waiting.get(message["id"]) : undefined;
  }
}

function answeredWith(problem: string): PortolanError {
  return new PortolanError("answer-invalid", problem);
}

function stopped(method: string, cause: Error): CallFailure {
  const message = `${method} was stopped: ${cause.message}`;
  return new CallFailure("cancelled", message, { name: "AbortError", cause, requestMayHaveRun: true });
}
