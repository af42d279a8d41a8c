import { describe, expect, test } from "vitest";
import { fromCursor, nextPageOf, toCursor } from "./pages.ts";
import { path, segments } from "./path.ts";
import { failureOfStatus, retryAfter, type Service, settingsFrom, toApi } from "./service.ts";

const service: Service = {
  name: "Notes",
  api: "https://api.notes.example",
  apiVariable: "NOTES_API",
  tokenVariable: "NOTES_TOKEN",
  tokenOwner: "your account",
  tokenPage: "https://notes.example/tokens",
};

describe("settings of the environment", () => {
  test("have the service's own address and no token by default", () => {
    expect(settingsFrom(service, {})).toEqual({ api: "https://api.notes.example" });
    expect(settingsFrom(service, { NOTES_API: "", NOTES_TOKEN: " " })).toEqual({ api: "https://api.notes.example" });
  });

  test("have the address without slashes at its end, and the token without spaces around it", () => {
    const env = { NOTES_API: "https://notes.corp/api/v3/", NOTES_TOKEN: " abc\n" };
    expect(settingsFrom(service, env)).toEqual({ api: "https://notes.corp/api/v3", token: "abc" });
  });

  test("a token that cannot be sent is refused without quoting it", () => {
    expect(() => settingsFrom(service, { NOTES_TOKEN: "abc def" })).toThrow(
      /^NOTES_TOKEN: expected one token, got a text/,
    );
  });
});

test.each([
  "http://notes.example",
  "notes",
  "https://user:secret@notes.example",
  "https://notes.example?x=1",
  "ftp://localhost",
])("the address %s is refused without quoting it", (address) => {
  expect(() => toApi(address, "--api")).toThrow(
    "--api: expected an https address, or http on this machine, without a password and a query",
  );
});

test.each(["http://localhost:3000", "http://127.0.0.1:1/x", "http://[::1]:1"])(
  "the address %s is on this machine",
  (address) => {
    expect(toApi(`${address}/`, "--api")).toBe(address);
  },
);

test.each([
  [200, undefined],
  [304, undefined],
  [401, "signed-out"],
  [403, "forbidden"],
  [404, "not-found"],
  [409, "conflict"],
  [422, "invalid"],
  [429, "rate-limited"],
  [503, "unavailable"],
])("the status %i means %s", (status, kind) => {
  expect(failureOfStatus({ status, headers: new Headers() })?.kind).toBe(kind);
});

test("Retry-After is a number of seconds or a date", () => {
  const after = (text: string) => retryAfter(new Headers({ "retry-after": text }), Date.parse("2026-11-19T10:00:00Z"));
  expect(after("7")).toBe(7_000);
  expect(after("Thu, 19 Nov 2026 10:01:00 GMT")).toBe(60_000);
  expect(after("Thu, 19 Nov 2026 09:00:00 GMT")).toBe(0);
  expect(after("soon")).toBeUndefined();
});

test("a path has no segment that leads elsewhere", () => {
  expect(path`/repos/${"a/b"}/issues/${7}`).toBe("/repos/a%2Fb/issues/7");
  expect(segments("src/ü b.ts")).toBe("src/%C3%BC%20b.ts");
  for (const name of ["", ".", ".."]) expect(() => path`/repos/${name}`).toThrow(`Expected a name, got "${name}"`);
  expect(() => segments("src/../../user")).toThrow('Expected a name, got ".."');
});

test("a cursor belongs to the list that it was made for", () => {
  const cursor = toCursor(["/notes", { state: "open" }], 3);
  expect(fromCursor(["/notes", { state: "open" }], cursor)).toBe("3");
  for (const wrong of [toCursor(["/notes", {}], 3), "3", "", Buffer.from("null").toString("base64url")]) {
    expect(() => fromCursor(["/notes", { state: "open" }], wrong)).toThrow(
      "cursor: expected one that the same tool returned",
    );
  }
});

test("the next page is named by a link", () => {
  const link =
    '<https://api.notes.example/notes?page=1>; rel="prev", <https://api.notes.example/notes?q=a,b&page=3>; rel="next"';
  expect(nextPageOf(link)).toBe("3");
  expect(nextPageOf('<https://api.notes.example/notes?page=1>; rel="first"')).toBeUndefined();
  expect(nextPageOf(null)).toBeUndefined();
});
