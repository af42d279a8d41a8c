// @ts-check
// A server whose calls cost units of a quota.
// Run: node examples/extension/client.mjs
import { createServer } from "portolan/server";
import { serveStdio } from "portolan/server/stdio";
import { z } from "zod";
import { id, quota } from "./quota.mjs";

const server = createServer({ name: "translator", version: "1.0.0" })
  .extend(quota({ units: 10 }))
  .tool("shout", { input: z.object({ text: z.string() }), run: ({ text }) => text.toUpperCase() })
  .tool("translate", {
    input: z.object({ text: z.string() }),
    extensions: { [id]: { cost: 6 } },
    run: ({ text }) => [...text].reverse().join(""),
  });

serveStdio(server);
