import { InMemoryTransport } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { createBenchServer } from "./tools.mjs";

export async function connect({ extraTools, schemaOf }, receive) {
  const [near, far] = InMemoryTransport.createLinkedPair();
  near.onmessage = receive;
  await near.start();
  // The only entry of v2 that serves both eras over a transport.
  serveStdio(() => createBenchServer(extraTools, schemaOf), { transport: far });
  return (message) => near.send(message);
}
