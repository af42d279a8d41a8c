import { expect, test } from "vitest";
import { quote } from "../terminal/escape.ts";
import { splitWords } from "./split-words.ts";

test.each([
  ["", []],
  ["  npx  -y server ", ["npx", "-y", "server"]],
  [`node 'a b.js' "c d" e\\ f`, ["node", "a b.js", "c d", "e f"]],
  [`a'b'"c"`, ["abc"]],
  [`'' ""`, ["", ""]],
  [`"a\\"b\\n" '\\'`, ['a"b\\n', "\\"]],
  [`$HOME *`, ["$HOME", "*"]],
])("splits %j", (text, words) => {
  expect(splitWords(text, "linux")).toEqual(words);
});

test("keeps the backslashes of a Windows path", () => {
  expect(splitWords(`C:\\bin\\node.exe "C:\\my files\\x.js"`, "win32")).toEqual([
    "C:\\bin\\node.exe",
    "C:\\my files\\x.js",
  ]);
});

test("returns the words that `quote` has quoted", () => {
  const words = ["plain", "a b", "it's", '"', "\\", "$(x)", "a\nb", ""];
  expect(splitWords(words.map(quote).join(" "), "linux")).toEqual(words);
});

test("refuses an open quote", () => {
  expect(() => splitWords("node 'x", "linux")).toThrow("the command has no closing '");
});
