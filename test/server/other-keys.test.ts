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
  expect(other.reported[0]?.message).toMatch(
    /sealed with a key that this process does not have.*give all of them a common `storage`, or the same `secrets`/,
  );
});

test("a state of another process with other secrets is reported once, with the steps to change one", async () => {
  const other = start({ secrets: ["b".repeat(32)] });
  await continueElsewhere(start({ secrets: ["a".repeat(32)] }), other);
  expect(other.reported).toHaveLength(1);
  expect(other.reported[0]?.message).toMatch(
    /append the new one in all .* to the front in all, and remove the old one/,
  );
});

test("the steps to change a secret lose no state, in any order of restarts", async () => {
  const [older, newer] = ["a".repeat(32), "b".repeat(32)];
  const steps = [
    [[older], [older, newer]],
    [
      [older, newer],
      [newer, older],
    ],
    [[newer, older], [newer]],
  ];
  for (const pair of steps) {
    for (const [first = [], second = []] of [pair, [...pair].reverse()]) {
      // The last step waits until the states of the old secret have expired.
      if (first[0] === older && !second.includes(older)) continue;
      const [one, two] = [start({ secrets: first }), start({ secrets: second })];
      await using begun = await connectInMemory(one.server, { answers: { elicit: () => ({ action: "decline" }) } });
      await using other = await connectInMemory(two.server, { answers: { elicit: () => ({ action: "decline" }) } });
      const round = await begun.callTool("order", {}, { autoAnswer: false });
      if (!("requestState" in round)) throw new Error("expected a question");
      const [question = ""] = Object.keys((round as { inputRequests?: object }).inputRequests ?? {});
      const retry = {
        requestState: round.requestState as string,
        inputResponses: { [question]: { action: "decline" } },
      };
      expect(await other.callTool("order", {}, retry as never)).toMatchObject({ content: [{ text: "kept" }] });
      expect(two.reported).toEqual([]);
    }
  }
});
