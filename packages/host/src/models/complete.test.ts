import { expect, test } from "vitest";
import { complete } from "./complete.ts";
import type { Model, ModelEvent } from "./model.ts";

const request = { messages: [], maxTokens: 10 };

function saying(...events: unknown[]): Model {
  return {
    id: "m",
    capabilities: { tools: true, images: false },
    async *stream() {
      yield* events as ModelEvent[];
    },
  };
}

test.each([["text"], [null], [[1]]])("reports a call with the arguments %j as unreadable", async (input) => {
  const end = { type: "end", stopReason: "toolUse", model: "m" };
  const { content, unreadable } = await complete(saying({ type: "tool", id: "1", name: "a", input }, end), request);
  expect(content).toEqual([]);
  expect(unreadable).toEqual([{ type: "tool", id: "1", name: "a", unreadable: JSON.stringify(input) }]);
});

test("rejects a turn without an end event, and a stream that is not an async iterable", async () => {
  await expect(complete(saying({ type: "text", delta: "half" }), request)).rejects.toMatchObject({
    code: "model-failed",
    message: 'm: expected its turn to end with an "end" event, got none',
  });
  const late = { ...saying(), stream: async () => [] } as unknown as Model;
  await expect(complete(late, request)).rejects.toThrow("m: expected stream() to return an async iterable");
});
