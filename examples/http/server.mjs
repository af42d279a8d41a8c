// @ts-check
// A server over HTTP.
// Run: node examples/http/server.mjs 3000
import { createServer } from "portolan/server";
import { serveHttp } from "portolan/server/http";
import { z } from "zod";

export const dice = createServer({ name: "dice", version: "1.0.0" }).tool("roll", {
  description: "Rolls dice",
  input: z.object({ dice: z.number().int().min(1).max(10).default(1) }),
  output: z.object({ total: z.number() }),
  annotations: { readOnlyHint: true },
  run({ dice }, ctx) {
    let total = 0;
    for (let die = 1; die <= dice; die += 1) {
      total += 1 + Math.floor(Math.random() * 6);
      ctx.progress(die, dice);
    }
    return { total };
  },
});

if (process.argv[2] !== undefined) {
  const { url } = await serveHttp(dice).listen(Number(process.argv[2]));
  console.log(`Serving ${url}`);
}
