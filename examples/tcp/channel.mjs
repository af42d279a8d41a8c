// @ts-check
// A transport of one's own: a TCP socket that carries one JSON message per line.
import { once } from "node:events";
import { LineReader, serialize } from "portolan";

/**
 * Turns a socket into a channel; servers and clients use the same one.
 * @param {import("node:net").Socket} socket
 * @returns {import("portolan").Channel}
 */
export function createSocketChannel(socket) {
  /** @type {(() => void)[]} */
  const waiting = [];
  const goOn = () => {
    for (const resolve of waiting.splice(0)) resolve();
  };
  return {
    open(incoming) {
      const reader = new LineReader(incoming);
      /** @type {Error | undefined} */
      let reason;
      socket.on("data", (chunk) => reader.push(chunk));
      socket.on("end", () => reader.end());
      socket.on("drain", goOn);
      socket.on("error", (error) => {
        reason = error;
      });
      socket.on("close", () => {
        goOn();
        incoming.closed(reason);
      });
    },
    send(message) {
      const line = `${serialize(message)}\n`;
      if (!socket.writable || socket.write(line)) return;
      // The other side reads too slowly: whoever sends may wait until there is room again.
      return new Promise((resolve) => waiting.push(resolve));
    },
    async close() {
      if (socket.closed) return;
      socket.destroySoon();
      await once(socket, "close");
    },
  };
}
