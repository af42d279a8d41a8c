import { StreamableHttpTransport } from "mcp-lite";
import { createBenchServer } from "./tools.mjs";

// It has only HTTP: its public entry within one process is (Request) => Response.
export function connect({ extraTools }, receive) {
  const handle = new StreamableHttpTransport().bind(createBenchServer(extraTools));
  const headers = {
    "content-type": "application/json",
    accept: "application/json",
    "mcp-protocol-version": "2025-06-18",
  };
  return async (message) => {
    const response = await handle(
      new Request("http://127.0.0.1/mcp", { method: "POST", headers, body: JSON.stringify(message) }),
    );
    const body = await response.text();
    if (message.id !== undefined) receive(JSON.parse(body));
  };
}
