import { createServer } from "portolan/server";
import { serveStdio } from "portolan/server/stdio";

serveStdio(
  createServer({ name: "bench", version: "1.0.0" }).tool("echo", {
    description: "Says the message back",
    input: { type: "object", properties: { message: { type: "string" } }, required: ["message"] },
    run: ({ message }) => ({ content: [{ type: "text", text: message }] }),
  }),
);
