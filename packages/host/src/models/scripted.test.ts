import type { SamplingMessage } from "portolan";
import { expect, test } from "vitest";
import { complete } from "./complete.ts";
import type { ModelEvent } from "./model.ts";
import { scriptedModel } from "./scripted.ts";

const user = (text: string): SamplingMessage => ({ role: "user", content: { type: "text", text } });
const answered = (text: string): SamplingMessage[] => [
  user("hi"),
  { role: "assistant", content: [{ type: "tool_use", id: "a", name: "read", input: {} }] },
  { role: "user", content: [{ type: "tool_result", toolUseId: "a", content: [{ type: "text", text }] }] },
];
const ask = (...messages: SamplingMessage[]) => ({ messages, maxTokens: 100 });

test("plays the turns in order, each when its conditions match", async () => {
  const model = scriptedModel([
    { when: { user: /^hi$/g }, call: { name: "read", input: { path: "a" } } },
    { when: { tool: "read", result: "milk" }, say: "You need milk." },
    { say: "Bye" },
  ]);
  expect((await complete(model, ask(user("hi")))).content).toEqual([
    { type: "tool_use", id: "call_1", name: "read", input: { path: "a" } },
  ]);
  expect((await complete(model, ask(...answered("Buy milk")))).content).toEqual([
    { type: "text", text: "You need milk." },
  ]);
  expect(() => model.done()).toThrow(/has 3 turns, and 2 were used; the next one would say "Bye"/);
  await complete(model, ask(user("anything")));
  model.done();
  expect(model.requests).toHaveLength(3);
});

test("rejects a request that does not match, with the expected turn and the request", async () => {
  const model = scriptedModel([{ when: { user: "weather", system: /brief/ }, call: { name: "forecast" } }]);
  const message =
    'The script of scripted expects turn 1, which would call forecast for user "weather" and system /brief/; got: the user said "hello"';
  await expect(complete(model, ask(user("hello")))).rejects.toMatchObject({ code: "model-failed", message });
  expect(() => model.done()).toThrow(message);
});

test("rejects a request after the last turn", async () => {
  const model = scriptedModel([]);
  await expect(complete(model, ask(...answered("Buy milk")))).rejects.toThrow(
    'has no turn left after 0; got: read answered "Buy milk"',
  );
  await expect(complete(model, ask())).rejects.toThrow("no text of a user");
});

test("uses a repeated turn when the next one does not match", async () => {
  const model = scriptedModel([
    { when: { user: "first" }, say: "1" },
    { when: { user: "sum up" }, say: "In short", repeat: true },
    { when: { user: "second" }, say: "2" },
  ]);
  const said = [];
  for (const text of ["sum up a", "first", "sum up b", "second", "sum up c"]) {
    said.push((await complete(model, ask(user(text)))).content[0]);
  }
  expect(said).toMatchObject([
    { text: "In short" },
    { text: "1" },
    { text: "In short" },
    { text: "2" },
    { text: "In short" },
  ]);
  model.done();
});

test("streams thinking, text, several calls and an error of one turn", async () => {
  const fail = new Error("the line is dead");
  const model = scriptedModel([
    {
      think: "hm",
      say: "a b",
      call: [
        { name: "x", id: "own" },
        { name: "y", unreadable: "{" },
      ],
      fail,
    },
  ]);
  const events: ModelEvent[] = [];
  const listen = async () => {
    for await (const event of model.stream(ask(user("hi")))) events.push(event);
  };
  await expect(listen()).rejects.toBe(fail);
  expect(events).toEqual([
    { type: "thinking", delta: "hm" },
    { type: "text", delta: "a" },
    { type: "text", delta: " b" },
    { type: "tool", id: "own", name: "x", input: {} },
    { type: "tool", id: "call_1", name: "y", unreadable: "{" },
  ]);
});

test("reports the usage of the script, or an estimate", async () => {
  const model = scriptedModel([
    { say: "x".repeat(36) },
    { say: "a", usage: { outputTokens: 99 }, stopReason: "maxTokens" },
  ]);
  const first = await complete(model, ask(user("y".repeat(36))));
  expect(first.usage).toEqual({ inputTokens: 14, outputTokens: 10 });
  expect(await complete(model, ask(user("y")))).toMatchObject({ usage: { outputTokens: 99 }, stopReason: "maxTokens" });
});

test.each([
  [[{ text: "hi" }], /turn 1: unknown option `text`.*`say`/],
  [[{ say: "hi" }, { when: { usr: "hi" } }], /turn 2: when: unknown option `usr`.*`user`/],
  [[{ call: { name: "a", args: {} } }], /turn 1: call: unknown option `args`.*`input`/],
  [[{ call: "a" }], /turn 1: call: expected \{ name, input \}, got "a"/],
  [["hi"], /turn 1: expected an object such as/],
  [{ say: "hi" }, /scriptedModel: expected a list of turns, got an object/],
])("refuses the script %j", (turns, message) => {
  expect(() => scriptedModel(turns as never)).toThrow(message);
});

test("done throws if a turn called a tool that was not offered", async () => {
  const model = scriptedModel([{ call: { name: "write" } }]);
  const tools = [{ name: "read", description: "", inputSchema: {} }];
  await complete(model, { ...ask(user("hello")), tools });
  expect(() => model.done()).toThrow(/called "write", which is not among its tools: read/);
});
