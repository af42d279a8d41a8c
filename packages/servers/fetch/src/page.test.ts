import { expect, test } from "vitest";
import { decodeText, looksBinary } from "./page.ts";

const latin = (text: string) => Buffer.from(text, "latin1");

test.each<[string, Uint8Array, string | undefined, string]>([
  ["UTF-8 without a declaration", Buffer.from("naïve ☂"), undefined, "naïve ☂"],
  ["the charset of the header", latin("na\u00efve"), "iso-8859-1", "naïve"],
  ["Japanese", Uint8Array.of(0x93, 0xfa, 0x96, 0x7b), "shift_jis", "日本"],
  ["a byte order mark before the header", Buffer.from("\uFEFFnaïve"), "iso-8859-1", "naïve"],
  ["UTF-16 with a mark", Buffer.from("\uFEFFnaïve", "utf16le"), undefined, "naïve"],
  ["the charset of the page", latin('<meta charset="iso-8859-2">\u00e6'), undefined, '<meta charset="iso-8859-2">ć'],
  [
    "the charset of an old page",
    latin("<meta http-equiv=x content='text/html; charset=windows-1251'>\u00e6"),
    undefined,
    "<meta http-equiv=x content='text/html; charset=windows-1251'>ж",
  ],
  [
    "what XML says",
    latin('<?xml version="1.0" encoding="iso-8859-2"?>\u00e6'),
    undefined,
    '<?xml version="1.0" encoding="iso-8859-2"?>ć',
  ],
  ["a wrong header", latin("na\u00efve"), "utf-8", "naïve"],
  ["an unknown charset in the header", Buffer.from("naïve"), "x-nonsense", "naïve"],
  [
    "a page that wrongly declares UTF-16",
    Buffer.from("<meta charset=utf-16>naïve"),
    undefined,
    "<meta charset=utf-16>naïve",
  ],
  ["nothing", new Uint8Array(), undefined, ""],
])("%s", (_, bytes, declared, text) => {
  expect(decodeText(bytes, declared)).toBe(text);
});

test("zero bytes are not text without a byte order mark", () => {
  expect(looksBinary(Uint8Array.of(80, 75, 0, 1))).toBe(true);
  expect(looksBinary(Buffer.from("\uFEFFa", "utf16le"))).toBe(false);
});
