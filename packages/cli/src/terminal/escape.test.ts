import { expect, test } from "vitest";
import { toVisibleJson } from "./escape.ts";

test("what a terminal would act upon is escaped, and means the same", () => {
  const value = { "\u009b31m\u007f": "\u202ea\u200b\u2028\u{e0041}\ufeff\ud800 ü 日本 😀\n\t\u001b" };
  const shown = toVisibleJson(JSON.stringify(value));
  expect(shown).toBe(String.raw`{"\u009b31m\u007f":"\u202ea\u200b\u2028\udb40\udc41\ufeff\ud800 ü 日本 😀\n\t\u001b"}`);
  expect(JSON.parse(shown)).toEqual(value);
});

test("what is harmless stays as it is, lines too", () => {
  const text = '{\n\t"a": "ü 日本 😀"\n}';
  expect(toVisibleJson(text)).toBe(text);
});
