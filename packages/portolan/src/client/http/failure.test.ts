import { describe, expect, test } from "vitest";
import { mediaTypeOf, refused, unreachable } from "./failure.ts";
import type { Head } from "./options.ts";

const request = { method: "POST", url: new URL("http://host/mcp?key=secret"), body: "{}" } as const;
const headOf = (status: number, headers: { [name: string]: string } = {}): Head => ({
  status,
  header: (name) => headers[name],
});

describe("a refusal", () => {
  test.each([
    ["text/plain; charset=utf-8", "slow\n  down", ": slow down"],
    ["application/json", '{"error":{"message":"no"}}', ": no"],
    ["application/json", '{"error":"denied","message":"other"}', ": denied"],
    ["application/json", '{"message":"busy"}', ": busy"],
    ["text/html", "<h1>Oops</h1>", " with text/html"],
    ["", "", ""],
  ])("of type %s shows what the server says: %s", (type, body, shown) => {
    expect(refused(request, headOf(500, { "content-type": type }), body).message).toBe(
      `POST http://host/mcp?… answered 500${shown}`,
    );
  });

  test("shows at most 200 characters", () => {
    const { message } = refused(request, headOf(500, { "content-type": "text/plain" }), "x".repeat(1_000));
    expect(message.endsWith(`: ${"x".repeat(200)}…`)).toBe(true);
  });

  test.each([
    [429, "7", 7_000],
    [503, "0", 0],
    [503, "86400", 300_000],
    [503, "Thu, 01 Jan 1970 00:00:00 GMT", 0],
    [503, "soon", undefined],
    [500, "7", undefined],
  ])("with status %i and Retry-After %s asks for a pause of %s ms", (status, value, expected) => {
    expect(refused(request, headOf(status, { "retry-after": value }), "").retryAfterMs).toBe(expected);
  });

  test.each([
    [401, "unauthorized", true],
    [403, "unauthorized", true],
    [404, "http-status", false],
    [500, "http-status", false],
  ])("with status %i has code %s and certainly never ran: %s", (status, code, neverRan) => {
    expect(refused(request, headOf(status), "")).toMatchObject({ code, neverRan, status });
  });

  test("with status 403 and an explanation is no demand for a login, and shows the explanation", () => {
    const failure = refused(request, headOf(403, { "content-type": "text/plain" }), "Host not allowed");
    expect(failure).toMatchObject({ code: "http-status", neverRan: true, status: 403 });
    expect(failure.message).toBe("POST http://host/mcp?… answered 403: Host not allowed");
  });

  test("with status 403, an explanation and a challenge is a demand for a login", () => {
    const headers = { "content-type": "text/plain", "www-authenticate": "Bearer error=insufficient_scope" };
    expect(refused(request, headOf(403, headers), "more scopes")).toMatchObject({ code: "unauthorized" });
  });
});

describe("an unreachable server", () => {
  const systemError = (code: string) => Object.assign(new Error(`connect ${code}`), { code });

  test.each([
    [systemError("ECONNREFUSED"), true],
    [systemError("ENOTFOUND"), true],
    [systemError("ECONNRESET"), false],
    [new TypeError("fetch failed", { cause: systemError("ECONNREFUSED") }), true],
    [new AggregateError([systemError("ECONNREFUSED"), systemError("ECONNREFUSED")]), true],
    [new AggregateError([systemError("ECONNREFUSED"), systemError("ETIMEDOUT")]), false],
  ])("by %s certainly never ran: %s", (reason, neverRan) => {
    expect(unreachable(request, reason).neverRan).toBe(neverRan);
  });

  test("names the innermost cause", () => {
    const reason = new TypeError("fetch failed", { cause: new AggregateError([systemError("ECONNREFUSED")]) });
    expect(unreachable(request, reason).message).toBe("POST http://host/mcp?… failed: connect ECONNREFUSED");
  });
});

test.each([
  ["application/json", "application/json"],
  ["Text/Event-Stream; charset=utf-8", "text/event-stream"],
  [undefined, ""],
])("the media type of %s is %s", (value, expected) => {
  expect(mediaTypeOf(headOf(200, value === undefined ? {} : { "content-type": value }))).toBe(expected);
});
