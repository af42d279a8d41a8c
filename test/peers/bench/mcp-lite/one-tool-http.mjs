import { createServer } from "node:http";
import { getRequestListener } from "@hono/node-server";
import { InMemorySessionAdapter, McpServer, StreamableHttpTransport } from "mcp-lite";
import { z } from "zod";

const server = new McpServer({
  name: "bench",
  version: "1.0.0",
  schemaAdapter: (schema) => z.toJSONSchema(schema),
}).tool("echo", {
  description: "Says the message back",
  inputSchema: z.object({ message: z.string() }),
  handler: ({ message }) => ({ content: [{ type: "text", text: message }] }),
});
const sessionAdapter = new InMemorySessionAdapter({ maxEventBufferSize: 1024 });
const handle = new StreamableHttpTransport({ sessionAdapter }).bind(server);
createServer(getRequestListener((request) => handle(request))).listen(3000, "127.0.0.1");
