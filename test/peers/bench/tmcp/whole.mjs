import { InMemoryTransport } from "@tmcp/transport-in-memory";
import { createBenchServer } from "./tools.mjs";

// Its in-memory transport is also the client: it takes a name and arguments and returns the result.
export async function connect({ era }) {
  const transport = new InMemoryTransport(createBenchServer(0));
  const client = era === "stateless" ? transport.stateless() : transport.session("bench");
  if (era === "stateful") await client.initialize("2025-06-18", {}, { name: "bench", version: "1.0.0" });
  return {
    listTools: async () => (await client.listTools()).tools,
    call: (name, args) => client.callTool(name, args),
    close: async () => {},
  };
}
