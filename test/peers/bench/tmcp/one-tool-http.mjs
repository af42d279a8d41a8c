import { createServer } from "node:http";
import { getRequestListener } from "@hono/node-server";
import { ZodJsonSchemaAdapter } from "@tmcp/adapter-zod";
import { HttpTransport } from "@tmcp/transport-http";
import { McpServer } from "tmcp";
import { z } from "zod";

const server = new McpServer(
  { name: "bench", version: "1.0.0", description: "bench" },
  { adapter: new ZodJsonSchemaAdapter(), capabilities: { tools: {} } },
);
server.tool(
  { name: "echo", description: "Says the message back", schema: z.object({ message: z.string() }) },
  ({ message }) => ({ content: [{ type: "text", text: message }] }),
);
const transport = new HttpTransport(server, { path: "/mcp" });
createServer(getRequestListener((request) => transport.respond(request))).listen(3000, "127.0.0.1");
