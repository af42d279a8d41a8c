import { expect, test } from "vitest";
import { Secrets } from "./secrets.ts";

test("hides secrets in the text of a JSON file", () => {
  const secrets = new Secrets();
  const value = 'hunter"2\\more\n';
  secrets.add([value]);
  expect(secrets.hide(JSON.stringify({ PASSWORD: value }))).toBe('{"PASSWORD":"[hidden]"}');
});

test("hides secrets in texts and addresses, the longest first", () => {
  const secrets = new Secrets();
  secrets.add(["hunter2", "hunter2 and/or more", "abc"]);
  expect(secrets.hide("hunter2 and/or more, hunter2, abc")).toBe("[hidden], [hidden], abc");
  expect(secrets.hide(`?k=${encodeURIComponent("hunter2 and/or more")}`)).toBe("?k=[hidden]");
  expect(secrets.hideIn({ a: ["x hunter2"], n: 1 })).toEqual({ a: ["x [hidden]"], n: 1 });
});
