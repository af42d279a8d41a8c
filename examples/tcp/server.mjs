// @ts-check
// The travel server on a socket, for any number of clients of this user.
// Run: node examples/tcp/server.mjs [path or port]
import { createServer } from "node:net";
import { serveChannel } from "portolan/server";
import travel from "../travel/server.mjs";
import { createSocketChannel } from "./channel.mjs";

const [place = "travel.sock"] = process.argv.slice(2);
const listener = createServer((socket) => {
  serveChannel(travel, createSocketChannel(socket));
});
listener.on("listening", () => {
  const address = listener.address();
  console.log(`listening on ${typeof address === "object" ? address?.port : address}`);
});
if (/^\d+$/.test(place)) {
  // Every user and every program of this machine can connect to a port. Use one only where that is meant.
  listener.listen(Number(place), "127.0.0.1");
} else {
  // Only this user may connect: the file of the socket is created with the mode 0600. Web pages cannot reach it at all.
  const before = process.umask(0o177);
  listener.listen(place);
  process.umask(before);
}
for (const signal of ["SIGINT", "SIGTERM"]) {
  process.once(signal, () => {
    // Removes the file of the socket.
    listener.close();
    process.exit();
  });
}
