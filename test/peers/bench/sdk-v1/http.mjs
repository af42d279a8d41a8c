import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { createBenchServer } from "./tools.mjs";

const extraTools = Number(process.env.BENCH_EXTRA_TOOLS ?? 0);
const sessions = new Map();

const server = createServer(async (request, response) => {
  const id = request.headers["mcp-session-id"];
  if (id !== undefined) {
    const known = sessions.get(id);
    if (known) await known.handleRequest(request, response);
    else response.writeHead(404).end();
    return;
  }
  const transport = new StreamableHTTPServerTransport({
    sessionIdGenerator: randomUUID,
    enableJsonResponse: process.env.BENCH_REPLY === "json",
    onsessioninitialized: (created) => sessions.set(created, transport),
    onsessionclosed: (closed) => sessions.delete(closed),
  });
  await createBenchServer(extraTools).connect(transport);
  await transport.handleRequest(request, response);
});
server.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}/mcp`));
