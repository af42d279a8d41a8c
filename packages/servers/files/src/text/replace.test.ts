import { expect, test } from "vitest";
import { type Replacement, replaceIn as replaceWithin } from "./replace.ts";

const limits = { bytes: 10_000_000, places: 1_000 };
const replaceIn = (text: string, replacements: Replacement[]) => replaceWithin(text, replacements, limits);

const one = async (text: string, old: string, wanted: string, all?: boolean) =>
  (await replaceIn(text, [{ old, new: wanted, ...(all !== undefined && { all }) }])).text;

test("replaces text exactly and in order", async () => {
  expect(
    await replaceIn("a b c", [
      { old: "a", new: "b" },
      { old: "b b", new: "$&" },
    ]),
  ).toEqual({ text: "$& c", count: 2 });
});

test("keeps the line endings of the file, whichever the model writes", async () => {
  expect(await one("one\r\ntwo\r\nthree\r\n", "one\ntwo\n", "1\n2\n3\n")).toBe("1\r\n2\r\n3\r\nthree\r\n");
  expect(await one("one\r\ntwo\r\n", "two", "2\nand a half")).toBe("one\r\n2\r\nand a half\r\n");
  expect(await one("one\r\ntwo\r\n", "one\r\ntwo", "1\r\n2")).toBe("1\r\n2\r\n");
  expect(await one("one\ntwo\n", "one\r\ntwo", "1\r\n2")).toBe("1\n2\n");
  expect(await one("one\r\ntwo\nthree\r\n", "one\ntwo\nthree", "1\n2")).toBe("1\r\n2\r\n");
  expect(await one("one\r\ntwo\r\n", "\ntwo", "")).toBe("one\r\n");
});

test("refuses text that occurs more than once, with its lines, or replaces all with all", async () => {
  const text = "x = 1\ny = 2\nx = 1\n";
  await expect(one(text, "x = 1", "x = 2")).rejects.toThrow(/2 times, at lines 1, 3; add lines around it/);
  expect(await one(text, "x = 1", "z", true)).toBe("z\ny = 2\nz\n");
});

test("describes a near miss with its lines and the difference", async () => {
  const text = "function add(a, b) {\n\treturn a + b;\n}\n\nfunction sub(a, b) {\n\treturn a - b;\n}\n";
  await expect(one(text, "function sub(a, b) {\n  return a - b;\n}", "")).rejects.toThrow(
    /Closest:\nlines 5–7 \(differs only in white space\):\n5\| function sub\(a, b\) \{\n6\| \treturn a - b;/,
  );
  await expect(one(text, "function sub(a, c) {\n\treturn a - c;", "")).rejects.toThrow(
    /lines 5–6 \(differs first in line 5\)/,
  );
  await expect(one(text, "entirely unlike it", "")).rejects.toThrow(
    /Nothing in the file is similar; read the file again/,
  );
});

test("names the edit that does not match", async () => {
  await expect(
    replaceIn("a", [
      { old: "a", new: "b" },
      { old: "a", new: "c" },
    ]),
  ).rejects.toThrow(/^edit 2: old is not in the file/);
});

test("finds the closest line in a long file quickly", async () => {
  const lines = Array.from({ length: 200_000 }, (_, at) => `const value${at} = compute(${at});`);
  const text = [...lines, "export function finish(total) {"].join("\n");
  await expect(one(text, "export function finish(sum) {", "")).rejects.toThrow(/Closest:\nline 200001 /);
});

test("refuses an edit whose result would be too large, before it makes the text", async () => {
  const tenfold = { old: "a", new: "a".repeat(10), all: true };
  const within = { bytes: 1_000, places: 10_000 };
  expect((await replaceWithin("a", [tenfold, tenfold, tenfold], within)).text).toBe("a".repeat(1_000));
  await expect(replaceWithin("a", [tenfold, tenfold, tenfold, tenfold], within)).rejects.toThrow(
    /^edit 4: old: the file would have more than 1000 bytes/,
  );
  // The first edit alone is too large: 10^9 bytes are never made.
  const edits = Array.from({ length: 9 }, () => tenfold);
  await expect(replaceWithin("a".repeat(500), edits, within)).rejects.toThrow(/^edit 1: old: the file would have more/);
});

test("counts bytes, not characters", async () => {
  const within = { bytes: 10, places: 10 };
  await expect(replaceWithin("a", [{ old: "a", new: "€€€€" }], within)).rejects.toThrow(/more than 10 bytes/);
  expect((await replaceWithin("€€€", [{ old: "€", new: "abc", all: true }], within)).text).toBe("abcabcabc");
});

test("refuses to replace more places than one call may", async () => {
  const within = { bytes: 1_000, places: 5 };
  const all = { old: "a", new: "b", all: true };
  expect((await replaceWithin("aaaaa", [all], within)).count).toBe(5);
  await expect(replaceWithin("aaaaaa", [all], within)).rejects.toThrow(/more than 5 times, more places than one call/);
  await expect(replaceWithin("aaa ccc", [all, { ...all, old: "c" }], within)).rejects.toThrow(/^edit 2: old is in/);
  await expect(replaceWithin("a\r\n".repeat(6), [{ ...all, old: "a\n" }], within)).rejects.toThrow(/more than 5 times/);
});
