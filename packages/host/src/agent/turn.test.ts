import { expect, test } from "vitest";
import type { Model, ModelEvent } from "../models/model.ts";
import { readTurn } from "./turn.ts";

const emit = async () => {};

function model(stream: Model["stream"]): Model {
  return { id: "m", capabilities: { tools: true, images: false }, stream };
}

function saying(...events: ModelEvent[]): Model {
  return model(async function* () {
    yield* events;
    yield { type: "end", stopReason: "endTurn", model: "m" };
  });
}

const request = { messages: [], maxTokens: 10, signal: new AbortController().signal };

test("an abort ends a turn of a model that never answers", async () => {
  const stop = new AbortController();
  const deaf = model(() => ({ [Symbol.asyncIterator]: () => ({ next: () => new Promise(() => {}) }) }));
  const turn = readTurn(deaf, { ...request, signal: stop.signal }, emit);
  stop.abort(new Error("enough"));
  await expect(turn).rejects.toThrow("enough");
});

test("a model that continues after its end is not read, and its iterator is closed", async () => {
  const stop = new AbortController();
  let isStopped = false;
  const stubborn = model(async function* () {
    try {
      for (;;) {
        yield { type: "text", delta: "and " };
        await new Promise((resolve) => setImmediate(resolve));
      }
    } finally {
      isStopped = true;
    }
  });
  let heard = 0;
  const turn = readTurn(stubborn, { ...request, signal: stop.signal }, async () => {
    heard += 1;
    if (heard === 3) stop.abort(new Error("enough"));
  });
  await expect(turn).rejects.toThrow("enough");
  await expect.poll(() => isStopped).toBe(true);
  expect(heard).toBe(3);
});

test("calls of one turn have different ids", async () => {
  const { calls, content, unreadable } = await readTurn(
    saying(
      { type: "tool", id: "1", name: "a", input: {} },
      { type: "tool", id: "1", name: "b", input: {} },
      { type: "tool", id: "1", name: "c", unreadable: "{" },
    ),
    request,
    emit,
  );
  expect(calls.map(({ id, name }) => [id, name])).toEqual([
    ["1", "a"],
    ["call_1", "b"],
  ]);
  expect(unreadable.map(({ id }) => id)).toEqual(["call_2"]);
  expect(content.map((block) => block.type === "tool_use" && block.id)).toEqual(["1", "call_1", "call_2"]);
});

test("a call never has the id of an earlier one", async () => {
  const call = { type: "tool", id: "1", name: "a", input: {} } as const;
  const { type: _, ...rest } = call;
  const messages = [{ role: "assistant" as const, content: [{ type: "tool_use" as const, ...rest }] }];
  const { calls } = await readTurn(saying(call), { ...request, messages }, emit);
  expect(calls.map(({ id }) => id)).toEqual(["call_2"]);
});

test("a model without iterator.return keeps its text", async () => {
  const said: ModelEvent[] = [
    { type: "text", delta: "hello" },
    { type: "end", stopReason: "endTurn", model: "m" },
  ];
  const clumsy = model(() => ({
    [Symbol.asyncIterator]: () => ({
      async next() {
        const value = said.shift();
        return value ? { value, done: false } : { value: undefined, done: true };
      },
      return() {
        throw new Error("not now");
      },
    }),
  }));
  expect((await readTurn(clumsy, request, emit)).text).toBe("hello");
});
