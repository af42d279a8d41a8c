import { expect, test } from "vitest";
import { nameProblem, pathProblem } from "./names.ts";

const strange = [
  "CON",
  "nul.txt",
  "com1",
  "LPT9.log",
  "a:b",
  "file::$DATA",
  "dot.",
  "space ",
  "PROGRA~1",
  "a\tb",
  "a|b",
];

test.each(strange)("refuses %j on Windows, where it has another meaning", (name) => {
  expect(nameProblem(name, false, "win32")).toBeDefined();
  expect(nameProblem(name, false, "linux")).toBeUndefined();
});

test.each(["console.log", "nul-l", "a b", "🎈", "-rf", "it's", "line\nbreak"])("accepts %j", (name) => {
  expect(nameProblem(name, false, "linux")).toBeUndefined();
});

test("serves hidden names only if enabled, and drafts never", () => {
  expect(nameProblem(".env", false, "linux")).toContain("hidden");
  expect(nameProblem(".env", true, "linux")).toBeUndefined();
  expect(nameProblem(".portolan-draft-x", true, "linux")).toBeDefined();
});

test("rejects a path with a zero byte, and one that is too long", () => {
  expect(pathProblem("a\0b")).toBeDefined();
  expect(pathProblem("a/".repeat(3_000))).toBeDefined();
  expect(pathProblem("a/b")).toBeUndefined();
});
