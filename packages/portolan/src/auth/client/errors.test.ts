import { expect, test } from "vitest";
import { PortolanError } from "../../errors.ts";
import { oneLine, toAuthFailure } from "./errors.ts";

test("oneLine removes line breaks, control characters and direction marks", () => {
  expect(oneLine("a\n\tb\u0000c\u202ed")).toBe("a b c d");
});

test("oneLine shortens a long text", () => {
  expect(oneLine("x".repeat(500))).toBe(`${"x".repeat(200)}…`);
});

test("toAuthFailure keeps an error that is ours already", () => {
  const reason = new PortolanError("timeout", "late");
  expect(toAuthFailure("what", reason)).toBe(reason);
  expect(toAuthFailure("what", new Error("why"))).toMatchObject({ code: "unauthorized", message: "what: why" });
});
