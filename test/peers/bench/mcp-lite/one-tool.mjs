import { McpServer, StreamableHttpTransport } from "mcp-lite";

const inputSchema = { type: "object", properties: { message: { type: "string" } }, required: ["message"] };
const server = new McpServer({ name: "bench", version: "1.0.0" }).tool("echo", {
  description: "Says the message back",
  inputSchema,
  handler: ({ message }) => ({ content: [{ type: "text", text: message }] }),
});
export default new StreamableHttpTransport().bind(server);
