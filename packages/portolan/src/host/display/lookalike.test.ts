import { describe, expect, test } from "vitest";
import { lookalike } from "./lookalike.ts";

describe("a name that could be taken for another is named", () => {
  test.each([
    ["Cyrillic letters", "gіthub", "github"],
    ["all of it Cyrillic", "расе", "pace"],
    ["Greek letters", "nοtes", "notes"],
    ["full width", "ｆｉｌｅｓ", "files"],
    ["mathematical letters", "𝐠𝐢𝐭", "git"],
    ["mathematical capitals", "𝐆𝐈𝐓", "git"],
    ["a zero", "g00gle", "google"],
    ["a one", "fi1es", "files"],
    ["a capital I", "fiIes", "files"],
    ["capitals", "GitHub", "github"],
    ["rn for m", "rnemory", "memory"],
    ["vv for w", "vveather", "weather"],
    ["zero-width characters", "gi\u200bt", "git"],
    ["tag characters", "git\u{e0041}", "git"],
    ["accents", "gít", "git"],
    ["another dash", "read–file", "read-file"],
    ["another separator", "read-file", "read_file"],
    ["a ligature", "ﬁles", "files"],
    ["the other way round", "github", "gіthub"],
  ])("%s", (_, name, other) => {
    expect(lookalike(name, ["unrelated", other])).toBe(other);
  });
});

test.each([
  ["files", ["file", "filed", "tiles", "profiles"]],
  ["read_file", ["read_files", "write_file", "read_dir"]],
  ["time", ["dime", "timer", "tame"]],
  ["日本", ["日木", "本日"]],
  ["почта", ["почты", "mail"]],
])("%s is like none of %j", (name, others) => {
  expect(lookalike(name, others)).toBeUndefined();
});

test("the same name is no look-alike of itself", () => {
  expect(lookalike("files", ["files"])).toBeUndefined();
  expect(lookalike("files", ["files", "fiIes"])).toBe("fiIes");
});
