import { FastMCP, jsonSchemaAdapter } from "fastmcp";

const server = new FastMCP({ name: "bench", version: "1.0.0" });
server.addTool({
  name: "echo",
  description: "Says the message back",
  parameters: jsonSchemaAdapter({
    type: "object",
    properties: { message: { type: "string" } },
    required: ["message"],
  }),
  execute: async ({ message }) => message,
});
await server.start({ transportType: "stdio" });
