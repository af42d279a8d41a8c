import type { HttpHeaders } from "../../http/headers.ts";
import type { RpcError } from "../../jsonrpc/message.ts";
import type { Caller } from "../callers.ts";

export type { HttpHeaders };

/** An HTTP request, independent of the runtime. */
export interface HttpRequest {
  /** In upper case. */
  readonly method: string;
  /** Without the query. */
  readonly path: string;
  /** Returns the value of a header. The name is in lower case; several values are joined by ", ". */
  header(name: string): string | undefined;
  /** Returns every header whose name begins with the prefix, names in lower case. */
  headersUnder(prefix: string): readonly (readonly [name: string, value: string])[];
  /**
   * Hands over the body as text, or a problem if it is too large, too slow, incomplete or not UTF-8. May be called once.
   * Takes a callback, because a promise would cost more than the rest of a small request.
   *
   * @param caller counts the bytes that have arrived, until the body is handed over
   */
  body(take: TakeBody, caller?: Caller): void;
  /** The address of the client, if it is known. For logs and limits only. */
  readonly remoteAddress: string | undefined;
}

/** Takes a body. It must not throw. */
export type TakeBody = (body: string | BodyProblem) => void;

/** The reason why a body could not be read, with its status. */
export interface BodyProblem {
  readonly status: 400 | 408 | 413 | 429 | 503;
  readonly why: string;
  /** The error if a limit of the caller is reached. */
  readonly error?: RpcError;
}

/** The one response to a request: a whole body, or an event stream. */
export interface HttpReply {
  send(status: number, headers: HttpHeaders, body?: string): void;
  /** Begins an event stream. */
  stream(headers: HttpHeaders): EventStream;
  /** Calls the listener once if the client disconnects before it has the whole response. */
  onGone(listener: () => void): void;
  /** True if the client has disconnected before it has the whole response. */
  readonly isGone: boolean;
  /**
   * Calls the listener when the client has taken the whole response or has disconnected. Call it before `send`, or after
   * `stream`.
   */
  onSent(listener: () => void): void;
}

/** A stream of server-sent events that is being written. */
export interface EventStream {
  /** Writes text. Everything that is written in one turn is sent together. */
  write(text: string): void;
  /** Characters that the client has not read yet. */
  readonly backlog: number;
  /** Resolves when the client reads again, or has disconnected. */
  drained(): Promise<void>;
  /** Ends the stream after the written text. */
  end(): void;
  /** Closes the connection and drops the text that is not sent yet. */
  destroy(): void;
}

/** Serves one request of an adapter. Never throws, and responds once unless the client has disconnected. */
export type HttpHandler = (request: HttpRequest, reply: HttpReply) => void;
