import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import { getRequestListener } from "@hono/node-server";
import { createMcpHandler, WebStandardStreamableHTTPServerTransport } from "@modelcontextprotocol/server";
import { createBenchServer } from "./tools.mjs";

const extraTools = Number(process.env.BENCH_EXTRA_TOOLS ?? 0);
const sessions = new Map();

async function handleSession(request) {
  const id = request.headers.get("mcp-session-id");
  if (id !== null) return sessions.get(id)?.handleRequest(request) ?? new Response(null, { status: 404 });
  const transport = new WebStandardStreamableHTTPServerTransport({
    sessionIdGenerator: randomUUID,
    enableJsonResponse: process.env.BENCH_REPLY === "json",
    onsessioninitialized: (created) => sessions.set(created, transport),
    onsessionclosed: (closed) => sessions.delete(closed),
  });
  await createBenchServer(extraTools).connect(transport);
  return transport.handleRequest(request);
}

const handle =
  process.env.BENCH_ERA === "stateless" ? createMcpHandler(() => createBenchServer(extraTools)).fetch : handleSession;
// It handles only web-standard requests; its own Node adapter uses this bridge.
const server = createServer(getRequestListener((request) => handle(request)));
server.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}/mcp`));
