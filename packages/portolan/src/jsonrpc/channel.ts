import type { Message, RequestId, RpcResponse } from "./message.ts";

/** A response with a serialized result. The channel adds the envelope. */
export interface PreparedResponse {
  readonly id: RequestId;
  /** The JSON text of the result. */
  readonly resultText: string;
}

/** A serialized message. */
export interface PreparedMessage {
  readonly messageText: string;
}

/** One message, or the responses to one batch. */
export type Sendable = Message | PreparedResponse | PreparedMessage | (RpcResponse | PreparedResponse)[];

/** Hears the text of every message. Called by transports that write and read text, and never throws. */
export interface WireTap {
  sent(text: string): void;
  /** @param value the parsed text; undefined if it is not JSON, `why` then says more */
  received(text: string, value: unknown, why?: string): void;
  /** A line that the process of the server has written to its standard error. */
  stderr(line: string): void;
}

/** The events of a channel, in arrival order and never before `open` has returned. */
export interface ChannelEvents {
  /** Gets the text of all messages, if the client has a tap. A channel that passes objects ignores it. */
  readonly tap?: WireTap | undefined;
  /** @param size characters of its text, if they are known; they are counted while a request is in flight */
  message(message: Message, size?: number): void;
  /** A JSON array of valid messages; it may be empty. */
  batch(messages: Message[]): void;
  /**
   * Input that is no message. `id` is set if it could be read. Answer only `answerable` input. `isTooLarge`: it was not
   * read because of its size.
   */
  unreadable(problem: {
    code: -32700 | -32600;
    why: string;
    id?: RequestId;
    answerable: boolean;
    isTooLarge?: boolean;
  }): void;
  /** Called exactly once, when nothing more will arrive. */
  closed(reason?: Error): void;
}

/** A bidirectional transport: stdio, memory, a socket, the two endpoints of HTTP+SSE. */
export interface Channel {
  /** True if the channel writes JSON text: `send` may then receive serialized results. */
  readonly writesText?: boolean;
  /** How its bytes travel, for traces: "pipe" for stdio, "tcp" for a socket. Absent in memory. */
  readonly network?: "pipe" | "tcp";
  open(incoming: ChannelEvents): void;
  /**
   * Throws a PortolanError "unserializable" before anything is written if the message has no JSON form. Returns a promise
   * only while the other side reads too slowly. Ignores messages after `close`.
   */
  send(message: Sendable): void | Promise<void>;
  /** Ends the channel. Resolves when earlier messages are written and everything is released. */
  close(): Promise<void>;
}
