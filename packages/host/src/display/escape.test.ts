import { describe, expect, test } from "vitest";
import { display, displayValue } from "./escape.ts";

const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, index) => from + index);
const escapeOf = (code: number) => `\\u{${code.toString(16)}}`;

describe("display escapes invisible characters", () => {
  test.each<[string, readonly number[]]>([
    ["C0 controls with ESC, BEL, backspace, CR", range(0, 0x1f)],
    ["DEL and C1 controls with CSI and OSC", range(0x7f, 0x9f)],
    ["bidi controls", [0x61c, 0x200e, 0x200f, ...range(0x202a, 0x202e), ...range(0x2066, 0x2069)]],
    ["zero-width characters", [0x200b, 0x200c, 0x200d, 0x2060, 0xfeff, 0x180e, 0xad, 0x34f]],
    ["other format characters", [0x600, 0x605, 0x6dd, 0xfff9, 0xfffa, 0xfffb]],
    ["invisible operators", range(0x2061, 0x2064)],
    ["fillers that are blank", [0x115f, 0x1160, 0x3164, 0xffa0, 0x2800]],
    ["line and paragraph separators", [0x2028, 0x2029]],
    ["tag characters", [0xe0001, ...range(0xe0020, 0xe007f)]],
    ["variation selectors", [...range(0xfe00, 0xfe0f), 0xe0100, 0xe01ef]],
    ["private use", [0xe000, 0xf8ff, 0xf0000, 0x10fffd]],
    ["surrogates alone", [0xd800, 0xdbff, 0xdc00, 0xdfff]],
    ["what is no character", [0xfffe, 0xffff, 0x378, 0xfdd0]],
  ])("%s", (_, codes) => {
    for (const code of codes) {
      const sign = String.fromCodePoint(code);
      expect(display(`a${sign}b`)).toBe(`a${escapeOf(code)}b`);
      expect(display(sign.repeat(3))).toBe(escapeOf(code).repeat(3));
      expect(displayValue(`k${sign}`)).not.toContain(sign);
    }
  });

  test("titles, colours and links of a terminal have no effect", () => {
    expect(display("\x1b]0;pwned\x07\x1b[31mred\x1b[0m \x9b2J \x1b]8;;http://x\x1b\\y")).toBe(
      "\\u{1b}]0;pwned\\u{7}\\u{1b}[31mred\\u{1b}[0m \\u{9b}2J \\u{1b}]8;;http://x\\u{1b}\\y",
    );
  });

  test("an escape in the text does not look like ours", () => {
    expect(display("\\u{1b}")).toBe("\\u{5c}u{1b}");
    expect(display("\\u{1b}")).not.toBe(display("\x1b"));
    expect(display("\\u{5c}u{1b}")).not.toBe(display("\\u{1b}"));
    expect(display("C:\\users\\u1")).toBe("C:\\users\\u1");
  });

  test("of many marks on one letter only six stay", () => {
    expect(display(`e${"\u0301".repeat(9)}`)).toBe(`e${"\u0301".repeat(6)}${"\\u{301}".repeat(3)}`);
  });

  test("a selector or joiner without an emoji is escaped", () => {
    expect(display("a\ufe0fb\u200dc")).toBe("a\\u{fe0f}b\\u{200d}c");
    expect(display("❤\ufe0f\ufe0f")).toBe("❤\ufe0f\\u{fe0f}");
    expect(display("👩\u200d")).toBe("👩\\u{200d}");
  });
});

describe("display keeps visible characters", () => {
  test.each([
    ["Zażółć gęślą jaźń — „cytat” … €"],
    ["Съешь ещё этих мягких булок"],
    ["Ξεσκεπάζω την ψυχοφθόρα βδελυγμία"],
    ["日本語のテキスト、漢字とカナ"],
    ["한국어 텍스트"],
    ["עברית ועוד"],
    ["हिन्दी में पाठ"],
    ["e\u0301 ❤\ufe0f 👩\u200d👩\u200d👧 👩🏽\u200d🚀 1\ufe0f\u20e3 🇩🇪"],
    ["a\u00a0b\u3000c"],
    ["C:\\new\\table"],
  ])("%s", (text) => {
    expect(display(text)).toBe(text);
  });
});

describe("line ends", () => {
  test("are escaped by default", () => {
    expect(display("a\nb\tc\r\nd")).toBe("a\\u{a}b\\u{9}c\\u{d}\\u{a}d");
    expect(display("a\nb\tc\r\nd\re\u2028f\x0b", { lines: "keep" })).toBe("a\nb\tc\nd\\u{d}e\\u{2028}f\\u{b}");
  });
});

describe("maxChars", () => {
  test("shows all by default; otherwise says how much is left out", () => {
    const long = "x".repeat(100_000);
    expect(display(long)).toBe(long);
    expect(display(long, { maxChars: 10 })).toBe("xxxxxxxxxx… (99990 more characters)");
    expect(display("short", { maxChars: 5 })).toBe("short");
  });

  test("does not split a surrogate pair", () => {
    expect(display("ab😀cd", { maxChars: 3 })).toBe("ab… (4 more characters)");
  });

  test("counts hidden characters beyond the cut", () => {
    expect(display("ok\u200b\u200b", { maxChars: 2 })).toBe("ok… (2 more characters)");
  });
});

describe("displayValue", () => {
  test("formats indented JSON with names and texts escaped", () => {
    expect(displayValue({ "na\u202eme": ["a\nb", 1, null, true, {}, []], nested: { "\\u{1b}": "\\u{1b}\x1b" } })).toBe(
      [
        "{",
        '  "na\\u{202e}me": [',
        '    "a\\nb",',
        "    1,",
        "    null,",
        "    true,",
        "    {},",
        "    []",
        "  ],",
        '  "nested": {',
        '    "\\\\u{1b}": "\\\\u{1b}\\u001b"',
        "  }",
        "}",
      ].join("\n"),
    );
  });

  test("replaces deep levels by a note", () => {
    const deep: unknown = JSON.parse(`${"[".repeat(20_000)}${"]".repeat(20_000)}`);
    expect(displayValue(deep)).toContain("[ … 1 more inside, too deep to show ]");
    expect(displayValue([[1, 2]], { maxDepth: 1 })).toBe("[\n  [ … 2 more inside, too deep to show ]\n]");
  });

  test("names values that are not JSON", () => {
    expect(displayValue(undefined)).toBe("undefined");
  });
});
