import { PortolanError } from "../errors.ts";
import type { Channel, PreparedMessage, WireTap } from "../jsonrpc/channel.ts";
import type { Message, RequestId, RpcNotification, RpcRequest, RpcResponse, Unreadable } from "../jsonrpc/message.ts";
import { IdTable } from "../jsonrpc/message.ts";
import type { Transport } from "./http/options.ts";

/** A client-side transport: it sends requests and returns each response to its sink. */
export interface Link {
  /** The meaning of an unanswered probe. Default: "handshake", an older server that ignores it. */
  readonly silenceMeans?: "handshake" | "outage";
  /** Returns the latest output of a silent server that is meant for people, for an error message; empty if none. */
  recentOutput?(): Promise<string>;
  /** Connects, also again after `lost` if the link can; otherwise rejects. */
  open(events: LinkEvents): Promise<void>;
  /** Sends a request. Throws a PortolanError "unserializable" before anything is sent. */
  exchange(request: RpcRequest, sink: ResponseSink): void;
  /** Sends a request as JSON text; only on links that send text. */
  exchangeText?: ((id: RequestId, text: string, sink: ResponseSink) => void) | undefined;
  /** Abandons a request: its sink receives nothing more, and the server is notified if the transport can. */
  cancel(id: RequestId, reason: string): void;
  /** Sends a notification. */
  notify(notification: RpcNotification): void;
  /** Ends the link and releases everything. Pending requests fail. */
  close(): Promise<void>;
}

/** Hears everything that a link sends and receives, in the form in which it is sent. */
export interface LinkTap extends WireTap {
  /** Returns a transport that tells of its exchanges. */
  watch(transport: Transport): Transport;
}

/** The events of a link, in arrival order. */
export interface LinkEvents {
  /** Gets the text of all messages, if the client has a tap. For a link that ignores it, the tap gets the other events. */
  readonly tap?: LinkTap | undefined;
  /** A request of a stateful server. `answer` sends its response. `during` is the id of the call that led to it, if known. */
  request(request: RpcRequest, answer: (response: RpcResponse) => void, during?: RequestId): void;
  notification(notification: RpcNotification): void;
  /** Input that is no message, or a response without a request. It is dropped. */
  invalid(why: string): void;
  /** The server lost the session and the link began a new one: subscriptions must be made again. */
  renewed?(): void;
  /** The server did not continue the stream of its notifications, and began another one: some may be missing. */
  interrupted?(): void;
  /** A login begins (`true`) or has ended (`false`). Deadlines stand still in between. */
  login?(isOpen: boolean): void;
  /** The link has ended, by either side. Called once per `open`, after every sink has failed. */
  lost(reason: Error): void;
}

/** The receiver of one request's outcome: exactly one of both is called, once; none after `cancel`. */
export interface ResponseSink {
  response(response: RpcResponse): void;
  failed(reason: Error): void;
}

/** A request failed as it fails on servers of the stateful era only: the client tries the handshake. */
export class HandshakeWanted extends PortolanError {}

/** Creates a link over a channel. With a function that creates channels, the link can be opened again after a loss. */
export function channelLink(source: Channel | (() => Channel)): Link {
  return new ChannelLink(source);
}

class ChannelLink implements Link {
  /** Defined while a channel is open that writes text. */
  exchangeText: Link["exchangeText"];
  readonly #source: Channel | (() => Channel);
  #channel: Channel | undefined;
  /** The reason of the last loss, for requests that come after it. */
  #lostBy: Error | undefined;
  #wasOpened = false;
  #isClosing = false;
  #events: LinkEvents | undefined;
  readonly #waiting = new IdTable<ResponseSink>();

  constructor(source: Channel | (() => Channel)) {
    this.#source = source;
  }

  async open(events: LinkEvents): Promise<void> {
    if (this.#channel) throw new PortolanError("invalid-argument", "open: the link is already open");
    if (this.#wasOpened && typeof this.#source !== "function") {
      throw new PortolanError("connection-closed", "The channel has ended and cannot be opened again");
    }
    this.#wasOpened = true;
    this.#isClosing = false;
    const channel = typeof this.#source === "function" ? this.#source() : this.#source;
    this.#channel = channel;
    this.#events = events;
    if (channel.writesText) this.exchangeText = (id, text, sink) => this.#exchange(id, { messageText: text }, sink);
    channel.open({
      tap: events.tap,
      message: (message) => this.#receive(message),
      batch: (messages) => {
        for (const message of messages) this.#receive(message);
      },
      unreadable: (problem) => this.#refuse(problem),
      closed: (reason) => this.#lost(channel, reason),
    });
  }

  exchange(request: RpcRequest, sink: ResponseSink): void {
    this.#exchange(request.id, request, sink);
  }

  #exchange(id: RequestId, request: RpcRequest | PreparedMessage, sink: ResponseSink): void {
    const channel = this.#channel;
    if (!channel) {
      sink.failed(this.#lostBy ?? new PortolanError("connection-closed", "The connection is closed"));
      return;
    }
    // Registered before sending: the answer can arrive before send returns.
    this.#waiting.set(id, sink);
    try {
      const sending = channel.send(request);
      if (sending) sending.then(undefined, (reason) => this.#fail(id, reason));
    } catch (reason) {
      this.#waiting.delete(id);
      throw reason;
    }
  }

  cancel(id: RequestId, reason: string): void {
    if (!this.#waiting.delete(id)) return;
    this.notify({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: id, reason } });
  }

  notify(notification: RpcNotification): void {
    this.#send(notification);
  }

  async close(): Promise<void> {
    this.#isClosing = true;
    await this.#channel?.close();
  }

  #receive(message: Message): void {
    if ("method" in message) {
      if ("id" in message) this.#events?.request(message, (response) => this.#send(response));
      else this.#events?.notification(message);
      return;
    }
    const { id } = message;
    const sink = id === null || id === undefined ? undefined : this.#waiting.get(id);
    if (!sink) {
      this.#unclaimed(message);
      return;
    }
    this.#waiting.delete(id as RequestId);
    sink.response(message);
  }

  /** Reports an error without an id. Responses to cancelled requests are expected and dropped. */
  #unclaimed(message: RpcResponse): void {
    if (!("error" in message) || (message.id !== undefined && message.id !== null)) return;
    this.#events?.invalid(`an error without a request id: ${message.error.message}`);
  }

  /** Fails the call of an invalid response: no other response will come. */
  #refuse({ why, id, isTooLarge }: Unreadable): void {
    const sink = id === undefined ? undefined : this.#waiting.get(id);
    if (!sink) {
      this.#events?.invalid(why);
      return;
    }
    this.#waiting.delete(id as RequestId);
    const code = isTooLarge ? "message-too-large" : "answer-invalid";
    sink.failed(new PortolanError(code, `The server's response is invalid: ${why}`));
  }

  #fail(id: RequestId, reason: unknown): void {
    const sink = this.#waiting.get(id);
    this.#waiting.delete(id);
    sink?.failed(reason instanceof Error ? reason : new PortolanError("connection-closed", String(reason)));
  }

  #send(message: RpcNotification | RpcResponse): void {
    try {
      const sending = this.#channel?.send(message);
      // The channel itself reports a peer that is gone.
      if (sending) sending.then(undefined, () => {});
    } catch (reason) {
      this.#events?.invalid(reason instanceof Error ? reason.message : String(reason));
    }
  }

  #lost(channel: Channel, cause: Error | undefined): void {
    if (this.#channel !== channel) return;
    this.#channel = undefined;
    const why = this.#isClosing ? "The connection was closed" : "The server closed the connection";
    const reason = cause ?? new PortolanError("connection-closed", why);
    this.#lostBy = reason;
    const waiting = this.#waiting.values();
    this.#waiting.clear();
    for (const sink of waiting) sink.failed(reason);
    this.#events?.lost(reason);
  }
}
