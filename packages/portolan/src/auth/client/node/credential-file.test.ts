import { expect, test } from "vitest";
import { checkTtl, parseCredentialFile, withCredential } from "./credential-file.ts";

const path = "/tmp/credentials.json";
const parse = (text: string) => parseCredentialFile(text, path);

test("reads a missing file as an empty one", () => {
  expect(parseCredentialFile(undefined, path).entries.size).toBe(0);
});

test("writes a value that is read again, and keeps unknown members", () => {
  const before = parse('{"version":1,"note":"kept","entries":{"old":{"value":"x","label":"kept"}}}');
  const after = parse(withCredential(before, "new", "y", undefined));
  expect(Object.fromEntries(after.entries)).toEqual({ old: { value: "x", label: "kept" }, new: { value: "y" } });
  expect(after.members["note"]).toBe("kept");
});

test("deletes a value, and every value that has expired", () => {
  const text = `{"version":1,"entries":{"a":{"value":"x"},"b":{"value":"y","expiresAt":1},"c":{"value":"z"}}}`;
  expect([...parse(withCredential(parse(text), "a", undefined, undefined)).entries.keys()]).toEqual(["c"]);
});

test("writes when a value expires", () => {
  const before = Date.now();
  const { entries } = parse(withCredential(parseCredentialFile(undefined, path), "a", "x", 1_000));
  expect(entries.get("a")?.expiresAt).toBeGreaterThanOrEqual(before + 1_000);
});

test.each([
  ["not JSON", "it is not JSON"],
  ["[]", "it has no entries"],
  ['{"version":1}', "it has no entries"],
  ['{"version":1,"entries":{"a":{}}}', "one of its entries has no value"],
  ['{"version":1,"entries":{"a":{"value":"x","expiresAt":"soon"}}}', "one of its entries has no value"],
  ['{"version":2,"entries":{}}', "expected version 1"],
])("refuses %s without quoting it", (text, why) => {
  expect(() => parse(text)).toThrow(why);
});

test.each([0, -1, Number.NaN, Number.POSITIVE_INFINITY])("refuses a time to live of %s", (ttlMs) => {
  expect(() => checkTtl(ttlMs)).toThrow("ttlMs");
});
