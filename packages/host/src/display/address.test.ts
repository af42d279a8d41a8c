import { domainToUnicode } from "node:url";
import { describe, expect, test } from "vitest";
import { inspectHost, toUnicodeHost } from "./address.ts";

test("an ordinary address has no warnings", () => {
  expect(inspectHost("https://login.example.com/path?q=1#top")).toEqual({
    href: "https://login.example.com/path?q=1#top",
    scheme: "https",
    host: "login.example.com",
    unicodeHost: "login.example.com",
    isPunycode: false,
    mixesScripts: false,
    isIp: false,
    isLoopback: false,
    hasCredentials: false,
    warnings: [],
  });
});

describe("an unusual address has a warning", () => {
  test.each<[string, string, object, RegExp]>([
    ["unencrypted", "http://example.com/", { scheme: "http" }, /not encrypted/],
    ["no web address", "javascript:alert(1)", { scheme: "javascript" }, /not a web address/],
    ["a file", "file:///etc/passwd", { scheme: "file" }, /not a web address/],
    [
      "a host in the userinfo",
      "https://accounts.google.com@evil.example/",
      { hasCredentials: true, host: "evil.example" },
      /The host is evil\.example/,
    ],
    [
      "Cyrillic throughout",
      "https://аррӏе.com/",
      { isPunycode: true, mixesScripts: false, imitates: "appie.com" },
      /looks like/,
    ],
    ["mixed scripts", "https://gооgle.com/", { isPunycode: true, mixesScripts: true, imitates: "google.com" }, /mixes/],
    ["an address", "https://93.184.216.34/", { isIp: true, isLoopback: false }, /IP address/],
    ["an IPv6 address", "https://[2606:2800:220:1::1]/", { isIp: true, isLoopback: false }, /IP address/],
    ["a decimal address", "https://1572395042/", { isIp: true, host: "93.184.216.34" }, /IP address/],
    ["another port", "https://example.com:8443/", {}, /port/],
    ["hidden characters", "https://example.com/\u202egpj", {}, /hidden/],
    ["a line end", "https://exam\nple.com/", { host: "example.com" }, /hidden/],
  ])("%s", (_, url, facts, warning) => {
    const inspected = inspectHost(url);
    expect(inspected).toMatchObject(facts);
    expect(inspected.warnings.join("\n")).toMatch(warning);
    expect(inspected.href).toBe(new URL(url).href);
  });
});

test.each([["http://localhost:8080/"], ["http://127.0.0.1:3000/x"], ["http://[::1]/"], ["http://app.localhost/"]])(
  "%s is this machine, and no cause for a warning",
  (url) => {
    expect(inspectHost(url)).toMatchObject({ isLoopback: true, warnings: [] });
  },
);

test.each([
  ["https://paypaI.com/", undefined],
  ["https://paypa1.com/", "paypal.com"],
  ["https://rnicrosoft.com/", "microsoft.com"],
  ["https://microsoft.com.evil.example/", "microsoft.com"],
  ["https://login.microsoft.com.evil.example/", "microsoft.com"],
  ["https://login.microsoft.com/", undefined],
  ["https://micrоsоft.com/", "microsoft.com"],
])("%s seems to be %s among known hosts", (url, imitates) => {
  // A browser converts hosts to lower case, so a capital I never appears.
  const known = url.includes("paypaI") ? ["paypai.com"] : ["microsoft.com", "paypal.com"];
  expect(inspectHost(url, known).imitates).toBe(imitates);
});

test("a name in another script that imitates nothing is shown with its script", () => {
  const munich = inspectHost("https://münchen.example/");
  expect(munich).toMatchObject({ unicodeHost: "münchen.example", isPunycode: true, mixesScripts: false });
  expect(munich.imitates).toBeUndefined();
  expect(inspectHost("https://münchen.example/", ["munchen.example"]).imitates).toBe("munchen.example");
  expect(inspectHost("https://日本語.jp/").imitates).toBeUndefined();
  expect(inspectHost("https://почта.рф/").mixesScripts).toBe(false);
});

test("an invalid address is refused with a short, escaped message", () => {
  expect(() => inspectHost(`no\x1b address ${"x".repeat(10_000)}`)).toThrow(
    /expected an absolute URL, got no\\u\{1b\}/,
  );
  expect(() => inspectHost(`https://x/${"y".repeat(70_000)}`)).toThrow(
    expect.objectContaining({ code: "invalid-argument" }),
  );
});

test.each([
  ["xn--mnchen-3ya.example"],
  ["xn--wgv71a119e.jp"],
  ["xn--80a1acny.xn--p1ai"],
  ["xn--ls8h.la"],
  ["xn--80ak6aa92e.com"],
  ["plain.example"],
])("%s is decoded like Node does", (host) => {
  expect(toUnicodeHost(host)).toBe(domainToUnicode(host));
});

test.each([["xn--"], ["xn--999999999999999999"], ["xn--ab_c"], ["xn--99999999a"], [`xn--${"z".repeat(59)}`]])(
  "the invalid label %s stays as it is",
  (host) => {
    expect(toUnicodeHost(host)).toBe(host);
  },
);
