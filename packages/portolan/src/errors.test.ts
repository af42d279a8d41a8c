import { expect, test } from "vitest";
import { nameOf } from "./errors.ts";

test("nameOf describes a value in a few words", () => {
  expect([nameOf(null), nameOf(undefined), nameOf([1]), nameOf({ a: 1 })]).toEqual([
    "null",
    "nothing",
    "an array",
    "an object",
  ]);
  expect([nameOf(1n), nameOf(() => 1), nameOf(Symbol("s"))]).toEqual(["bigint 1", "a function", "a symbol"]);
});

test("nameOf counts a long text instead of quoting it", () => {
  expect(nameOf("x".repeat(41))).toBe("a string of 41 characters");
  expect(nameOf("a\nb")).toBe('"a\\nb"');
});
