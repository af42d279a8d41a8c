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

test.each(strange)("%j is refused on Windows, where it means something else", (name) => {
  expect(nameProblem(name, false, "win32")).toBeDefined();
  expect(nameProblem(name, false, "linux")).toBeUndefined();
});

test.each(["console.log", "nul-l", "a b", "🎈", "-rf", "it's", "line\nbreak"])(
  "%j is a name like any other",
  (name) => {
    expect(nameProblem(name, false, "linux")).toBeUndefined();
  },
);

test("hidden names are served only if asked for, and drafts never", () => {
  expect(nameProblem(".env", false, "linux")).toContain("hidden");
  expect(nameProblem(".env", true, "linux")).toBeUndefined();
  expect(nameProblem(".portolan-draft-x", true, "linux")).toBeDefined();
});

test("a path with a zero byte, or without end, is none", () => {
  expect(pathProblem("a\0b")).toBeDefined();
  expect(pathProblem("a/".repeat(3_000))).toBeDefined();
  expect(pathProblem("a/b")).toBeUndefined();
});
