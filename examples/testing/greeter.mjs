// @ts-check
// A small server for the tests in greeter.test.mjs.
import { createServer } from "portolan/server";
import { z } from "zod";

export default createServer({ name: "greeter", version: "1.0.0" })
  .tool("greet", { input: z.object({ name: z.string() }), run: ({ name }) => `Hello ${name}` })
  .tool("forget", {
    input: z.object({ name: z.string() }),
    async run({ name }, ctx) {
      return (await ctx.confirm("sure", `Forget ${name}?`)) ? `Who is ${name}?` : ctx.cancelled();
    },
  })
  .tool("ponder", { run: () => new Promise(() => {}) });
