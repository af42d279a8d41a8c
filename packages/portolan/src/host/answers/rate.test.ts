import { expect, test } from "vitest";
import { createClock } from "../../testing/clock.ts";
import { createRates } from "./rate.ts";

test("each server has so many questions in a minute, and the first beyond is told apart", async () => {
  const clock = createClock();
  const rateOf = createRates(2, clock);
  const take = (server: string, times: number) => Array.from({ length: times }, () => rateOf(server).take());
  expect(take("a", 4)).toEqual(["asked", "asked", "first too many", "too many"]);
  expect(take("b", 1)).toEqual(["asked"]);
  await clock.advance(60_000);
  expect(take("a", 3)).toEqual(["asked", "asked", "first too many"]);
});

test("a bound that bounds nothing is refused", () => {
  expect(() => createRates(Number.NaN, createClock())).toThrow("questionsPerMinute: expected a number");
});
