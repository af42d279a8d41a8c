import { expect, test } from "vitest";
import { replaceIn } from "./replace.ts";

const one = (text: string, old: string, wanted: string, all?: boolean) =>
  replaceIn(text, [{ old, new: wanted, ...(all !== undefined && { all }) }]).text;

test("replaces text exactly and in order", () => {
  expect(
    replaceIn("a b c", [
      { old: "a", new: "b" },
      { old: "b b", new: "$&" },
    ]),
  ).toEqual({ text: "$& c", count: 2 });
});

test("keeps the line endings of the file, whichever the model writes", () => {
  expect(one("one\r\ntwo\r\nthree\r\n", "one\ntwo\n", "1\n2\n3\n")).toBe("1\r\n2\r\n3\r\nthree\r\n");
  expect(one("one\r\ntwo\r\n", "two", "2\nand a half")).toBe("one\r\n2\r\nand a half\r\n");
  expect(one("one\r\ntwo\r\n", "one\r\ntwo", "1\r\n2")).toBe("1\r\n2\r\n");
  expect(one("one\ntwo\n", "one\r\ntwo", "1\r\n2")).toBe("1\n2\n");
  expect(one("one\r\ntwo\nthree\r\n", "one\ntwo\nthree", "1\n2")).toBe("1\r\n2\r\n");
  expect(one("one\r\ntwo\r\n", "\ntwo", "")).toBe("one\r\n");
});

test("refuses text that occurs more than once, with its lines, or replaces all with all", () => {
  const text = "x = 1\ny = 2\nx = 1\n";
  expect(() => one(text, "x = 1", "x = 2")).toThrow(/2 times, at lines 1, 3; add lines around it/);
  expect(one(text, "x = 1", "z", true)).toBe("z\ny = 2\nz\n");
});

test("describes a near miss with its lines and the difference", () => {
  const text = "function add(a, b) {\n\treturn a + b;\n}\n\nfunction sub(a, b) {\n\treturn a - b;\n}\n";
  expect(() => one(text, "function sub(a, b) {\n  return a - b;\n}", "")).toThrow(
    /Closest:\nlines 5–7 \(differs only in white space\):\n5\| function sub\(a, b\) \{\n6\| \treturn a - b;/,
  );
  expect(() => one(text, "function sub(a, c) {\n\treturn a - c;", "")).toThrow(/lines 5–6 \(differs first in line 5\)/);
  expect(() => one(text, "entirely unlike it", "")).toThrow(/Nothing in the file is similar; read the file again/);
});

test("names the edit that does not match", () => {
  expect(() =>
    replaceIn("a", [
      { old: "a", new: "b" },
      { old: "a", new: "c" },
    ]),
  ).toThrow(/^edit 2: old is not in the file/);
});

test("finds the closest line in a long file quickly", () => {
  const lines = Array.from({ length: 200_000 }, (_, at) => `const value${at} = compute(${at});`);
  const text = [...lines, "export function finish(total) {"].join("\n");
  expect(() => one(text, "export function finish(sum) {", "")).toThrow(/Closest:\nline 200001 /);
});
