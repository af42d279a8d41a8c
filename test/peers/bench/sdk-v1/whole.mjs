import { InMemoryTransport } from "@modelcontextprotocol/sdk/inMemory.js";
import { connectOver } from "./bench-client.mjs";
import { createBenchServer } from "./tools.mjs";

export async function connect() {
  const [near, far] = InMemoryTransport.createLinkedPair();
  await createBenchServer(0).connect(far);
  return connectOver(near);
}
