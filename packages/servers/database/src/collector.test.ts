import { expect, test } from "vitest";
import { Collector } from "./collector.ts";

const bounds = { maxRows: 3, maxBytes: 1_000, maxValueLength: 5, maxBlobBytes: 2 };

test("shows values exactly, or marks them as cut", () => {
  const collector = new Collector(bounds);
  collector.add([1n, 2n ** 60n, 1.5, Number.NaN, true, null, "short", "much too long"]);
  collector.add([new Uint8Array([1, 2]), new Uint8Array(3), -(2n ** 53n - 1n), -(2n ** 53n)]);
  expect(collector.result).toEqual({
    rows: [
      [1, "1152921504606846976", 1.5, "NaN", true, null, "short", "much … (13 characters)"],
      [{ bytes: 2, base64: "AQI=" }, { bytes: 3 }, -9007199254740991, "-9007199254740992"],
    ],
    shortened: 1,
  });
});

test("never cuts a character in half", () => {
  const collector = new Collector(bounds);
  collector.add(["1234😀😀"]);
  expect(collector.result.rows).toEqual([["1234… (8 characters)"]]);
});

test("stops at the row limit", () => {
  const collector = new Collector(bounds);
  expect([1, 2, 3].map((row) => collector.add([row]))).toEqual([true, true, true]);
  expect(collector.isCut).toBe(false);
  expect(collector.add([4])).toBe(false);
  expect(collector.result).toEqual({ rows: [[1], [2], [3]], shortened: 0, cutBy: "rows" });
});

test("stops at the byte limit, and a row that did not fit leaves no trace", () => {
  const collector = new Collector({ ...bounds, maxBytes: 40 });
  expect(collector.add(["äöü"])).toBe(true);
  expect(collector.add(["far too long", "and", "more"])).toBe(false);
  expect(collector.add([1])).toBe(false);
  expect(collector.result).toEqual({ rows: [["äöü"]], shortened: 0, cutBy: "bytes" });
});
