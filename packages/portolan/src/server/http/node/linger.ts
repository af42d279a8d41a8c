import type { IncomingMessage, ServerResponse } from "node:http";

const lingerBytes = 1024 * 1024;
const lingerMs = 1_000;

/**
 * Ends an answered request whose client is still sending. A connection closed at once would be reset, and the client
 * would see that instead of the answer; so a little more is read and thrown away.
 */
export function linger(req: IncomingMessage, res: ServerResponse): void {
  let left = lingerBytes;
  const drop = () => req.socket.destroy();
  const timer = setTimeout(drop, lingerMs);
  req.on("data", (chunk: Buffer) => {
    left -= chunk.length;
    if (left < 0) drop();
  });
  req.on("end", () => res.end());
  req.on("close", () => clearTimeout(timer));
  req.resume();
}
