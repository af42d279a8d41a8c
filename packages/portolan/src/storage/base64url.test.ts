import fc from "fast-check";
import { expect, test } from "vitest";
import { parseBase64url, toBase64url } from "./base64url.ts";

test("it writes what Node writes and reads it back", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
      const text = toBase64url(bytes);
      expect(text).toBe(Buffer.from(bytes).toString("base64url"));
      expect(parseBase64url(text)).toEqual(Uint8Array.from(bytes));
    }),
  );
});

test("text is accepted only if the bytes would be written so", () => {
  fc.assert(
    fc.property(fc.oneof(fc.base64String(), fc.string({ unit: "binary" }), fc.stringMatching(/^[\w-]*$/)), (text) => {
      const bytes = parseBase64url(text);
      if (bytes !== undefined) expect(toBase64url(bytes)).toBe(text);
    }),
  );
  for (const text of ["A", "AB", "AAB", "AA==", "A+/A", "AAA\u0100", "é", "AAA "]) {
    expect(parseBase64url(text)).toBeUndefined();
  }
});
