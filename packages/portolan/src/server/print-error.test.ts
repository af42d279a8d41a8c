import { expect, test } from "vitest";
import { PortolanError } from "../errors.ts";
import { toLines } from "./print-error.ts";

test("an error is printed with its name, its members and its causes", () => {
  const refused = Object.assign(new TypeError("refused"), { code: "ECONNREFUSED" });
  const lines = toLines(new PortolanError("store-failed", "no answer", { cause: refused })).split("\n");
  expect(lines.filter((line) => !line.startsWith("      at "))).toEqual([
    "PortolanError: no answer",
    '  {"code":"store-failed"}',
    "  cause: TypeError: refused",
    '  {"code":"ECONNREFUSED"}',
  ]);
});

test.each([
  ["a text", "\u001b[2J", "\\u{1b}[2J"],
  ["an object", { a: 1 }, '{"a":1}'],
  ["nothing", undefined, "undefined"],
  ["an object without a prototype", Object.create(null), "{}"],
])("%s that was thrown is printed", (_, thrown, printed) => {
  expect(toLines(thrown)).toBe(printed);
});

test("an error that is its own cause, members without a JSON form and a long message are printed", () => {
  const error = Object.assign(new Error("x".repeat(1_000_000)), { big: 1n });
  error.cause = error;
  expect(toLines(error).length).toBeLessThan(20_000);
  error.message = "short";
  expect(toLines(error)).toMatch(/^Error: short[\s\S]*\[object Object\][\s\S]*cause: …$/);
});
