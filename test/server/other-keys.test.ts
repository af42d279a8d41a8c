import { createServer, type ServerOptions } from "portolan/server";
import { connectInMemory } from "portolan/testing";
import { expect, test } from "vitest";

function start(options: Pick<ServerOptions<undefined>, "secrets"> = {}) {
  const reported: Error[] = [];
  const onError = (error: unknown) => {
    reported.push(error as Error);
  };
  const server = createServer({ name: "shop", version: "1" }, { ...options, onError }).tool("order", {
    run: async (_, ctx) => ((await ctx.confirm("sure", "Sure?")) ? "ordered" : "kept"),
  });
  return { reported, server };
}

/** Begins a call at one server and sends its state to another one, several times. */
async function continueElsewhere(first: ReturnType<typeof start>, second: ReturnType<typeof start>) {
  const answers = { elicit: () => ({ action: "decline" as const }) };
  await using one = await connectInMemory(first.server, { answers });
  await using two = await connectInMemory(second.server, { answers });
  const round = await one.callTool("order", {}, { autoAnswer: false });
  if (!("requestState" in round)) throw new Error("expected a question");
  const retry = { requestState: round.requestState as string, inputResponses: {} };
  for (let attempt = 0; attempt < 3; attempt += 1) {
    await expect(two.callTool("order", {}, retry)).rejects.toMatchObject({ code: -32602 });
  }
}

test("a state of another process without secrets is reported once, with what to set", async () => {
  const other = start();
  await continueElsewhere(start(), other);
  expect(other.reported).toHaveLength(1);
  expect(other.reported[0]?.message).toMatch(/sealed with a key that this process does not have.*set `secrets`/);
});

test("a state of another process with other secrets is reported once, with what to keep", async () => {
  const other = start({ secrets: ["b".repeat(32)] });
  await continueElsewhere(start({ secrets: ["a".repeat(32)] }), other);
  expect(other.reported).toHaveLength(1);
  expect(other.reported[0]?.message).toMatch(/Keep a replaced secret at the end of `secrets`/);
});
