import { createServer } from "portolan/server";
import { connectInMemory } from "portolan/testing";
import { expect, test } from "vitest";
import { z } from "zod";

const server = createServer({ name: "asking", version: "1.0.0" }).tool("book", {
  async run(_, ctx) {
    const from = await ctx.elicit("from", { message: "From?", form: z.object({ city: z.string() }) });
    const to = await ctx.elicit("to", { message: "To?", form: z.object({ city: z.string() }) });
    return [from.action, to.action].join();
  },
});

test.each([["2025-06-18"], ["2025-11-25"], ["2026-07-28"]])(
  "on %s every question of a call has the label of the call, in all rounds, and the server does not see it",
  async (revision) => {
    const labels: unknown[] = [];
    await using client = await connectInMemory(server, {
      revision,
      answers: {
        elicit(_, { during }) {
          labels.push(during?.label);
          return { action: "accept", content: { city: "Bern" } };
        },
      },
    });
    await client.callTool("book", {}, { label: "call-17" });
    expect(labels).toEqual(["call-17", "call-17"]);
    await client.callTool("book");
    expect(labels.slice(2)).toEqual([undefined, undefined]);
    expect(client.transcript.toString()).not.toContain("call-17");
  },
);
