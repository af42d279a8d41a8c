import { expect, test } from "vitest";
import type { System } from "../system.ts";
import { Screen } from "./screen.ts";
import { widthOf } from "./wrap.ts";

function screenOf(options: { columns?: number; isTTY?: boolean; env?: { [name: string]: string } }): Screen {
  const { columns = 80, isTTY = true, env = { LANG: "C.UTF-8" } } = options;
  const stream = { isTTY, columns };
  return new Screen({ stdin: stream, stdout: stream, stderr: stream, env, platform: "linux" } as unknown as System);
}

test("colours are there on a terminal, and not in a pipe, with NO_COLOR or on a dumb one", () => {
  expect(screenOf({}).style("red", "x")).toContain("\u001b[");
  expect(screenOf({ isTTY: false }).style("red", "x")).toBe("x");
  expect(screenOf({ env: { NO_COLOR: "1" } }).style("red", "x")).toBe("x");
  expect(screenOf({ env: { TERM: "dumb" } }).style("red", "x")).toBe("x");
  expect(screenOf({ isTTY: false, env: { FORCE_COLOR: "1" } }).style("red", "x")).toContain("\u001b[");
});

test("a terminal without UTF-8 sees ASCII only", () => {
  const screen = screenOf({ env: { LANG: "C" } });
  expect(screen.mark("ok")).toBe("+");
  expect(screen.safe("naïve ☂")).toBe(String.raw`na\u{ef}ve \u{2602}`);
  expect(screenOf({}).safe("naïve ☂")).toBe("naïve ☂");
});

test("what a server wrote cannot move the cursor", () => {
  expect(screenOf({}).safe("\u001b[2Jhello\u202e")).toBe(String.raw`\u{1b}[2Jhello\u{202e}`);
});

test("columns line up, wide characters included, and no line is longer than the terminal", () => {
  const screen = screenOf({ columns: 20 });
  const table = screen.table([
    ["name", "what"],
    ["日本", "two wide ones and a long text"],
  ]);
  const lines = table.split("\n");
  expect(lines[0]).toBe("  name  what");
  expect(lines[1]).toBe("  日本  two wide on…");
  expect(lines.map(widthOf).every((width) => width <= 20)).toBe(true);
});

test("a coloured line is cut without losing its end of colour", () => {
  const screen = screenOf({ columns: 20 });
  const cut = screen.cut(screen.style("red", "x".repeat(50)));
  expect(widthOf(cut)).toBe(20);
  expect(cut).toContain("\u001b[39m");
});

test("what is cut off leaves no marks of its letters behind", () => {
  expect(screenOf({ columns: 20 }).cut(`${"x".repeat(30)}e\u0301 👩‍👩‍👧`)).toBe(`${"x".repeat(19)}…`);
});

test("columns that do not fit are cut where they are widest, and are lines where too little would be left", () => {
  const rows = [
    ["id", "server", "state"],
    ["12345678", "a server with a long name", "not trusted"],
  ];
  expect(screenOf({ columns: 40 }).table(rows, { isTitled: true })).toBe(
    "  id        server           state\n  12345678  a server with …  not trusted",
  );
  expect(screenOf({ columns: 30 }).table(rows, { isTitled: true })).toBe(
    "  12345678\n    a server with a long name\n    not trusted",
  );
});

test("in a pipe nothing is cut", () => {
  expect(screenOf({ isTTY: false, columns: 20 }).cut("x".repeat(50))).toHaveLength(50);
});

test.each([
  ["a", 1],
  ["日本", 4],
  ["😀", 2],
  ["e\u0301", 1],
  ["❤️", 2],
  ["👩‍💻", 4],
  ["\u001b[1mbold\u001b[22m", 4],
])("%s takes %i columns", (text, columns) => {
  expect(widthOf(text)).toBe(columns);
});
