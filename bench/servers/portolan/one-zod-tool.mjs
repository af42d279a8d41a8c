import { createServer } from "portolan/server";
import { serveStdio } from "portolan/server/stdio";
import { z } from "zod";

serveStdio(
  createServer({ name: "bench", version: "1.0.0" }).tool("echo", {
    description: "Says the message back",
    input: z.object({ message: z.string() }),
    run: ({ message }) => ({ content: [{ type: "text", text: message }] }),
  }),
);
