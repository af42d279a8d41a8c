import { expect, test } from "vitest";
import { StderrTail } from "./stderr.ts";

const kept = 256 * 1024;

function hear() {
  const lines: string[] = [];
  const tail = new StderrTail((line) => lines.push(line));
  return { tail, lines };
}

test("everything is kept up to 256 KB", () => {
  const tail = new StderrTail(undefined);
  expect(tail.text).toBe("");
  tail.push(Buffer.from("one\n"));
  tail.push(Buffer.from("two"));
  expect(tail.text).toBe("one\ntwo");
  tail.push(Buffer.alloc(kept - 7, "x"));
  expect(tail.text).toBe(`one\ntwo${"x".repeat(kept - 7)}`);
});

test.each([1, 7_001, 1_000_000])(
  "the end of a flood in chunks of %i bytes is kept, and no more than 256 KB",
  (size) => {
    const flood = Buffer.from(Array.from({ length: 100_000 }, (_, at) => `line ${at}\n`).join(""));
    const tail = new StderrTail(undefined);
    for (let at = 0; at < flood.length; at += size) tail.push(flood.subarray(at, at + size));
    expect(flood.toString().endsWith(tail.text)).toBe(true);
    expect(tail.text.length).toBeLessThanOrEqual(kept);
    expect(tail.text.length).toBeGreaterThan(kept - 17_000);
  },
);

test("a character that lost its start is left out", () => {
  const tail = new StderrTail(undefined);
  tail.push(Buffer.from(`x${"é".repeat(kept)}`));
  expect(tail.text).toMatch(/^é+$/);
});

test("lines come as they are written, in any chunking", () => {
  const { tail, lines } = hear();
  for (const byte of Buffer.from("één\r\n\ntwo\nrest")) tail.push(Buffer.of(byte));
  expect(lines).toEqual(["één", "", "two"]);
  tail.end();
  expect(lines).toEqual(["één", "", "two", "rest"]);
});

test("a very long line is cut, told without waiting for its end, and told once", () => {
  const { tail, lines } = hear();
  tail.push(Buffer.from("x".repeat(9_000)));
  expect(lines).toEqual([`${"x".repeat(8_192)}…`]);
  tail.push(Buffer.from(`${"x".repeat(9_000)}\nnext\n`));
  expect(lines.slice(1)).toEqual(["next"]);
});

test("a listener that throws hears the next line all the same", () => {
  const heard: string[] = [];
  const tail = new StderrTail((line) => {
    heard.push(line);
    throw new Error("no");
  });
  tail.push(Buffer.from("one\ntwo\n"));
  expect(heard).toEqual(["one", "two"]);
  expect(tail.text).toBe("one\ntwo\n");
});
