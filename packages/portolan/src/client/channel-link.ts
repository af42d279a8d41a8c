import { PortolanError } from "../errors.ts";
import type { Channel, PreparedMessage } from "../jsonrpc/channel.ts";
import { IdTable } from "../jsonrpc/id-table.ts";
import type { Message, RequestId, RpcNotification, RpcRequest, RpcResponse } from "../jsonrpc/message.ts";

/** A link over a bidirectional channel. Given a function that makes channels, it can be opened again after it was lost. */
export function channelLink(source: Channel | (() => Channel)): Link {
  return new ChannelLink(source);
}

class ChannelLink implements Link {
  /** There as soon as a channel is open that writes text. */
  exchangeText: Link["exchangeText"];
  readonly #source: Channel | (() => Channel);
  #channel: Channel | undefined;
  #wasOpened = false;
  #isClosing = false;
  #events: LinkEvents | undefined;
  readonly #waiting = new IdTable<ResponseSink>();

  constructor(source: Channel | (() => Channel)) {
    this.#source = source;
  }

  async open(events: LinkEvents): Promise<void> {
    if (this.#channel) throw new PortolanError("invalid-argument", "open: the link is open already");
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
      message: (message) => this.#receive(message),
      batch: (messages) => {
        for (const message of messages) this.#receive(message);
      },
      unreadable: ({ why, id }) => this.#refuse(why, id),
      closed: (reason) => this.#lost(channel, reason),
    });
  }

  exchange(request: RpcRequest, sink: ResponseSink): void {
    this.#exchange(request.id, request, sink);
  }

  #exchange(id: RequestId, request: RpcRequest | PreparedMessage, sink: ResponseSink): void {
    const channel = this.#channel;
    if (!channel) {
      sink.failed(new PortolanError("connection-closed", "The connection is closed"));
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

  /** An error without an id is told for the record; an answer to a cancelled request is nothing to speak of. */
  #unclaimed(message: RpcResponse): void {
    if (!("error" in message) || (message.id !== undefined && message.id !== null)) return;
    this.#events?.odd(`the server reports an error about no request: ${message.error.message}`);
  }

  /** A response that cannot be read still ends its call: nothing else will. */
  #refuse(why: string, id: RequestId | undefined): void {
    const sink = id === undefined ? undefined : this.#waiting.get(id);
    if (!sink) {
      this.#events?.odd(why);
      return;
    }
    this.#waiting.delete(id as RequestId);
    sink.failed(new PortolanError("answer-invalid", `The server's answer cannot be read: ${why}`));
  }

  #fail(id: RequestId, reason: unknown): void {
    const sink = this.#waiting.get(id);
    this.#waiting.delete(id);
    sink?.failed(reason instanceof Error ? reason : new PortolanError("connection-closed", String(reason)));
  }

  #send(message: RpcNotification | RpcResponse): void {
    try {
      const sending = this.#channel?.send(message);
      // A peer that is gone is told nothing more; its loss is reported by the channel itself.
      if (sending) sending.then(undefined, () => {});
    } catch (reason) {
      this.#events?.odd(reason instanceof Error ? reason.message : String(reason));
    }
  }

  #lost(channel: Channel, cause: Error | undefined): void {
    if (this.#channel !== channel) return;
    this.#channel = undefined;
    const why = this.#isClosing ? "The connection was closed" : "The server closed the connection";
    const reason = cause ?? new PortolanError("connection-closed", why);
    const waiting = this.#waiting.values();
    this.#waiting.clear();
    for (const sink of waiting) sink.failed(reason);
    this.#events?.lost(reason);
  }
}

/** What a link tells its client, in arrival order. */
export interface LinkEvents {
  /** A request of a stateful server; `answer` sends the one response. `during` names the call it came with, where that is known. */
  request(request: RpcRequest, answer: (response: RpcResponse) => void, during?: RequestId): void;
  notification(notification: RpcNotification): void;
  /** Input that is no message, or answers nobody: dropped, and told for the record. */
  odd(why: string): void;
  /** The server forgot this client, who has introduced itself anew: what it was told to watch must be told again. */
  renewed?(): void;
  /** Somebody must say who they are before anything goes on, or has: no time passes meanwhile. */
  held?(isHeld: boolean): void;
  /** The link is gone, whoever ended it. Called once per `open`, after every sink has heard why. */
  lost(reason: Error): void;
}

/** Hears what becomes of one request; exactly one of both, once, unless the request is cancelled. */
export interface ResponseSink {
  response(response: RpcResponse): void;
  failed(reason: Error): void;
}

/** A request failed in a way that only servers of the stateful era fail: the handshake is worth a try. */
export class HandshakeWanted extends PortolanError {}

/** A client-side transport: requests out, responses back to those who asked. */
export interface Link {
  /** What an unanswered probe means: an older server, unless said that it is a server out of reach. */
  readonly silenceMeans?: "handshake" | "outage";
  /** Connects, or connects again after `lost` where that is possible; a link that cannot rejects and says so. */
  open(events: LinkEvents): Promise<void>;
  /** Sends a request. Throws a PortolanError "unserializable" before anything is sent. */
  exchange(request: RpcRequest, sink: ResponseSink): void;
  /** Sends a request whose JSON text is known; there where text is what is sent. */
  exchangeText?: ((id: RequestId, text: string, sink: ResponseSink) => void) | undefined;
  /** Gives a request up: its sink hears nothing more, and the server is told where there is a way to. */
  cancel(id: RequestId, reason: string): void;
  notify(notification: RpcNotification): void;
  /** Ends the link and releases everything; what still waits fails at once. */
  close(): Promise<void>;
}
