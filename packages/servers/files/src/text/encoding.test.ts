import { expect, test } from "vitest";
import { decode, encodingOf, withoutCut, withoutRest } from "./encoding.ts";

const bytes = (...values: number[]) => Uint8Array.from(values);

test("distinguishes text from binary data", () => {
  expect(encodingOf(Buffer.from("Grüße 🎈"))).toBe("utf-8");
  expect(encodingOf(bytes())).toBe("utf-8");
  expect(encodingOf(bytes(0x47, 0x72, 0xfc, 0xdf, 0x65))).toBe("windows-1252");
  expect(encodingOf(bytes(0xff, 0xfe, 0x61, 0x00))).toBe("utf-16le");
  expect(encodingOf(bytes(0xfe, 0xff, 0x00, 0x61))).toBe("utf-16be");
  expect(encodingOf(bytes(0x61, 0x00, 0x62))).toBeUndefined();
  expect(encodingOf(bytes(0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a))).toBeUndefined();
});

test("accepts a sample that ends in the middle of a character", () => {
  const balloon = Buffer.from("a🎈");
  for (let length = 1; length <= balloon.length; length += 1)
    expect(encodingOf(balloon.subarray(0, length))).toBe("utf-8");
});

test("removes incomplete characters at both ends", () => {
  const text = Buffer.from("é🎈é");
  expect(Buffer.from(withoutCut(text.subarray(0, 5))).toString()).toBe("é");
  expect(Buffer.from(withoutRest(text.subarray(3))).toString()).toBe("é");
  expect(Buffer.from(withoutCut(text)).toString()).toBe("é🎈é");
});

test("removes byte order marks", () => {
  expect(decode(bytes(0xef, 0xbb, 0xbf, 0x61), "utf-8")).toBe("a");
  expect(decode(bytes(0xff, 0xfe, 0x61, 0x00), "utf-16le")).toBe("a");
});
