import { expect, test } from "vitest";
import { proxyFor } from "./choose.ts";

const by = (address: string, env: { [name: string]: string }) => {
  const proxy = proxyFor(new URL(address), env);
  return proxy && `${proxy.variable} ${proxy.url?.href}`;
};

test.each([
  ["https://a.example/", { HTTPS_PROXY: "http://p:1", HTTP_PROXY: "http://q:2" }, "HTTPS_PROXY http://p:1/"],
  ["http://a.example/", { HTTPS_PROXY: "http://p:1", HTTP_PROXY: "http://q:2" }, "HTTP_PROXY http://q:2/"],
  ["http://a.example/", { HTTPS_PROXY: "http://p:1" }, undefined],
  ["https://a.example/", { HTTP_PROXY: "http://p:1" }, undefined],
  ["https://a.example/", { HTTPS_PROXY: "http://p:1", https_proxy: "http://q:2" }, "https_proxy http://q:2/"],
  ["https://a.example/", { HTTPS_PROXY: "", ALL_PROXY: "p:1" }, "ALL_PROXY http://p:1/"],
  ["https://a.example/", { https_proxy: "https://p" }, "https_proxy https://p/"],
  ["https://a.example/", { https_proxy: "  p:1 " }, "https_proxy http://p:1/"],
  ["http://a.example/", { HTTP_PROXY: "http://p:1", REQUEST_METHOD: "GET" }, undefined],
  ["http://a.example/", { http_proxy: "http://p:1", REQUEST_METHOD: "GET" }, "http_proxy http://p:1/"],
  ["http://a.example/", { http_proxy: "socks5://p:1" }, "http_proxy undefined"],
  ["http://a.example/", { http_proxy: "http://u:1#2@p:3" }, "http_proxy undefined"],
])("%s with %o uses the proxy %s", (address, env, expected) => {
  expect(by(address, env as { [name: string]: string })).toBe(expected);
});

test.each([
  ["http://a.example/", "*", true],
  ["http://a.example/", "b.example, *", true],
  ["http://a.example/", "a.example", true],
  ["http://a.example./", "A.Example", true],
  ["http://x.a.example/", "a.example", true],
  ["http://x.a.example/", ".a.example", true],
  ["http://x.a.example/", "*.a.example", true],
  ["http://a.example/", ".a.example", true],
  ["http://xa.example/", "a.example", false],
  ["http://a.example.com/", "a.example", false],
  ["http://a.example/", "x.a.example", false],
  ["http://a.example:8080/", "a.example:8080", true],
  ["http://a.example:8081/", "a.example:8080", false],
  ["http://a.example/", "a.example:80", true],
  ["https://a.example/", "a.example:443", true],
  ["https://a.example/", "a.example:80", false],
  ["http://a.example/", "b.example a.example", true],
  ["http://a.example/", ",, ,", false],
  ["http://10.1.2.3/", "10.1.2.3", true],
  ["http://10.1.2.3/", "10.0.0.0/8", true],
  ["http://11.1.2.3/", "10.0.0.0/8", false],
  ["http://10.1.2.3/", "10.0.0.0/99", false],
  ["http://10.1.2.3:81/", "10.1.2.3:80", false],
  ["http://10.1.2.3/", "2.3", false],
  ["http://[fd00::1]/", "fd00:0::1", true],
  ["http://[fd00::1]/", "fd00::/8", true],
  ["http://[fd00::1]:81/", "[fd00::1]:81", true],
  ["http://[fd00::1]:81/", "[fd00::1]:82", false],
  ["http://localhost/", "", true],
  ["http://a.localhost:3000/", "", true],
  ["http://127.9.9.9/", "", true],
  ["http://[::1]/", "", true],
  ["http://localhost/", "<-loopback>", false],
  ["http://127.0.0.1/", "<-loopback>, 127.0.0.1", true],
])("%s with NO_PROXY=%s is reached directly: %s", (address, list, isStraight) => {
  for (const name of ["NO_PROXY", "no_proxy"]) {
    expect(by(address, { http_proxy: "p:1", https_proxy: "p:1", [name]: list }) === undefined).toBe(isStraight);
  }
});
