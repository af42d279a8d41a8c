import { expect, test } from "vitest";
import { quote } from "./quote.ts";

test.each([
  ["files", "files"],
  ["@acme/files.v2", "@acme/files.v2"],
  ["My Server", "'My Server'"],
  ["x; rm -rf ~", "'x; rm -rf ~'"],
  ["$(id)`id`", "'$(id)`id`'"],
  ["it's", "'it'\\''s'"],
  ["", "''"],
])("%j is the word %s", (name, expected) => {
  expect(quote(name)).toBe(expected);
});
