import type { CreateMessageParams } from "portolan";
import { expect, test } from "vitest";
import { demoModel } from "./demo.ts";
import { echoModel } from "./offline.ts";
import { answerSampling } from "./sampling.ts";
import { scriptedModel } from "./scripted.ts";

const params = (more: Partial<CreateMessageParams> = {}): CreateMessageParams => ({
  messages: [{ role: "user", content: { type: "text", text: "Hello there" } }],
  maxTokens: 100,
  ...more,
});
const tool = {
  name: "look",
  description: "Looks",
  inputSchema: { type: "object" as const },
  annotations: { title: "L" },
};

test("answers with one block, which every revision supports", async () => {
  expect(await answerSampling(echoModel(), params())).toEqual({
    role: "assistant",
    content: { type: "text", text: "Hello there" },
    model: "echo",
    stopReason: "endTurn",
  });
});

test("answers with empty text if the model says nothing", async () => {
  const { content } = await answerSampling(scriptedModel([{}]), params());
  expect(content).toEqual({ type: "text", text: "" });
});

test("answers with a list for text and calls", async () => {
  const model = scriptedModel([{ say: "Let me look", call: { name: "look" } }]);
  const { content, stopReason } = await answerSampling(model, params({ tools: [tool] }));
  expect(content).toEqual([
    { type: "text", text: "Let me look" },
    { type: "tool_use", id: "call_1", name: "look", input: {} },
  ]);
  expect(stopReason).toBe("toolUse");
});

test("passes all params of the server to the model, and nothing else", async () => {
  const model = scriptedModel([{ say: "ok" }]);
  const { signal } = new AbortController();
  const asked = params({
    systemPrompt: "Be brief",
    temperature: 0.1,
    stopSequences: ["."],
    metadata: { a: 1 },
    tools: [tool],
    toolChoice: { mode: "none" },
    includeContext: "allServers",
    modelPreferences: { costPriority: 1 },
  });
  await answerSampling(model, asked, { signal });
  expect(model.requests).toEqual([
    {
      messages: asked.messages,
      maxTokens: 100,
      system: "Be brief",
      temperature: 0.1,
      stopSequences: ["."],
      metadata: { a: 1 },
      tools: [{ name: "look", description: "Looks", inputSchema: { type: "object" } }],
      toolChoice: { mode: "none" },
      signal,
    },
  ]);
});

test("applies maxTokens and stop sequences to offline models", async () => {
  const cut = await answerSampling(echoModel(), params({ maxTokens: 2 }));
  expect(cut).toMatchObject({ content: { text: "Hello t" }, stopReason: "maxTokens" });
  const stopped = await answerSampling(demoModel(), params({ stopSequences: ["", "demo"] }));
  expect(stopped).toMatchObject({ content: { text: "This is the " }, stopReason: "stopSequence" });
});

test("rejects a request that needs a missing capability, without calling the model", async () => {
  const model = scriptedModel([], { capabilities: { tools: false, images: false } });
  await expect(answerSampling(model, params({ tools: [tool] }))).rejects.toMatchObject({
    code: "capability-missing",
    message: expect.stringContaining("does not support tools"),
  });
  expect(model.requests).toEqual([]);
});

test("rejects a call with unreadable arguments", async () => {
  const model = scriptedModel([{ call: { name: "look", unreadable: "{oops" } }]);
  await expect(answerSampling(model, params({ tools: [tool] }))).rejects.toMatchObject({
    code: "model-failed",
    message: expect.stringContaining("called look with arguments that are not a JSON object"),
  });
});

test("rejects with the reason of the signal", async () => {
  const reason = new Error("taken back");
  await expect(answerSampling(demoModel(), params(), { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
});
