// @ts-check
// The travel server over TCP, for any number of clients on this machine.
// Run: node examples/tcp/server.mjs [port]
import { createServer } from "node:net";
import { serveChannel } from "portolan/server";
import travel from "../travel/server.mjs";
import { createSocketChannel } from "./channel.mjs";

const listener = createServer((socket) => {
  serveChannel(travel, createSocketChannel(socket));
});
listener.listen(Number(process.argv[2] ?? 0), "127.0.0.1", () => {
  const address = listener.address();
  if (typeof address === "object") console.log(`listening on ${address?.port}`);
});
