import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { CallToolRequestSchema, ListToolsRequestSchema } from "@modelcontextprotocol/sdk/types.js";

// McpServer of v1 accepts only zod; plain JSON Schema needs the low-level Server.
const server = new Server({ name: "bench", version: "1.0.0" }, { capabilities: { tools: {} } });
const inputSchema = { type: "object", properties: { message: { type: "string" } }, required: ["message"] };
server.setRequestHandler(ListToolsRequestSchema, () => ({
  tools: [{ name: "echo", description: "Says the message back", inputSchema }],
}));
server.setRequestHandler(CallToolRequestSchema, (request) => ({
  content: [{ type: "text", text: request.params.arguments.message }],
}));
await server.connect(new StdioServerTransport());
