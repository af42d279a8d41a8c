import { expect, test } from "vitest";
import { isSource, policyOf, readGrant } from "./sources.ts";

test.each([
  "https://api.example.com",
  "https://*.example.com",
  "wss://live.example.com:8443",
  "http://127.0.0.1:*",
  "https://cdn.example.com/lib/v1.2/",
])("%s is an origin", (source) => {
  expect(isSource(source)).toBe(true);
});

test.each([
  "*",
  "https:",
  "https://*",
  "api.example.com",
  "'unsafe-eval'",
  "data:",
  "blob:",
  "https://a.com; script-src *",
  "https://a.com,https://b.com",
  "https://a.com *",
  "https://a.com\nx",
  "https://a.com/'x'",
  "https://a.com/;x",
  "https://-.com",
  "javascript://a.com",
  "https://a@b.com",
  `https://${"a".repeat(400)}.com`,
  5,
  null,
])("%s is none", (source) => {
  expect(isSource(source)).toBe(false);
});

test("only valid origins and known permissions are granted", () => {
  const grant = readGrant({
    csp: { connectDomains: ["https://a.com", "https://a.com", "*", 7], resourceDomains: "https://b.com", other: [] },
    permissions: { camera: {}, clipboardWrite: {}, usb: {} },
  });
  expect(grant).toEqual({
    sources: { connect: ["https://a.com"], resources: [], frames: [], base: [] },
    permissions: ["camera", "clipboard-write"],
    dropped: ["*", "7"],
  });
  expect(readGrant({ csp: null, permissions: ["camera"] })).toEqual({ permissions: [], dropped: [] });
  expect(
    readGrant({
      csp: {
        connectDomains: Array(500)
          .fill("https://a.com/1")
          .map((a, i) => a + i),
      },
    }).sources?.connect,
  ).toHaveLength(50);
});

const directives = (policy: string) =>
  Object.fromEntries(policy.split("; ").map((one) => [one.split(" ", 1)[0], one.slice(one.indexOf(" ") + 1)]));

test("without declared origins nothing can be reached", () => {
  expect(directives(policyOf({}, ["https://host.example"]))).toEqual({
    "default-src": "'none'",
    "script-src": "'self' 'unsafe-inline'",
    "style-src": "'self' 'unsafe-inline'",
    "img-src": "'self' data:",
    "media-src": "'self' data:",
    "font-src": "'self'",
    "connect-src": "'none'",
    "frame-src": "'none'",
    "base-uri": "'self'",
    "object-src": "'none'",
    "form-action": "'none'",
    "frame-ancestors": "https://host.example",
  });
});

test("each kind of origin goes to its directives", () => {
  const sources = { connect: ["https://c"], resources: ["https://r"], frames: ["https://f"], base: ["https://b"] };
  expect(directives(policyOf({ sources }, ["https://host.example"]))).toMatchObject({
    "script-src": "'self' 'unsafe-inline' https://r",
    "style-src": "'self' 'unsafe-inline' https://r",
    "img-src": "'self' data: https://r",
    "font-src": "'self' https://r",
    "media-src": "'self' data: https://r",
    "connect-src": "https://c",
    "frame-src": "https://f",
    "base-uri": "https://b",
  });
  expect(() => policyOf({ sources: { ...sources, connect: ["https://c; x"] } }, [])).toThrow(/no origin/);
});
