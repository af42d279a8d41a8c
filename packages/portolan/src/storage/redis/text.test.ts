import fc from "fast-check";
import { expect, test } from "vitest";
import { slotOf } from "./commands.ts";
import { compareCodePoints, decodeText, encodeText } from "./text.ts";

const anyText = fc.string({ unit: fc.integer({ min: 0, max: 0xffff }).map((code) => String.fromCharCode(code)) });

test("an encoded text survives UTF-8, and is decoded to the same text", () => {
  const overTheWire = (text: string) => new TextDecoder().decode(new TextEncoder().encode(text));
  fc.assert(fc.property(anyText, (text) => decodeText(overTheWire(encodeText(text))) === text.replace(/^\ufeff/, "")));
  expect(encodeText("plain ☂ 🗺")).toBe("plain ☂ 🗺");
});

test("two texts are encoded differently", () => {
  fc.assert(fc.property(anyText, anyText, (a, b) => a === b || encodeText(a) !== encodeText(b)));
});

test("compares by code points, not by the halves of surrogate pairs", () => {
  expect(compareCodePoints("\u{1f5fa}", "\ue000")).toBeGreaterThan(0);
  expect(compareCodePoints("a", "ab")).toBeLessThan(0);
  expect(compareCodePoints("a", "a")).toBe(0);
});

test.each([
  ["foo", 12_182],
  ["somekey", 11_058],
  ["foo{hash_tag}", 2_515],
])("finds the slot of %s as Redis does", (key, slot) => {
  expect(slotOf(key)).toBe(slot);
});
