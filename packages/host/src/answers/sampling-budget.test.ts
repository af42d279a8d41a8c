import { createClock } from "portolan/testing";
import { expect, test } from "vitest";
import { Budget, createBudgets } from "./sampling-budget.ts";

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
