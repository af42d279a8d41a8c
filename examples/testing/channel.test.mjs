// @ts-check
// Runs the channel contract on a custom transport: the socket of examples/tcp, over a real connection.
// Run: node examples/testing/channel.test.mjs
import { once } from "node:events";
import { connect, createServer } from "node:net";
import { describe, test } from "node:test";
import { channelContract } from "portolan/testing";
import { createSocketChannel } from "../tcp/channel.mjs";

async function connectSockets() {
  const listener = createServer().listen(0, "127.0.0.1");
  await once(listener, "listening");
  const { port } = /** @type {import("node:net").AddressInfo} */ (listener.address());
  const near = connect(port, "127.0.0.1");
  const [far] = await once(listener, "connection");
  const release = async () => {
    for (const socket of [near, far]) socket.destroy();
    listener.close();
  };
  return { near: createSocketChannel(near), far: createSocketChannel(far), release };
}

describe("the socket channel", () => {
  for (const { name, run } of channelContract(connectSockets)) test(name, run);
});
