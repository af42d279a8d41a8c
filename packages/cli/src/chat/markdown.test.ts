import { expect, test } from "vitest";
import type { System } from "../system.ts";
import { Screen } from "../terminal/screen.ts";
import { MarkdownStream } from "./markdown.ts";

function screenOf(columns: number, env: { [name: string]: string } = {}): Screen {
  const stream = { isTTY: true, columns };
  const system = { stdin: stream, stdout: stream, stderr: stream, platform: "linux", env: { LANG: "C.UTF-8", ...env } };
  return new Screen(system as unknown as System);
}

/** Shows pieces of text in a terminal. Returns the lines with their styles. */
function show(pieces: Iterable<string>, columns = 40, env?: { [name: string]: string }): string {
  let shown = "";
  const markdown = new MarkdownStream(screenOf(columns, env), (text) => {
    shown += text;
  });
  for (const piece of pieces) markdown.push(piece);
  markdown.end();
  return shown;
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: this is what colours begin with
const plain = (text: string) => text.replace(/\u001b\[\d+m/g, "");

test.each([
  ["**bold** and *soft*", "\u001b[1mbold\u001b[22m and \u001b[3msoft\u001b[23m\n"],
  ["`a * b * c`", "\u001b[36ma * b * c\u001b[39m\n"],
  ["``a ` b``", "\u001b[36ma ` b\u001b[39m\n"],
  ["2 * 3 * 4, snake_case_name, a\\*b", "2 * 3 * 4, snake_case_name, a*b\n"],
  ["[here](https://a.example/x)", "here (\u001b[4mhttps://a.example/x\u001b[24m)\n"],
  ["[https://a.example](https://a.example)", "https://a.example\n"],
  ['[a [b](<https://a.example> "title" )', "[a b (\u001b[4mhttps://a.example\u001b[24m)\n"],
  ["## Title", "\u001b[1mTitle\u001b[22m\n"],
  ["#hashtag", "#hashtag\n"],
  ["- a\n  - b\n* c\n+ d", "• a\n  • b\n• c\n• d\n"],
  ["1. a\n10) b", "1. a\n10) b\n"],
  ["~~no~~", "\u001b[9mno\u001b[29m\n"],
  ["open **marker", "open **marker\n"],
  ["```\n**x**\n\n  y\n```\nz", "  \u001b[36m**x**\u001b[39m\n  \n  \u001b[36m  y\u001b[39m\nz\n"],
  ["a\n\nb", "a\n\nb\n"],
])("shows %j", (text, shown) => {
  expect(show([text])).toBe(shown);
});

const text =
  "# A title of **some** length\n\nA paragraph with `code of several words`, *emphasis*, and [a link](https://example.com/a/long/address).\n\n- an item that is longer than one line of this screen\n  1. a nested item that is also longer than one line\n> a quotation that is longer than one line of it\n\n| a | b |\n|---|---|\n| 1 | **2** |\n\n```ts\nconst x = 1;\n```\n---\nThe end";

test("shows the same, however the text is cut into pieces", () => {
  const whole = show([text]);
  expect(show(text)).toBe(whole);
  expect(show(text.match(/[\s\S]{1,7}/g) ?? [])).toBe(whole);
  expect(plain(whole)).toBe(`A title of some length

A paragraph with code of several words,
emphasis, and a link
(https://example.com/a/long/address).

• an item that is longer than one line
  of this screen
  1. a nested item that is also longer
     than one line
│ a quotation that is longer than one
│ line of it

  a  b
  1  2

  const x = 1;
${"─".repeat(20)}
The end
`);
});

test("shows each word as soon as it is complete", () => {
  const shown: string[] = [];
  const markdown = new MarkdownStream(screenOf(40), (piece) => shown.push(piece));
  markdown.push("One two **three ");
  expect(shown.join("")).toBe("One two");
  markdown.push("four** fi");
  expect(plain(shown.join(""))).toBe("One two three four");
});

test("ends a line whose words are all shown", () => {
  const shown: string[] = [];
  const markdown = new MarkdownStream(screenOf(40), (piece) => shown.push(piece));
  markdown.push("- One two ");
  markdown.end();
  markdown.push("three");
  markdown.end();
  expect(shown.join("")).toBe("• One two\nthree\n");
});

test("breaks a word only if no line has room for it", () => {
  expect(show(["ab abcdefghijklmnopqrstuvwxyz cd"], 20)).toBe("ab\nabcdefghijklmnopqrst\nuvwxyz cd\n");
});

test("shows a table that is too wide as a list, and cuts nothing", () => {
  const cell = "a rather long text in one cell";
  const shown = plain(show([`| name | about |\n|---|---|\n| x | ${cell} |\n| y | ${cell} |\n`], 30));
  expect(shown).toBe(`  name: x
  about: a rather long text in
  one cell

  name: y
  about: a rather long text in
  one cell

`);
});

test("keeps the markers where there are no styles", () => {
  expect(show(["# T\n**b** `c`\n- d"], 40, { NO_COLOR: "1" })).toBe("# T\n**b** `c`\n• d\n");
});

test.each(["`", "*", "**", "_", "[", "[](", "~~", "\\", "` ", "* a ", "[a]( "])(
  "shows a long line of %j as it is, and in pieces without getting slow",
  (marker) => {
    const long = `x${marker.repeat(20_000)}`;
    expect(show([long]).replaceAll(/\s/g, "")).toBe(long.replaceAll(" ", ""));
    expect(show(long.slice(0, 10_000))).toContain("x");
  },
);

test.each([
  ["blanks before a text", `${" ".repeat(2_000)}x\n`, "            x\n"],
  ["blanks within a line", `a${" ".repeat(2_000)}x\n`, "a\nx\n"],
  ["blanks before a marker", `${" ".repeat(2_000)}- x\n`, "            - x\n"],
  [
    "a line that is too long for a rule",
    `${"-".repeat(300)}\n`,
    `${"-".repeat(40)}\n`.repeat(7).concat("-".repeat(20), "\n"),
  ],
])("shows %s, whole and in pieces", (_, text, shown) => {
  expect(show([text])).toBe(shown);
  expect(show(text)).toBe(shown);
});

test("repeats only the beginning of a long title of a table", () => {
  const shown = plain(show([`| ${"t".repeat(1_000)} |\n|---|\n${"| x |\n".repeat(100)}`]));
  expect(shown.match(/x/g)).toHaveLength(100);
  expect(shown.length).toBeLessThan(100 * 100);
});
