import type { QuestionContext } from "portolan/client";
import { createClock } from "portolan/testing";
import { expect, test } from "vitest";
import { memorySink, openActivity } from "../activity/index.ts";
import type { HostedServer } from "../hosted-server.ts";
import { Questions } from "../open-questions.ts";
import type { UrlQuestion } from "../questions.ts";
import { createRates } from "./forms.ts";
import { type AnswerDependencies, answersFor, Budget, createBudgets } from "./sampling.ts";

function createAnswers() {
  const visited: UrlQuestion[] = [];
  const questions = new Questions(
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

test("requests are limited per minute and in all", async () => {
  const clock = createClock();
  const budget = new Budget({ requestsPerMinute: 2, requests: 3 }, clock);
  expect([budget.take(1), budget.take(1), budget.take(1)]).toEqual([undefined, undefined, "2 requests per minute"]);
  await clock.advance(60_000);
  expect([budget.take(1), budget.take(1)]).toEqual([undefined, "3 requests"]);
  expect(budget.left.requests).toBe(0);
});

test("tokens are reserved at once, and an answer gets no more than the rest", () => {
  const budget = new Budget({ tokens: 100, maxTokens: 50 }, createClock());
  expect(budget.allowance(1_000, 10)).toBe(50);
  expect(budget.take(80)).toBeUndefined();
  expect(budget.allowance(1_000, 5)).toBe(15);
  expect(budget.take(21)).toBe("100 tokens");
  // A refused request reserves nothing, and unused tokens are returned.
  budget.settle(80, 30);
  expect(budget.left.tokens).toBe(70);
  expect(budget.take(70)).toBeUndefined();
  budget.settle(70, 90);
  expect(budget.left.tokens).toBe(0);
  expect(budget.allowance(1_000)).toBe(1);
});

test("each server has its own budget, and some have other limits", () => {
  const budgetOf = createBudgets({ requests: 1, servers: { big: { requests: 5 } } }, createClock());
  budgetOf("small").take(1);
  expect([budgetOf("small").left.requests, budgetOf("other").left.requests, budgetOf("big").left.requests]).toEqual([
    0, 1, 5,
  ]);
  expect(budgetOf("constructor").left.requests).toBe(1);
});
