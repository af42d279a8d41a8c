import { expect, test } from "vitest";
import { parseCall } from "./call-expression.ts";

test.each([
  ["files.read()", "files.read", []],
  ["files.read(path: 1)", "files.read", ["path=1"]],
  ['files.read(path: "a, b.txt", lines: 5)', "files.read", ["path=a, b.txt", "lines=5"]],
  ["read(path='it is (1)', isWhole=true);", "read", ["path=it is (1)", "isWhole=true"]],
  [
    'add("first name": "O\'Hara", tags: ["a", "b"], at: { "x": 1 })',
    "add",
    ["first name=O'Hara", 'tags:=["a", "b"]', 'at:={ "x": 1 }'],
  ],
  ['add({ "a": 1, "b": [2] })', "add", ['{ "a": 1, "b": [2] }']],
  ["say(text: what's this)", "say", ["text=what's this"]],
  ['say(text: "a \\"quoted\\" word", more: x)', "say", ['text=a "quoted" word', "more=x"]],
])("reads %s", (written, name, words) => {
  expect(parseCall(written)).toEqual({ name, words });
});

test.each(["files.read", "note=f(x)", "https://example.com/(a)", "./a(1).ts", '{ "a": "f(x)" }', "(a: 1)", ""])(
  "leaves %j as it is",
  (word) => {
    expect(parseCall(word)).toBeUndefined();
  },
);

test("asks for names of arguments", () => {
  expect(() => parseCall('read("a.txt")')).toThrow('read(…): expected name: value, got "\\"a.txt\\""');
});
