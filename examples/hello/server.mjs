import { createServer } from "portolan/server";
import { serveStdio } from "portolan/server/stdio";
import { z } from "zod"; // or valibot, arktype, or a plain JSON Schema

const highs = { Oslo: [4, 6, 5, 3, 2, 1, 0], Lisbon: [18, 19, 17, 20, 21, 19, 18] };

const server = createServer({ name: "weather", version: "0.1.0" }).tool("forecast", {
  description: "Highest temperatures of the next days in a city",
  input: z.object({ city: z.enum(["Oslo", "Lisbon"]), days: z.number().int().min(1).max(7).default(3) }),
  output: z.object({ city: z.string(), highs: z.array(z.number()) }),
  annotations: { readOnlyHint: true },
  async run({ city, days }, ctx) {
    if (days > 5 && !(await ctx.confirm("many-days", `Really ${days} days?`))) return ctx.cancelled();
    return { city, highs: highs[city].slice(0, days) };
  },
});

serveStdio(server);
