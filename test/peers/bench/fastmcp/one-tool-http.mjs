import { FastMCP } from "fastmcp";
import { z } from "zod";

const server = new FastMCP({ name: "bench", version: "1.0.0" });
server.addTool({
  name: "echo",
  description: "Says the message back",
  parameters: z.object({ message: z.string() }),
  execute: async ({ message }) => message,
});
await server.start({ transportType: "httpStream", httpStream: { port: 3000 } });
