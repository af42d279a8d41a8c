import type { Message, RequestId, RpcResponse } from "./message.ts";

/** A response whose result is serialized already: the channel only joins it with the id. */
export interface Prepared {
  readonly id: RequestId;
  /** The JSON text of the result. */
  readonly resultText: string;
}

/** A message that is serialized already. */
export interface PreparedMessage {
  readonly messageText: string;
}

/** One message, or the responses to one batch. */
export type Sendable = Message | Prepared | PreparedMessage | (RpcResponse | Prepared)[];

/** What a channel tells its owner. Called in arrival order, never before `open` returns. */
export interface Incoming {
  message(message: Message): void;
  /** A JSON array of messages, each checked; an empty array arrives as one. */
  batch(messages: Message[]): void;
  /** Input that is no message. `id` is given when it could be read; answer only what is `answerable`. */
  unreadable(problem: { code: -32700 | -32600; why: string; id?: RequestId; answerable: boolean }): void;
  /** Called exactly once, when nothing more will arrive. */
  closed(reason?: Error): void;
}

/** A bidirectional transport: stdio, memory, a socket, the two endpoints of HTTP+SSE. */
export interface Channel {
  /** Tells that it writes JSON: results then come to `send` as text where that is less work. */
  readonly writesText?: boolean;
  open(incoming: Incoming): void;
  /**
   * Throws a PortolanError "unserializable" before anything is written when the
   * message is no JSON; returns a promise only while the other side reads too slowly; ignores what follows `close`.
   */
  send(message: Sendable): void | Promise<void>;
  /** Ends the channel; resolves when everything sent before has been handed on and all is released. */
  close(): Promise<void>;
}
