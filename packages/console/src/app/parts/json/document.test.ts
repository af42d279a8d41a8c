import { describe, expect, test } from "vitest";
import { type JsonNode, nodeAt, nodeOf, parseJson, pathText, printJson, stringNode, withValue } from "./document.ts";

const parse = (text: string): JsonNode => {
  const parsed = parseJson(text);
  if ("error" in parsed) throw new Error(parsed.error.message);
  return parsed.node;
};

describe("a lossless document", () => {
  test.each([
    "12345678901234567890",
    "1.50",
    "-0",
    "1E+2",
    '"\\u00e9\\/"',
    '"\\ud800"',
    "null",
    "{}",
    "[]",
    '{\n  "b": 1,\n  "a": "",\n  "b": 2.0\n}',
    '[1, 2.50, "x", null]',
  ])("prints %s as it was read", (text) => {
    expect(printJson(parse(text))).toBe(text);
  });

  test("keeps digits, order and unknown members when one member changes", () => {
    const before = parse('{"x-trace": 12345678901234567890, "to": "BCN", "from": "OSL"}');
    const after = withValue(before, ["to"], stringNode("LIS"));
    expect(printJson(after!)).toBe('{\n  "x-trace": 12345678901234567890,\n  "to": "LIS",\n  "from": "OSL"\n}');
  });

  test("tells absent, empty and null apart", () => {
    const empty = withValue(parse('{"a": null}'), ["b"], stringNode(""));
    expect(printJson(empty!)).toBe('{\n  "a": null,\n  "b": ""\n}');
    expect(printJson(withValue(empty, ["a"], undefined)!)).toBe('{\n  "b": ""\n}');
    expect(nodeAt(empty, ["c"])).toBeUndefined();
  });

  test("puts a new member where the schema lists it", () => {
    const node = withValue(parse('{"a": 1, "c": 3}'), ["b"], nodeOf(2), ["a", "b", "c"]);
    expect(printJson(node!)).toBe('{\n  "a": 1,\n  "b": 2,\n  "c": 3\n}');
  });

  test("makes the objects on the way to a new value", () => {
    expect(printJson(withValue(parse("{}"), ["a", "b"], nodeOf(1))!)).toBe('{\n  "a": {\n    "b": 1\n  }\n}');
  });

  test("keeps both of two members with one name, and reads the last", () => {
    const node = parse('{"a": 1, "a": 2}');
    expect(printJson(withValue(node, ["a"], nodeOf(3))!)).toBe('{\n  "a": 1,\n  "a": 3\n}');
    expect(nodeAt(node, ["a"])).toMatchObject({ text: "2" });
  });

  test("removes an item of an array", () => {
    expect(printJson(withValue(parse("[1, 2, 3]"), [1], undefined)!)).toBe("[1, 3]");
  });

  test("keeps a member named __proto__ as a member", () => {
    expect(printJson(withValue(parse('{"__proto__": 1}'), ["a"], nodeOf(2))!)).toBe(
      '{\n  "__proto__": 1,\n  "a": 2\n}',
    );
  });
});

describe("a text that is not JSON", () => {
  test.each([
    ["", 1, 1, "There is no JSON here yet."],
    ['{"a": 1,}', 1, 8, "A comma stands before the closing brace."],
    ['{"a" 1}', 1, 6, 'Expected ":" after the name, found 1.'],
    ['{\n  "a": 01\n}', 2, 8, "01 is not a JSON number."],
    ["{a: 1}", 1, 2, "Expected a name in quotes, found a."],
    ['"x\n"', 1, 1, "The string does not end on its line."],
    ['"\\q"', 1, 2, "\\q is not an escape of JSON."],
    ["[1 2]", 1, 4, 'Expected "," or "]", found 2.'],
    ["1 2", 1, 3, "Expected the end, found 2."],
    ["[".repeat(300), 1, 257, "Nested more than 256 levels deep."],
  ])("%j: names line %i, column %i and the reason", (text, line, column, message) => {
    expect(parseJson(text)).toEqual({ error: { message, line, column, at: expect.any(Number) } });
  });
});

test("paths read as code does", () => {
  expect(pathText(["rows", 1, "price"])).toBe("rows[1].price");
  expect(pathText(["x y", "z-1"])).toBe('["x y"].z-1');
});
