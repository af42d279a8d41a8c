import type { HttpHeaders } from "../../transport/headers.ts";

export type { HttpHeaders };

/** An HTTP request, whichever runtime it came through. */
export interface HttpRequest {
  /** In capitals. */
  readonly method: string;
  /** Without the query. */
  readonly path: string;
  /** The value of a header by its name in small letters; several are joined by a comma and a space. */
  header(name: string): string | undefined;
  /** Every header that begins so, in small letters, with its value. */
  headersUnder(prefix: string): readonly (readonly [name: string, value: string])[];
  /**
   * Hands over the body as text, or a problem when it is too large, too slow, cut off or not UTF-8; asked for at most
   * once. A callback, because a promise would cost more than the rest of a small request.
   */
  body(take: TakeBody): void;
  /** Where it came from, as far as that is known; for logs and limits only. */
  readonly remoteAddress: string | undefined;
}

/** Takes a body; may not throw. */
export type TakeBody = (body: string | BodyProblem) => void;

/** Why a body could not be read, with the status that says so. */
export interface BodyProblem {
  readonly status: 400 | 408 | 413;
  readonly why: string;
}

/** Takes the one answer to a request: all of it at once, or a stream. */
export interface HttpReply {
  send(status: number, headers: HttpHeaders, body?: string): void;
  /** Begins an event stream; the headers are on their way when it returns. */
  stream(headers: HttpHeaders): EventStream;
  /** Runs once when the client has gone before it had its whole answer. */
  onGone(listener: () => void): void;
}

/** A stream of server-sent events that is being written. */
export interface EventStream {
  /** Writes what is there as soon as possible; what is written in one turn goes out together. */
  write(text: string): void;
  /** Characters that the client has not taken yet. */
  readonly backlog: number;
  /** Resolves when the client takes more, or is gone. */
  drained(): Promise<void>;
  /** Ends the stream after what is written. */
  end(): void;
  /** Drops the connection and what is still to be written. */
  destroy(): void;
}

/** What a door does with a request: never throws, and answers every request once unless its client has gone. */
export type HttpHandler = (request: HttpRequest, reply: HttpReply) => void;
