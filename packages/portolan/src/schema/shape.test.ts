import { describe, expect, test } from "vitest";
import { any, array, boolean, integer, number, object, oneOf, optional, record, string } from "./shape.ts";

const params = object({
  name: string,
  count: optional(integer),
  mode: optional(oneOf("fast", "slow")),
  ratio: optional(number),
  isDry: optional(boolean),
  rows: optional(array(object({ id: integer, tags: optional(array(string)) }))),
  labels: optional(record(string)),
  more: optional(record()),
  extra: any,
});

describe("accepts", () => {
  test.each([
    { name: "a" },
    { name: "", count: 0, mode: "slow", ratio: 0.5, isDry: false, rows: [], labels: {}, more: { a: 1 }, extra: null },
    { name: "a", rows: [{ id: 1 }, { id: 2, tags: ["x"] }], unknown: "members are allowed" },
  ])("%j", (value) => {
    expect(params(value, "params")).toBeUndefined();
  });
});

describe("rejects with the path", () => {
  test.each<[unknown, string]>([
    [undefined, "params: expected an object, got nothing"],
    [null, "params: expected an object, got null"],
    [[], "params: expected an object, got an array"],
    [{}, "params.name: expected a string, got nothing"],
    [{ name: 42 }, "params.name: expected a string, got number 42"],
    [{ name: "a", count: 1.5 }, "params.count: expected an integer, got number 1.5"],
    [{ name: "a", count: null }, "params.count: expected an integer, got null"],
    [{ name: "a", ratio: Number.NaN }, "params.ratio: expected a number, got number NaN"],
    [{ name: "a", mode: "medium" }, 'params.mode: expected one of "fast", "slow", got "medium"'],
    [{ name: "a", isDry: "yes" }, 'params.isDry: expected a boolean, got "yes"'],
    [{ name: "a", rows: {} }, "params.rows: expected an array, got an object"],
    [{ name: "a", rows: [{ id: 1 }, 5] }, "params.rows[1]: expected an object, got number 5"],
    [{ name: "a", rows: [{ id: 1 }, { id: "2" }] }, 'params.rows[1].id: expected an integer, got "2"'],
    [
      { name: "a", rows: [{ id: 1, tags: ["x", true] }] },
      "params.rows[0].tags[1]: expected a string, got boolean true",
    ],
    [{ name: "a", labels: { x: 1 } }, "params.labels.x: expected a string, got number 1"],
    [{ name: "a", more: "x" }, 'params.more: expected an object, got "x"'],
  ])("%j", (value, problem) => {
    expect(params(value, "params")).toBe(problem);
  });
});

test("shows every index of nested arrays", () => {
  expect(array(array(string))([["a"], ["b", 1]], "rows")).toBe("rows[1][1]: expected a string, got number 1");
});

test("names a single literal", () => {
  expect(oneOf("2.0")("1.0", "jsonrpc")).toBe('jsonrpc: expected "2.0", got "1.0"');
  expect(oneOf(null, 1)(undefined, "id")).toBe("id: expected one of null, number 1, got nothing");
});
