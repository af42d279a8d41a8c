import { InMemoryTransport } from "@modelcontextprotocol/sdk/inMemory.js";
import { createBenchServer } from "./tools.mjs";

export async function connect({ extraTools }, receive) {
  const [near, far] = InMemoryTransport.createLinkedPair();
  near.onmessage = receive;
  await near.start();
  await createBenchServer(extraTools).connect(far);
  return (message) => near.send(message);
}
