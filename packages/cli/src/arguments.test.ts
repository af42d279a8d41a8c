import { describe, expect, test } from "vitest";
import { parseArguments } from "./arguments.ts";

const schema = {
  properties: {
    city: { type: "string" },
    days: { type: "integer" },
    ratio: { type: "number" },
    deep: { type: "boolean" },
    tags: { type: "array", items: { type: "string" } },
    sizes: { type: "array", items: { type: "integer" } },
    range: { type: "object", properties: { from: { type: "integer" }, unit: { type: "string" } } },
    mode: { enum: ["fast", 2] },
    either: { type: ["integer", "null"] },
    "a.b": { type: "string" },
    free: {},
  },
};

test.each([
  [["city=012"], { city: "012" }],
  [["city="], { city: "" }],
  [["city=a=b:=c"], { city: "a=b:=c" }],
  [["days=3", "ratio=0.5", "deep=true"], { days: 3, ratio: 0.5, deep: true }],
  [["tags=a", "tags=b,c"], { tags: ["a", "b,c"] }],
  [["sizes=1", "sizes=2"], { sizes: [1, 2] }],
  [['tags:=["x"]'], { tags: ["x"] }],
  [["range.from=1", "range.unit=7"], { range: { from: 1, unit: "7" } }],
  [["a.b=c"], { "a.b": "c" }],
  [["mode=2"], { mode: 2 }],
  [["either=null"], { either: null }],
  [["either=4"], { either: 4 }],
  // What the schema says nothing about is text.
  [["free=3", "unknown=true"], { free: "3", unknown: "true" }],
  [["free:=3"], { free: 3 }],
  [['{"city":"Oslo"}', "days=2"], { city: "Oslo", days: 2 }],
])("%j", (words, expected) => {
  expect(parseArguments(words, schema)).toEqual(expected);
});

describe("is refused:", () => {
  test.each([
    [["days=three"], 'days: expected integer, got "three"'],
    [["days=1.5"], 'days: expected integer, got "1.5"'],
    [["days="], 'days: expected integer, got ""'],
    [["deep=yes"], 'deep: expected boolean, got "yes"'],
    [["days:=three"], 'days: expected JSON, got "three"'],
    [["Oslo"], 'expected city=value, city:=json or a JSON object, got "Oslo"'],
    [["range=1"], "range: expected a JSON object, got 1"],
    [["{broken"], "arguments: expected JSON"],
  ])("%j", (words, message) => {
    expect(() => parseArguments(words, schema)).toThrow(message);
  });
});

test("names of prototypes are names like any other", () => {
  const args = parseArguments(["__proto__.polluted=yes", "constructor=x"], schema);
  expect(Object.keys(args)).toEqual(["__proto__", "constructor"]);
  expect(({} as { polluted?: string }).polluted).toBeUndefined();
});
