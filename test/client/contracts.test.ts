import { once } from "node:events";
import { createServer, type Server, type Socket } from "node:net";
import { fileURLToPath } from "node:url";
import type { Channel } from "portolan";
import { type CommandTarget, ProcessChannel, stdio } from "portolan/client/stdio";
import { type ChannelsUnderTest, channelContract, farEndOf, type LinkUnderTest, linkContract } from "portolan/testing";
import { describe, test } from "vitest";
import { pathTo } from "../examples/example.ts";

const { createSocketChannel }: { createSocketChannel(socket: Socket): Channel } = await import(
  pathTo("examples/tcp/channel.mjs")
);
const relay = fileURLToPath(new URL("./fixtures/relay.mjs", import.meta.url));

/** Starts a listener, and describes a process that relays its standard streams to it. The socket is the server's end. */
async function startRelay(): Promise<{ listener: Server; target: CommandTarget; release(): Promise<void> }> {
  const listener = createServer().listen(0, "127.0.0.1");
  await once(listener, "listening");
  const { port } = listener.address() as { port: number };
  const sockets: Socket[] = [];
  listener.on("connection", (socket) => sockets.push(socket));
  const release = async () => {
    for (const socket of sockets) socket.destroy();
    listener.close();
  };
  return { listener, target: { command: process.execPath, args: [relay, String(port)] }, release };
}

/** A channel over a socket that is not connected yet. */
function createLateChannel(socket: Promise<Socket>): Channel {
  const channel = socket.then(createSocketChannel);
  return {
    open: (incoming) => {
      channel.then((ready) => ready.open(incoming));
    },
    send: (message) => channel.then((ready) => ready.send(message)),
    close: async () => (await channel).close(),
  };
}

async function makeChannels(): Promise<ChannelsUnderTest> {
  const { listener, target, release } = await startRelay();
  const socket = once(listener, "connection").then(([socket]) => socket as Socket);
  return { near: new ProcessChannel(target), far: createLateChannel(socket), release };
}

async function makeLink(): Promise<LinkUnderTest> {
  const { listener, target, release } = await startRelay();
  let connection: Promise<unknown[]> = once(listener, "connection");
  const accept = async () => {
    const [socket] = await connection;
    connection = once(listener, "connection");
    return farEndOf(createSocketChannel(socket as Socket));
  };
  const link = stdio(target);
  const releaseAll = async () => {
    await link.close();
    await release();
  };
  return { link, accept, release: releaseAll };
}

describe("a process as a channel", () => {
  for (const { name, run } of channelContract(makeChannels)) test(name, run);
});

describe("a process as a link", () => {
  for (const { name, run } of linkContract(makeLink)) test(name, run);
});
