import { expect, test } from "vitest";
import { PortolanError } from "../errors.ts";
import { aborted, disconnected, isTransient, timedOut, toError } from "./failures.ts";

test("an aborted call names the reason of its signal", () => {
  const reason = new Error("the user left");
  const failure = aborted("tools/call", AbortSignal.abort(reason), true);
  expect(failure).toMatchObject({ code: "cancelled", name: "AbortError", cause: reason, requestMayHaveRun: true });
  expect(failure.message).toBe("tools/call was aborted: the user left");
});

test("an aborted call without a reason of its own repeats no default text", () => {
  expect(aborted("connect", AbortSignal.abort(), false)).toMatchObject({
    message: "connect was aborted",
    requestMayHaveRun: false,
  });
});

test("a call that timed out may have run", () => {
  expect(timedOut("too late")).toMatchObject({ code: "timeout", name: "TimeoutError", requestMayHaveRun: true });
});

test.each([
  [new Error("reset"), true, "connection-closed", true],
  [new Error("reset"), false, "connection-closed", false],
  [Object.assign(new Error("refused"), { neverRan: true }), true, "connection-closed", false],
  [new PortolanError("http-status", "answered 500"), true, "http-status", true],
])(
  "a call that lost its connection by %s, sent: %s, has code %s and may have run: %s",
  (reason, sent, code, mayRun) => {
    const failure = disconnected("tools/call", reason, sent);
    expect(failure).toMatchObject({ code, requestMayHaveRun: mayRun, cause: reason });
    expect(failure.message).toBe(`tools/call failed: ${reason.message}`);
  },
);

test.each([
  [408, true],
  [409, true],
  [425, true],
  [429, true],
  [500, true],
  [503, true],
  [400, false],
  [401, false],
  [404, false],
])("status %i is transient: %s", (status, isSo) => {
  const failure = Object.assign(new PortolanError("http-status", "x"), { status });
  expect(isTransient(failure)).toBe(isSo);
  expect(isTransient(disconnected("watch", failure))).toBe(isSo);
});

test("failures without a status are transient if the server was unreachable or silent", () => {
  expect(isTransient(new PortolanError("connection-closed", "x"))).toBe(true);
  expect(isTransient(timedOut("x"))).toBe(true);
  expect(isTransient(new PortolanError("answer-invalid", "x"))).toBe(false);
  expect(isTransient(new Error("x"))).toBe(false);
});

test("toError keeps errors and wraps other values", () => {
  const error = new TypeError("x");
  expect(toError(error)).toBe(error);
  expect(toError("text").message).toBe("text");
});
