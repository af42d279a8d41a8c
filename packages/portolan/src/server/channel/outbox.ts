import { PortolanError } from "../../errors.ts";
import type { Channel, Sendable } from "../../jsonrpc/channel.ts";

/** From here on a slow reader is spared what it can do without. */
const manyUnread = 1_000;
const maxUnread = 20_000;

/** What is sent on a channel: a peer that does not read loses progress and logs first, then the connection. */
export class Outbox {
  readonly #channel: Channel;
  readonly #overflow: (reason: Error) => void;
  #unread = 0;

  constructor(channel: Channel, overflow: (reason: Error) => void) {
    this.#channel = channel;
    this.#overflow = overflow;
  }

  send(message: Sendable): void {
    if (this.#unread > manyUnread && isDispensable(message)) return;
    const sent = this.#channel.send(message);
    if (!sent) return;
    this.#unread += 1;
    if (this.#unread > maxUnread) {
      this.#overflow(new PortolanError("limit-reached", `The client has not read ${maxUnread} messages; it is let go`));
    }
    const read = () => {
      this.#unread -= 1;
    };
    // A peer that is gone is told nothing more; that is no error of ours.
    sent.then(read, read);
  }
}

function isDispensable(message: Sendable): boolean {
  if (!("method" in message)) return false;
  return message.method === "notifications/progress" || message.method === "notifications/message";
}
