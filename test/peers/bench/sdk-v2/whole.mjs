import { InMemoryTransport } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { connectOver } from "./bench-client.mjs";
import { createBenchServer } from "./tools.mjs";

export async function connect({ era }) {
  const [near, far] = InMemoryTransport.createLinkedPair();
  // The only entry of v2 that serves both eras over a transport.
  serveStdio(() => createBenchServer(0), { transport: far });
  return connectOver(near, era);
}
