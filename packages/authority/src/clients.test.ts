import { expect, test } from "vitest";
import { isRegistered, redirectProblem } from "./clients.ts";

test.each([
  ["https://example.com/cb"],
  ["https://example.com:8443/cb?tenant=1"],
  ["http://localhost/cb"],
  ["http://[::1]:1/"],
  ["com.example.app:/cb"],
  ["com.example.app://host/cb"],
])("accepts the redirect URI %s", (uri) => {
  expect(redirectProblem(uri)).toBeUndefined();
});

test.each([
  ["http://localhost.evil.example/cb"],
  ["http://127.0.0.1.evil.example/cb"],
  ["http://0.0.0.0/cb"],
  ["https://a@b.example/cb"],
  ["https://@b.example/cb"],
  ["https://b.example/cb#"],
  ["https://b.example/\tcb"],
  [" https://b.example/cb"],
  ["https://b.example\\cb"],
  ["myapp://cb"],
  ["javascript:x"],
  ["com.example.app"],
  [""],
  [7],
  [undefined],
])("refuses the redirect URI %s", (uri) => {
  expect(redirectProblem(uri)).toMatch(/^expected /);
});

test.each([
  ["http://localhost:1/cb", "http://localhost:2/cb", true],
  ["http://localhost/cb", "http://localhost:2/cb", true],
  ["http://localhost:1/cb?a=1", "http://localhost:2/cb?a=1", true],
  ["http://localhost:1", "http://localhost:2", true],
  ["http://localhost:1/cb", "http://localhost:2/cb?a=1", false],
  ["http://localhost:1/cb", "http://127.0.0.1:1/cb", false],
  ["http://localhost:1/cb", "http://localhost:1@evil.example/cb", false],
  ["http://localhost:1/cb", "http://LOCALHOST:1/cb", false],
  ["https://localhost:1/cb", "https://localhost:2/cb", false],
])("with %s registered, %s is registered: %s", (registered, uri, expected) => {
  expect(isRegistered(uri, [registered])).toBe(expected);
});
