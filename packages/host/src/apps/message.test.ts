import { expect, test } from "vitest";
import { Allowance, measure } from "./message.ts";

test("a message is measured in characters of JSON", () => {
  expect(measure({ a: ["text", 1, true, null, undefined] })).toBe(5 + 4 + 5 + 6 + 4 * 5);
});

test.each([
  ["a function", () => {}],
  ["a date", new Date()],
  ["bytes", new Uint8Array(3)],
  ["a big number", 1n],
  ["an error", new Error("x")],
])("%s is no message", (_, value) => {
  expect(measure({ value })).toMatchObject({ problem: expect.any(String) });
});

test("an allowance is earned with time, up to its burst", () => {
  let now = 0;
  const allowance = new Allowance(10, 20, () => now);
  expect([allowance.take(20), allowance.take(1)]).toEqual([true, false]);
  now = 100;
  expect([allowance.take(1), allowance.take(1)]).toEqual([true, false]);
  now = 1_000_000;
  expect([allowance.take(20), allowance.take(1)]).toEqual([true, false]);
  // A clock that goes back gives nothing.
  now = 0;
  expect(allowance.take(1)).toBe(false);
});
