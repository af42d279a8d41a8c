import { expect, test } from "vitest";
import type { System } from "../system.ts";
import { Screen } from "./screen.ts";
import { widthOf } from "./wrap.ts";

function screenOf(options: { columns?: number; isTTY?: boolean; env?: { [name: string]: string } }): Screen {
  const { columns = 80, isTTY = true, env = { LANG: "C.UTF-8" } } = options;
  const stream = { isTTY, columns };
  return new Screen({ stdin: stream, stdout: stream, stderr: stream, env, platform: "linux" } as unknown as System);
}

test("uses colours on a terminal, but not in a pipe, with NO_COLOR or on a dumb terminal", () => {
  expect(screenOf({}).style("red", "x")).toContain("\u001b[");
  expect(screenOf({ isTTY: false }).style("red", "x")).toBe("x");
  expect(screenOf({ env: { NO_COLOR: "1" } }).style("red", "x")).toBe("x");
  expect(screenOf({ env: { TERM: "dumb" } }).style("red", "x")).toBe("x");
  expect(screenOf({ isTTY: false, env: { FORCE_COLOR: "1" } }).style("red", "x")).toContain("\u001b[");
});

test("has 80 columns, or those of the environment, on a terminal that does not know its width", () => {
  expect(screenOf({ columns: 0 }).columns).toBe(80);
  expect(screenOf({ columns: 0, env: { COLUMNS: "120" } }).columns).toBe(120);
  expect(screenOf({ columns: 5 }).columns).toBe(20);
});

test("uses only ASCII on a terminal without UTF-8", () => {
  const screen = screenOf({ env: { LANG: "C" } });
  expect(screen.mark("ok")).toBe("+");
  expect(screen.safe("naïve ☂")).toBe(String.raw`na\u{ef}ve \u{2602}`);
  expect(screenOf({}).safe("naïve ☂")).toBe("naïve ☂");
});

test("escapes cursor movements in text of a server", () => {
  expect(screenOf({}).safe("\u001b[2Jhello\u202e")).toBe(String.raw`\u{1b}[2Jhello\u{202e}`);
});

test("aligns columns with wide characters within the terminal width", () => {
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

test("keeps the end of a colour when it cuts a line", () => {
  const screen = screenOf({ columns: 20 });
  const cut = screen.cut(screen.style("red", "x".repeat(50)));
  expect(widthOf(cut)).toBe(20);
  expect(cut).toContain("\u001b[39m");
});

test("removes combining marks of cut letters", () => {
  expect(screenOf({ columns: 20 }).cut(`${"x".repeat(30)}e\u0301 👩‍👩‍👧`)).toBe(`${"x".repeat(19)}…`);
});

test("cuts the widest columns, or breaks rows into lines when little would remain", () => {
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

test("cuts nothing in a pipe", () => {
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
