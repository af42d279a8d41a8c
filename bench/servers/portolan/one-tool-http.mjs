import { createServer } from "portolan/server";
import { serveHttp } from "portolan/server/http";
import { z } from "zod";

await serveHttp(
  createServer({ name: "bench", version: "1.0.0" }).tool("echo", {
    description: "Says the message back",
    input: z.object({ message: z.string() }),
    run: ({ message }) => ({ content: [{ type: "text", text: message }] }),
  }),
).listen(3000);
