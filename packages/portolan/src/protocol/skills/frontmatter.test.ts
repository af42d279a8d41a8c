import { describe, expect, test } from "vitest";
import { parseDocument } from "yaml";
import { FrontmatterError, parseFrontmatter } from "./frontmatter.ts";

const read = (yaml: string) => parseFrontmatter(`---\n${yaml}\n---\nbody\n`).frontmatter;
/** What the YAML library, which is no part of this package, makes of the same text. */
const oracle = (yaml: string) => {
  const document = parseDocument(`${yaml}\n`, { merge: false, strict: true });
  if (document.errors.length > 0) throw new Error(document.errors[0]?.message);
  return document.toJS();
};

const same: { readonly [title: string]: string } = {
  "plain texts": "name: refunds\ndescription: Pays money back, with care\nurl: http://example.com:80/a#b",
  "all kinds of scalars":
    "a: null\nb: ~\nc:\nd: true\ne: FALSE\nf: 12\ng: -3.5e3\nh: 0x1F\ni: 0o17\nj: .5\nk: 1.0\nl: 2024-01-02\nm: yes\nn: 1_000",
  comments: "# first\na: b # more\n\n  # indented\nc: d#e\nf: 'g' # h",
  "quoted texts": `a: "x: \\"y\\" \\u00e9 \\x41 \\t # no"\nb: 'it''s # fine'\n"c d": 1\n'e: f': 2`,
  "quoted texts of several lines": `a: "one\n  two\n\n  three \\\n    four"\nb: 'x\n\n\n  y'`,
  "plain texts of several lines": "a: one\n  two\n\n  three - four\nb: next",
  "a text below its name": "a:\n  one\n  two\nb:\n  'x'",
  "literal texts": "a: |\n  one\n   two\n\n  three\n\nb: |-\n  x\nc: |+\n  y\n\nd: |2\n    z\ne: |\nf: 1",
  "folded texts": "a: >\n  one\n  two\n\n  three\n    deeper\n  back\nb: >-\n  x\n  y\nc: >+\n  z\n\nd: >2-\n    q",
  lists: "a:\n- 1\n- two # c\n-\n- - x\n  - y\n- b: 1\n  c: 2\n-\n  d: 3\ne:\n  - f: |\n      text\n    g: h",
  mappings: "a:\n  b:\n    c: d\n  e: f\ng: h",
  "lists and mappings in brackets":
    'a: [1, two, "th,ree", [x], {y: z}, ]\nb: {c: 1, "d":2, e, f: [g: h2]}\nc: []\nd: {}\ne: [\n  one, # c\n  two\n  three,\n  ]'.replace(
      "[g: h2]",
      "[g]",
    ),
  "names that objects have": "__proto__: 1\nconstructor: 2\ntoString: 3",
  "texts that only look like indicators": "a: -b\nc: ?d\ne: :f\ng: a:b\nh: '- x'\ni: x - y",
  "windows line ends": "a: b\r\nc: |\r\n  d\r\n  e\r\nf: g",
  emoji: 'a: "\\U0001F600"\nb: 😀\nc: "\\ud83d\\ude00"',
};

describe("parseFrontmatter", () => {
  test.each(Object.entries(same))("reads %s as other readers do", (_, yaml) => {
    expect(read(yaml)).toEqual(oracle(yaml));
  });

  test("returns the text after the frontmatter", () => {
    expect(parseFrontmatter("---\na: b\n---\n\n# Title\n---\n")).toEqual({
      frontmatter: { a: "b" },
      body: "\n# Title\n---\n",
    });
    expect(parseFrontmatter("\uFEFF---\r\na: b\r\n---").body).toBe("");
  });

  test.each([
    ["anchors", "a: &x 1", 2, "anchors"],
    ["aliases", "a: 1\nb: *a", 3, "aliases"],
    ["aliases in brackets", "a: [*b]", 2, "aliases"],
    ["tags", "a: !!js/function x", 2, "tags"],
    ["merge keys", "<<: {a: 1}", 2, "merge"],
    ["a name that is there twice", "a: 1\nb: 2\n'a': 3", 4, '"a" is there twice'],
    ["a name that is there twice in brackets", "x: {a: 1, a: 2}", 2, "twice"],
    ["names that are no text", "1: a", 2, "quotes"],
    ["names with a question mark", "? a\n: b", 2, "?"],
    ["a colon in a text", "a: Use when: asked", 2, "quotes"],
    ["tabs as indentation", "a:\n\tb: c", 3, "tab"],
    ["a line that is indented too much", "a: 'b'\n   c: d", 3, "indented more"],
    ["a list on the line of its name", "a: - b", 2, "line of its own"],
    ["an open bracket", "a: [b\nc: d", 3, "closing"],
    ["an open quote", "a: 'b\nc: d'", 3, "closing"],
    ["numbers without a JSON form", "a: .inf", 2, "JSON"],
    ["numbers that are too large", `a: ${"9".repeat(400)}`, 2, "JSON"],
    ["control characters", "a: b\nc: \u0007", 3, "control"],
    ["a list at the top", "- a", 2, "mapping"],
    ["nothing", "", 3, "mapping"],
    ["an unknown escape", 'a: "\\q"', 2, "escape"],
    ["deep lists", `a: ${"[".repeat(200)}`, 2, "32"],
    ["deep mappings", Array.from({ length: 40 }, (_, at) => `${" ".repeat(at)}a:`).join("\n"), 35, "32"],
  ])("refuses %s, and names the line", (_, yaml, line, why) => {
    expect(() => read(yaml)).toThrow(FrontmatterError);
    expect(() => read(yaml)).toThrow(new RegExp(`^line ${line}: .*${why.replace(/[?*]/g, "\\$&")}`));
  });

  test.each(["", "name: x", "# Title\n---\na: b\n---\n", "---\na: b\n", " ---\na: b\n---\n"])(
    "refuses a text without frontmatter: %j",
    (text) => {
      expect(() => parseFrontmatter(text)).toThrow(/^line 1: expected/);
    },
  );

  test("refuses a frontmatter that is too long", () => {
    expect(() => read(`a: ${"x".repeat(70_000)}`)).toThrow(/65536 characters/);
  });

  test("agrees with other readers on every text that both read", () => {
    // Deterministic: pieces of YAML in all orders of three lines, with two levels of indentation.
    const pieces = [
      "a: b",
      "a:",
      "- c",
      "- d: e",
      "b: [f, g]",
      "b: {h: i}",
      "c: |",
      "c: >-",
      "text",
      "'q': \"r\"",
      "# x",
      "",
      "d: 'e",
      "f'",
      "g: [",
      "]",
      "h: i # j",
      "- - k",
    ];
    const indents = ["", "  ", "    "];
    const lines = pieces.flatMap((piece) => indents.map((indent) => indent + piece));
    let both = 0;
    let onlyOurs: string[] = [];
    for (const one of lines)
      for (const two of lines)
        for (const three of pieces.map((piece) => `  ${piece}`)) {
          const yaml = [one, two, three, "z: 1"].join("\n");
          let ours: unknown;
          try {
            ours = read(yaml);
          } catch {
            continue;
          }
          try {
            const theirs = oracle(yaml);
            expect({ yaml, value: ours }).toEqual({ yaml, value: theirs });
            both += 1;
          } catch (error) {
            if ((error as Error).name === "AssertionError") throw error;
            onlyOurs = [...onlyOurs, yaml].slice(0, 5);
          }
        }
    expect(both).toBeGreaterThan(1_000);
    expect(onlyOurs).toEqual([]);
  });
});
