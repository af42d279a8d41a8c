import type { QuestionContext } from "portolan/client";
import { createClock } from "portolan/testing";
import { expect, test } from "vitest";
import { memorySink, openActivity } from "../activity/index.ts";
import type { HostedServer } from "../hosted-server.ts";
import { OpenQuestions } from "../open-questions.ts";
import type { UrlQuestion } from "../questions.ts";
import { createRates } from "./forms.ts";
import { type AnswerDependencies, answersFor } from "./server-answers.ts";

function createAnswers() {
  const visited: UrlQuestion[] = [];
  const questions = new OpenQuestions(
    {
      openUrl(question) {
        visited.push(question);
        return { action: "accept" };
      },
    },
    { activity: openActivity(memorySink()), onAsked: () => {}, onSettled: () => {} },
  );
  const parts = {
    questions,
    activity: openActivity(memorySink()),
    models: () => [],
    sampling: {},
    roots: () => undefined,
  };
  const rateOf = createRates(60, createClock());
  const dependencies = { ...parts, rateOf } as unknown as AnswerDependencies;
  return { visited, answers: answersFor({ name: "s" } as HostedServer, dependencies) };
}

const context = { signal: new AbortController().signal } as QuestionContext;

test.each([
  ["https://example.com/", 1],
  ["http://localhost:8080/", 1],
  ["http://example.com/", 0],
  ["vscode://localhost/open", 0],
  ["javascript:alert(1)", 0],
  ["https://user:pw@example.com/", 0],
])("%s is shown %i times", async (url, times) => {
  const { visited, answers } = createAnswers();
  const answer = await answers.openUrl?.({ mode: "url", message: "Look", url, elicitationId: "1" }, context);
  expect(answer).toEqual({ action: times === 1 ? "accept" : "decline" });
  expect(visited).toHaveLength(times);
});
