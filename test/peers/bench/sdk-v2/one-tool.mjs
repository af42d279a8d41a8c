import { fromJsonSchema, McpServer } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";

const inputSchema = { type: "object", properties: { message: { type: "string" } }, required: ["message"] };
serveStdio(() => {
  const server = new McpServer({ name: "bench", version: "1.0.0" });
  server.registerTool(
    "echo",
    { description: "Says the message back", inputSchema: fromJsonSchema(inputSchema) },
    ({ message }) => ({ content: [{ type: "text", text: message }] }),
  );
  return server;
});
