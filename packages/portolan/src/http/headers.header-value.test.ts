import fc from "fast-check";
import { expect, test } from "vitest";
import { decodeHeaderValue, encodeHeaderValue, trimHeader } from "../http/headers.ts";

const character = fc
  .integer({ min: 0, max: 0x10ffff })
  .map((code) => String.fromCodePoint(code))
  .filter((one) => !/^[\ud800-\udfff]$/.test(one));
const codeUnit = fc.integer({ min: 0, max: 0xffff }).map((code) => String.fromCharCode(code));
const text = fc.oneof(
  fc.string({ unit: character }),
  fc.string(),
  fc.string({ unit: fc.constantFrom("=?base64?", "?=", "SGk=", " ", "\t", "a") }),
);

test("decoding reverses encoding, also with white space around the value", () => {
  fc.assert(
    fc.property(text, fc.string({ unit: fc.constantFrom(" ", "\t") }), (value, space) => {
      expect(decodeHeaderValue(space + encodeHeaderValue(value) + space)).toBe(value);
    }),
  );
});

test("encoded values are visible ASCII without white space around them", () => {
  fc.assert(
    fc.property(fc.oneof(text, fc.string({ unit: codeUnit })), (value) => {
      const header = encodeHeaderValue(value);
      expect(header).toMatch(/^[\t -~]*$/);
      expect(trimHeader(header)).toBe(header);
    }),
  );
});

test("visible ASCII with spaces and tabs inside is sent unchanged", () => {
  for (const value of ["", "a", "us-west1", "us west\t1", "~!", "Hello, World", "=?base64?", "?=", "=?BASE64?SGk=?="]) {
    expect(encodeHeaderValue(value)).toBe(value);
  }
});

test.each([
  ["Hello, 世界", "=?base64?SGVsbG8sIOS4lueVjA==?="],
  [" padded ", "=?base64?IHBhZGRlZCA=?="],
  ["\tindented", "=?base64?CWluZGVudGVk?="],
  ["line1\nline2", "=?base64?bGluZTEKbGluZTI=?="],
  ["line1\r\nX-Injected: 1", "=?base64?bGluZTENClgtSW5qZWN0ZWQ6IDE=?="],
  ["del\x7f", "=?base64?ZGVsfw==?="],
  ["\u00a0", "=?base64?wqA=?="],
  ["\ufeffmark", "=?base64?77u/bWFyaw==?="],
  ["=?base64?literal?=", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="],
  ["=?base64?=", "=?base64?PT9iYXNlNjQ/PQ==?="],
])("%j is sent as base64 of its UTF-8", (value, header) => {
  expect(encodeHeaderValue(value)).toBe(header);
  expect(decodeHeaderValue(header)).toBe(value);
});

test("a value without both lower-case markers is literal", () => {
  for (const value of [
    "SGVsbG8=",
    "=?base64?SGVsbG8=",
    "SGVsbG8=?=",
    "=?BASE64?SGVsbG8=?=",
    "=?Base64?SGVsbG8=?=",
    "x=?base64?SGVsbG8=?=",
    "=?base64?=",
  ]) {
    expect(decodeHeaderValue(value)).toBe(value);
  }
  expect(decodeHeaderValue("=?base64??=")).toBe("");
});

test.each([
  ["padding that is missing", "=?base64?SGVsbG8?="],
  ["padding that is too long", "=?base64?SGVsbG8==?="],
  ["padding inside", "=?base64?SGk=SGk=?="],
  ["characters outside the alphabet", "=?base64?SGVs!!!bG8=?="],
  ["the alphabet of URLs", "=?base64?-_-_?="],
  ["white space", "=?base64?SGVs bG8=?="],
  ["left-over bits", "=?base64?SGl=?="],
  ["bytes that are not UTF-8", "=?base64?/w==?="],
  ["surrogates in UTF-8", "=?base64?7aCA?="],
  ["two values joined", "=?base64?SGk=?=, =?base64?SGk=?="],
])("base64 with %s is refused", (_, header) => {
  expect(decodeHeaderValue(header)).toBeUndefined();
});

test("raw control characters and characters outside ASCII are refused", () => {
  for (const header of ["a\nb", "a\rb", "a\0b", "a\x7fb", "é", "a\u0080", "世界", "\u00a0a", "a\n", "=?base64?é?="]) {
    expect(decodeHeaderValue(header)).toBeUndefined();
  }
});
