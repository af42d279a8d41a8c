import { describe, expect, test } from "vitest";
import { misspelt, parseArguments, requireAll } from "./tool-arguments.ts";

const schema = {
  properties: {
    city: { type: "string" },
    days: { type: "integer" },
    times: { type: "integer", minimum: 1, maximum: 5 },
    share: { type: "number", exclusiveMinimum: 0 },
    code: { type: "string", minLength: 2, maxLength: 3 },
    ratio: { type: "number" },
    deep: { type: "boolean" },
    tags: { type: "array", items: { type: "string" } },
    sizes: { type: "array", items: { type: "integer" } },
    range: { type: "object", properties: { from: { type: "integer" }, unit: { type: "string" } } },
    mode: { enum: ["fast", 2] },
    counts: { type: "object", additionalProperties: { type: "integer" } },
    point: { type: "array", prefixItems: [{ type: "number" }, { type: "string" }] },
    people: { type: "array", items: { type: "object", properties: { age: { type: "integer" } } } },
    either: { type: ["integer", "null"] },
    "a.b": { type: "string" },
    free: {},
    maybe: { anyOf: [{ type: "integer" }, { type: "null" }] },
    several: { anyOf: [{ type: "array", items: { type: "number" } }, { type: "null" }] },
    mixed: { oneOf: [{ type: "number" }, { type: "string" }] },
    size: { $ref: "#/$defs/Size" },
    level: { anyOf: [{ const: "low" }, { const: "high" }, { type: "null" }] },
    loop: { $ref: "#/properties/loop" },
  },
  $defs: { Size: { type: "string", enum: ["s", "m"] } },
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
  [["city:Oslo", "days:3", "deep: true"], { city: "Oslo", days: 3, deep: true }],
  [["city:", "Oslo", "days:", "3"], { city: "Oslo", days: 3 }],
  [["city:http://a/?b=c"], { city: "http://a/?b=c" }],
  [['tags:["x"]', 'range:{"from":1}'], { tags: ["x"], range: { from: 1 } }],
  [["x:y=1"], { "x:y": "1" }],
  [["mode=2"], { mode: 2 }],
  [["counts.a=1", "counts.b=2"], { counts: { a: 1, b: 2 } }],
  [["point=1.5", "point=x"], { point: [1.5, "x"] }],
  [['people={"age":3}', 'people={"age":4}'], { people: [{ age: 3 }, { age: 4 }] }],
  [["either=null"], { either: null }],
  [["either=4"], { either: 4 }],
  // A field without a schema is text.
  [["free=3", "unknown=true"], { free: "3", unknown: "true" }],
  [["free:=3"], { free: 3 }],
  [["maybe=3"], { maybe: 3 }],
  [["maybe=null"], { maybe: null }],
  [["times=5", "code=abc"], { times: 5, code: "abc" }],
  // JSON is sent as it is.
  [["times:=9"], { times: 9 }],
  [["several=1", "several=2"], { several: [1, 2] }],
  // A value stays text wherever text is allowed.
  [["mixed=012"], { mixed: "012" }],
  [["size=s", "level=high", "loop=3"], { size: "s", level: "high", loop: "3" }],
  [['{"city":"Oslo"}', "days=2"], { city: "Oslo", days: 2 }],
])("%j", (words, expected) => {
  expect(parseArguments(words, schema)).toEqual(expected);
});

describe("refuses", () => {
  test.each([
    [["days=three"], 'days: expected integer, got "three"'],
    [["days=1.5"], 'days: expected integer, got "1.5"'],
    [["days="], 'days: expected integer, got ""'],
    [["deep=yes"], 'deep: expected true or false, got "yes"'],
    [["days:=three"], 'days: expected JSON, got "three"'],
    [["Oslo"], 'expected city=value, city:=json or a JSON object, got "Oslo"'],
    [["range=1"], "range: expected a JSON object, got 1"],
    [["{broken"], "arguments: expected JSON"],
    [["maybe=three"], 'maybe: expected integer or null, got "three"'],
    [["size=xl"], 'size: expected one of s, m, got "xl"'],
    [["mode=slow"], 'mode: expected one of fast, 2, got "slow"'],
    [["city=Oslo", "city=Rome"], "city: given twice, but not a list"],
    [["days=99999999999999999999"], "days: 99999999999999999999 has too many digits for a number"],
    [["ratio=1e999"], 'ratio: expected number, got "1e999"'],
    [["people.0.age=3"], "people.0.age: people is a list"],
    [["level=none"], 'level: expected one of low, high, got "none"'],
    [["times=9"], "times: expected at least 1 and at most 5, got 9"],
    [["share=0"], "share: expected more than 0, got 0"],
    [["code=x"], 'code: expected at least 2 characters and at most 3 characters, got "x"'],
  ])("%j", (words, message) => {
    expect(() => parseArguments(words, schema)).toThrow(message);
  });
});

test("refuses an unknown argument only if the schema is closed", () => {
  const closed = { properties: { city: { type: "string" } }, additionalProperties: false };
  expect(() => parseArguments(["town=Oslo"], closed)).toThrow("unknown argument town; known: city");
  expect(parseArguments(["town=Oslo"], { ...closed, patternProperties: { "^t": {} } })).toEqual({ town: "Oslo" });
});

test("fails if a required argument without a default is missing", () => {
  const required = { properties: { city: {}, days: { default: 3 } }, required: ["city", "days"] };
  expect(() => requireAll("forecast", { town: "Oslo" }, required)).toThrow("forecast needs city=…; unknown: town");
  expect(() => requireAll("forecast", { city: "Oslo" }, required)).not.toThrow();
});

test("fails if a required field of a given nested object is missing", () => {
  const place = { type: "object", properties: { lat: {}, lon: {} }, required: ["lat", "lon"] };
  const required = { properties: { place: { $ref: "#/$defs/place" } }, $defs: { place } };
  expect(() => requireAll("find", { place: { lat: 1 } }, required)).toThrow("find needs place.lon=…");
  expect(() => requireAll("find", {}, required)).not.toThrow();
});

test("treats __proto__ as an ordinary name", () => {
  const args = parseArguments(["__proto__.polluted=yes", "constructor=x"], schema);
  expect(Object.keys(args)).toEqual(["__proto__", "constructor"]);
  expect(({} as { polluted?: string }).polluted).toBeUndefined();
});

test("finds names that are close to one of the schema", () => {
  expect(misspelt({ tims: 1, city: "x", other: 2 }, schema)).toEqual([{ name: "tims", meant: "times" }]);
});
