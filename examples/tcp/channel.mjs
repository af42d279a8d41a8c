// @ts-check
// A custom transport: a TCP socket that carries one JSON message per line.
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
      const reader = new LineReader(incoming);
      /** @type {Error | undefined} */
      let reason;
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
