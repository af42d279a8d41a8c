import { expect, test } from "vitest";
import type { QuestionContext } from "../../client/options.ts";
import { createClock } from "../../testing/clock.ts";
import { memorySink, openActivity } from "../activity/index.ts";
import { Asking } from "../asking.ts";
import type { HostedServer } from "../hosted-server.ts";
import type { VisitQuestion } from "../questions.ts";
import { type AnswersRoom, answersFor } from "./answers-for.ts";
import { createRates } from "./rate.ts";

function createAnswers() {
  const visited: VisitQuestion[] = [];
  const asking = new Asking(
    {
      visit(question) {
        visited.push(question);
        return { action: "accept" };
      },
    },
    { asked: () => {}, settled: () => {} },
  );
  const parts = { asking, activity: openActivity(memorySink()), models: [], sampling: {}, roots: () => undefined };
  const rateOf = createRates(60, createClock());
  const room = { ...parts, rateOf } as unknown as AnswersRoom;
  return { visited, answers: answersFor({ name: "s" } as HostedServer, room) };
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
  const answer = await answers.visit?.({ mode: "url", message: "Look", url, elicitationId: "1" }, context);
  expect(answer).toEqual({ action: times === 1 ? "accept" : "decline" });
  expect(visited).toHaveLength(times);
});
