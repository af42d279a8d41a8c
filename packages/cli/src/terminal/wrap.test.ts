import { expect, test } from "vitest";
import { widthOf, wrap, wrapHanging, wrapStep } from "./wrap.ts";

test("breaks between words, and within words that are too long", () => {
  expect(wrap("a few words here", 9)).toEqual(["a few", "words", "here"]);
  expect(wrap("abcdefghijklmnopqrstuvw xyz", 10)).toEqual(["abcdefghij", "klmnopqrst", "uvw xyz"]);
});

test("keeps indentation and newlines", () => {
  expect(wrap("  one two three\nfour", 9)).toEqual(["  one two", "  three", "four"]);
});

test("gives the first part and the others an indentation of their own", () => {
  expect(wrapHanging("one two three four", 12, 4, 2)).toBe("one two\n  three four");
  expect(wrapHanging("one", 12, 4, 2)).toBe("one");
  expect(wrapHanging("a\tb c d e", 12, 4, 2)).toBe("a    b c\n  d e");
  expect(wrapHanging("one two\u00a0three", 12, 0, 2)).toBe("one\n  two three");
});

test("counts the visible width of wide characters and colours", () => {
  for (const line of wrap("日本語日本語日本語", 8)) expect(widthOf(line)).toBeLessThanOrEqual(8);
  expect(wrap("\u001b[1mbold\u001b[22m word", 9)).toEqual(["\u001b[1mbold\u001b[22m word"]);
  expect(wrap(`\u001b[1m${"a".repeat(16)}\u001b[22m`, 8)).toEqual(["\u001b[1maaaaaaaa", "aaaaaaaa\u001b[22m"]);
});

test.each([" ", "\t", "\u00a0", "\u3000", " \u00a0", "\n", " \n\t"])(
  "shows the rest of a text after many %j soon",
  (blank) => {
    const lines = wrap(`  before${blank.repeat(5_000)}after`, 40);
    expect(lines[0]?.trimEnd()).toBe("  before");
    expect(lines.at(-1)?.trim()).toBe("after");
    expect(lines.length).toBeLessThanOrEqual(4);
    for (const line of lines) expect(widthOf(line)).toBeLessThanOrEqual(40);
  },
);

test("keeps blanks within a line, and breaks at a run of them", () => {
  expect(wrap("name      about it\n\n\nnext", 40)).toEqual(["name      about it", "", "", "next"]);
  expect(wrap("name      about the name", 20)).toEqual(["name      about the", "name"]);
  expect(wrap("a name that is long       about", 20)).toEqual(["a name that is long", "about"]);
});

test("replaces tabs, and never underestimates the width of a character", () => {
  const lines = wrap(`${"\t".repeat(30)}y once`, 40);
  expect(lines.join("")).not.toContain("\t");
  for (const line of [...lines, ...wrap("\u{17000}".repeat(30), 40)]) {
    expect(widthOf(line)).toBeLessThanOrEqual(40);
    expect([...line].filter((sign) => sign === "\u{17000}").length).toBeLessThanOrEqual(20);
  }
});

test("breaks a next step between words, and keeps a command in it on one line", () => {
  const command = "portolan call --timeout 120 files.read path=/a/very/long/path";
  expect(wrapStep(command, 20)).toEqual([command]);
  expect(wrapStep(`compare it with the protocol: ${command}`, 20)).toEqual([
    "compare it with the",
    "protocol:",
    command,
  ]);
  expect(wrapStep("put the task in other words", 20)).toEqual(["put the task in", "other words"]);
  expect(wrapStep(`run: ${command}`, 200)).toEqual([`run: ${command}`]);
});
