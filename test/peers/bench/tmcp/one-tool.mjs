import { StdioTransport } from "@tmcp/transport-stdio";
import { McpServer } from "tmcp";

// It has no validator of its own, so this adapter passes the schema through.
const jsonSchema = { type: "object", properties: { message: { type: "string" } }, required: ["message"] };
const schema = { "~standard": { version: 1, vendor: "bench", validate: (value) => ({ value }) } };
const server = new McpServer(
  { name: "bench", version: "1.0.0", description: "bench" },
  { adapter: { toJsonSchema: async () => jsonSchema }, capabilities: { tools: {} } },
);
server.tool({ name: "echo", description: "Says the message back", schema }, ({ message }) => ({
  content: [{ type: "text", text: message }],
}));
new StdioTransport(server).listen();
