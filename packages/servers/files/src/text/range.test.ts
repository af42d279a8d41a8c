import { mkdtemp, open, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { createReader, readFromLine, readFromOffset, readLastLines } from "./range.ts";

const signal = new AbortController().signal;

async function fileOf(text: string) {
  const folder = await mkdtemp(join(tmpdir(), "portolan-range-"));
  await writeFile(join(folder, "file"), text);
  const handle = await open(join(folder, "file"));
  onTestFinished(async () => {
    await handle.close();
    await rm(folder, { recursive: true });
  });
  const size = Buffer.byteLength(text);
  return {
    read: createReader(handle, size),
    options: (lines: number, maxBytes = 1_000) => ({ lines, maxBytes, size, signal }),
  };
}

const told = ({ bytes, ...range }: { bytes: Uint8Array }) => ({ ...range, text: Buffer.from(bytes).toString() });

test("reads lines from the start, from a byte and from the end", async () => {
  const { read, options } = await fileOf("one\ntwo\nthree\nfour\n");
  const second = { offset: 4, text: "two\nthree\n", lines: 2, isAtEnd: false };
  expect(told(await readFromLine(read, 2, options(2)))).toEqual({ ...second, from: 2 });
  expect(told(await readFromOffset(read, 4, options(2)))).toEqual({ ...second, from: undefined });
  expect(told(await readLastLines(read, options(1)))).toMatchObject({ text: "four\n", offset: 14, isAtEnd: true });
  expect(told(await readLastLines(read, options(3)))).toMatchObject({ text: "two\nthree\nfour\n", lines: 3 });
  expect(told(await readLastLines(read, options(30)))).toMatchObject({ text: "one\ntwo\nthree\nfour\n", from: 1 });
  expect(told(await readFromLine(read, 9, options(2)))).toMatchObject({ text: "", lines: 0, isAtEnd: true });
});

test("reads the last line of a file without a final newline", async () => {
  const { read, options } = await fileOf("one\ntwo");
  expect(told(await readFromLine(read, 2, options(9)))).toMatchObject({ text: "two", lines: 1, isAtEnd: true });
  expect(told(await readLastLines(read, options(1)))).toMatchObject({ text: "two", lines: 1, isAtEnd: true });
});

test("cuts after a whole line, or else after a whole character", async () => {
  const { read, options } = await fileOf("ab\ncd\nefgh\n");
  expect(told(await readFromLine(read, 1, options(9, 8)))).toMatchObject({
    text: "ab\ncd\n",
    lines: 2,
    isAtEnd: false,
  });
  const long = await fileOf("🎈🎈🎈");
  expect(told(await readFromLine(long.read, 1, long.options(9, 6)))).toMatchObject({ text: "🎈", isAtEnd: false });
});

test("counts lines across pieces", async () => {
  const text = Array.from({ length: 60_000 }, (_, at) => `line number ${at + 1}\n`).join("");
  const { read, options } = await fileOf(text);
  expect(told(await readFromLine(read, 54_321, options(1)))).toMatchObject({
    text: "line number 54321\n",
    from: 54_321,
  });
  expect(told(await readLastLines(read, options(20_000, 1_000_000)))).toMatchObject({ lines: 20_000 });
});
