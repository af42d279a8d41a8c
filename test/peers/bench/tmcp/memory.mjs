import { InMemoryTransport } from "@tmcp/transport-in-memory";
import { createBenchServer } from "./tools.mjs";

// Its transport builds the JSON-RPC envelope: it takes a method and params and returns the plain result.
export function connect({ extraTools, era }, receive) {
  const transport = new InMemoryTransport(createBenchServer(extraTools));
  const client = era === "stateless" ? transport.stateless() : transport.session("bench");
  return ({ id, method, params }) => {
    if (id === undefined) return;
    const answered =
      method === "initialize"
        ? client.initialize(params.protocolVersion, params.capabilities, params.clientInfo)
        : client.request(method, params);
    answered.then(
      (result) => receive({ jsonrpc: "2.0", id, result }),
      (error) => receive({ jsonrpc: "2.0", id, error: { code: error.code ?? -32603, message: error.message } }),
    );
  };
}
