import { PortolanError } from "../errors.ts";
import type { Channel, PreparedMessage } from "../jsonrpc/channel.ts";
import { IdTable } from "../jsonrpc/id-table.ts";
import type { Message, RequestId, RpcNotification, RpcRequest, RpcResponse } from "../jsonrpc/message.ts";
import type { Link, LinkEvents, Sink } from "./link.ts";

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
  readonly #waiting = new IdTable<Sink>();

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

  exchange(request: RpcRequest, sink: Sink): void {
    this.#exchange(request.id, request, sink);
  }

  #exchange(id: RequestId, request: RpcRequest | PreparedMessage, sink: Sink): void {
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
