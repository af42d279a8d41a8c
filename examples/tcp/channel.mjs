// @ts-check
// A custom transport: a socket that carries one JSON message per line.
import { once } from "node:events";
import { LineReader, serialize } from "portolan";

/**
 * Turns a socket into a channel, for servers and clients alike.
 * @param {import("node:net").Socket} socket
 * @returns {import("portolan").Channel}
 */
export function createSocketChannel(socket) {
  /** @type {(() => void)[]} */
  const blockedSends = [];
  const unblock = () => {
    for (const resolve of blockedSends.splice(0)) resolve();
  };
  return {
    open(incoming) {
      /** @type {Error | undefined} */
      let reason;
      let isKnown = false;
      // A web page can make a browser send an HTTP request to this port. The lines of its head are no messages, but its
      // body could be one: the first line decides, and nothing after it is read.
      const reader = new LineReader({
        message(message) {
          isKnown ||= !socket.destroyed;
          if (isKnown) incoming.message(message);
        },
        batch(messages) {
          isKnown ||= !socket.destroyed;
          if (isKnown) incoming.batch(messages);
        },
        unreadable(problem) {
          if (isKnown) incoming.unreadable(problem);
          else socket.destroy(new Error("The first line is no message: the other side does not speak MCP"));
        },
      });
      socket.on("data", (chunk) => reader.push(chunk));
      socket.on("end", () => reader.end());
      socket.on("drain", unblock);
      socket.on("error", (error) => {
        reason = error;
      });
      socket.on("close", () => {
        unblock();
        incoming.closed(reason);
      });
    },
    send(message) {
      const line = `${serialize(message)}\n`;
      if (!socket.writable || socket.write(line)) return;
      // The other side reads too slowly: the promise resolves when the socket accepts data again.
      return new Promise((resolve) => blockedSends.push(resolve));
    },
    async close() {
      if (socket.closed) return;
      socket.destroySoon();
      await once(socket, "close");
    },
  };
}
