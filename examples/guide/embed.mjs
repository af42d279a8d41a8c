// @ts-check
// A server and its client in one process, for tests and for programs that embed a server.
// region memory
import { createMemoryPair } from "portolan";
import { createServer, serveChannel } from "portolan/server";

export const server = createServer({ name: "echo", version: "1.0.0" }).tool("echo", {
  input: { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
  run: ({ text }) => String(text),
});

/** Serves in memory, sends the requests, and resolves with the responses by id. */
export async function exchange(/** @type {import("portolan").RpcRequest[]} */ ...requests) {
  const [near, far] = createMemoryPair({ serialize: true });
  const serving = serveChannel(server, far, { principal: { key: "embedded" } });
  /** @type {Map<unknown, import("portolan").Message>} */
  const responses = new Map();
  await new Promise((resolve) => {
    near.open({
      message(message) {
        if ("id" in message) responses.set(message.id, message);
        if (responses.size === requests.length) resolve(responses);
      },
      batch() {},
      unreadable: ({ why }) => console.error(why),
      closed: resolve,
    });
    for (const request of requests) near.send(request);
  });
  await serving.close();
  return responses;
}
// endregion

// region eras
const call = { name: "echo", arguments: { text: "hello" } };
const clientInfo = { name: "both", version: "1.0.0" };

export const bothEras = () =>
  exchange(
    // A stateful client sends its version and capabilities once …
    {
      jsonrpc: "2.0",
      id: "hello",
      method: "initialize",
      params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo },
    },
    { jsonrpc: "2.0", id: "stateful", method: "tools/call", params: call },
    // … a stateless client sends them in each request.
    {
      jsonrpc: "2.0",
      id: "stateless",
      method: "tools/call",
      params: {
        ...call,
        _meta: {
          "io.modelcontextprotocol/protocolVersion": "2026-07-28",
          "io.modelcontextprotocol/clientInfo": clientInfo,
          "io.modelcontextprotocol/clientCapabilities": {},
        },
      },
    },
  );
// endregion
