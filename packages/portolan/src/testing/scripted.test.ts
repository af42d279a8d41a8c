import { expect, test } from "vitest";
import type { QuestionContext } from "../client/options.ts";
import type { CreateMessageParams, ElicitFormParams } from "../protocol/types/index.ts";
import { scriptedAnswers } from "./scripted.ts";

const context: QuestionContext = { server: undefined, signal: new AbortController().signal };
const form: ElicitFormParams = { message: "Your name?", requestedSchema: { type: "object", properties: {} } };
const prompt: CreateMessageParams = { messages: [], maxTokens: 10 };

test("gives the answers in order", async () => {
  const said = { role: "assistant", content: { type: "text", text: "hi" }, model: "m" } as const;
  const script = scriptedAnswers({ action: "accept", content: { name: "Ada" } }, said, [{ uri: "file:///a" }]);
  expect(await script.elicit?.(form, context)).toEqual({ action: "accept", content: { name: "Ada" } });
  expect(await script.sample?.(prompt, context)).toEqual(said);
  expect(await (script.roots as () => unknown)()).toEqual([{ uri: "file:///a" }]);
  expect(script.asked).toEqual([
    { method: "elicitation/create", params: form },
    { method: "sampling/createMessage", params: prompt },
    { method: "roots/list" },
  ]);
  script.done();
});

test("fails for a question without an answer, and again in done", () => {
  const script = scriptedAnswers();
  const why = "The script cannot answer question 1, elicitation/create (Your name?): it has only 0 answers";
  expect(() => script.elicit?.(form, context)).toThrow(why);
  expect(() => script.done()).toThrow(why);
});

test("fails for an answer to another kind of question", () => {
  const script = scriptedAnswers({ action: "decline" });
  const why = 'sampling/createMessage: it expects { role, content, model }, got {"action":"decline"}';
  expect(() => script.sample?.(prompt, context)).toThrow(why);
  expect(() => script.done()).toThrow(why);
});

test("fails in done for an unused answer", () => {
  const script = scriptedAnswers({ action: "decline" }, { action: "cancel" });
  script.elicit?.(form, context);
  expect(() => script.done()).toThrow(
    'The script has 1 more answers than there were questions (1); the next one is {"action":"cancel"}',
  );
});

test("rejects a question with a scripted error", () => {
  const script = scriptedAnswers(new Error("the user is away"));
  expect(() => script.elicit?.(form, context)).toThrow("the user is away");
  script.done();
});
