import { describe, expect, test } from "vitest";
import { anonymous } from "../call/exchange.ts";
import { Callers } from "../callers.ts";
import type { HttpRequest } from "./adapter.ts";
import { callerOf, hasTwoAddresses, networkOf } from "./caller.ts";
import type { ServeHttpOptions } from "./options.ts";

describe("networkOf", () => {
  test.each([
    ["192.0.2.7", "192.0.2.7"],
    ["::ffff:192.0.2.7", "192.0.2.7"],
    ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"],
    ["2001:DB8:1:2::9", "2001:db8:1:2::/64"],
    ["2001:0db8:0001:0002::1", "2001:db8:1:2::/64"],
    ["2001:db8::1", "2001:db8:0:0::/64"],
    ["::2", "0:0:0:0::/64"],
    ["fe80::1%eth0", "fe80:0:0:0::/64"],
  ])("of %s is %s", (address, network) => {
    expect(networkOf(address)).toBe(network);
  });
});

describe("callerOf", () => {
  const callers = new Callers({ atOnce: {}, perMinute: {} });
  const request = (remoteAddress: string | undefined, headers: { [name: string]: string } = {}) =>
    ({ remoteAddress, header: (name: string) => headers[name] }) as HttpRequest;
  const keyOf = (from: HttpRequest, options: ServeHttpOptions = {}) => callerOf(callers, from, anonymous, options).key;

  test("is the principal of an authenticated request, from wherever it comes", () => {
    const principal = { key: "ada" };
    const options = { caller: () => "other", trustProxy: true };
    expect(callerOf(callers, request("127.0.0.1"), principal, options).key).toBe("principal ada");
  });

  test("is what the option says, else the address", () => {
    const caller = (from: HttpRequest) => from.header("x-key");
    expect(keyOf(request("192.0.2.7", { "x-key": "k" }), { caller })).toBe("caller k");
    expect(keyOf(request("192.0.2.7"), { caller })).toBe("address 192.0.2.7");
  });

  test("has no key on this machine, and is shared where the address is unknown", () => {
    expect(callerOf(callers, request("127.0.0.1"), anonymous, {})).toBe(callers.total);
    expect(callerOf(callers, request("127.9.9.9"), anonymous, {})).toBe(callers.total);
    expect(callerOf(callers, request("::1"), anonymous, {})).toBe(callers.total);
    expect(callerOf(callers, request(undefined), anonymous, {})).toBe(callers.shared);
  });

  test.each<[ServeHttpOptions["trustProxy"], { [name: string]: string }, string]>([
    [false, { "x-forwarded-for": "192.0.2.1" }, "address 198.51.100.1"],
    [true, { "x-forwarded-for": "192.0.2.1" }, "address 192.0.2.1"],
    [true, { "x-forwarded-for": "203.0.113.9, 192.0.2.1" }, "address 192.0.2.1"],
    [2, { "x-forwarded-for": "203.0.113.9, 192.0.2.1, 10.0.0.1" }, "address 192.0.2.1"],
    [3, { "x-forwarded-for": "192.0.2.1" }, "address 192.0.2.1"],
    [true, { "x-forwarded-for": "192.0.2.1:4711" }, "address 192.0.2.1"],
    [true, { "x-forwarded-for": "[2001:db8:1:2::9]:4711" }, "address 2001:db8:1:2::/64"],
    [true, { "x-forwarded-for": "127.0.0.1" }, "address 127.0.0.1"],
    [true, { forwarded: 'for=203.0.113.9, proto=https;for="[2001:db8:1:2::9]:4711"' }, "address 2001:db8:1:2::/64"],
    [true, { forwarded: "for=192.0.2.1;by=10.0.0.1" }, "address 192.0.2.1"],
    // A client can send the header that its proxy does not write.
    [
      { header: "x-forwarded-for" },
      { "x-forwarded-for": "192.0.2.1", forwarded: "for=203.0.113.9" },
      "address 192.0.2.1",
    ],
    [{ header: "forwarded" }, { "x-forwarded-for": "192.0.2.1", forwarded: "for=203.0.113.9" }, "address 203.0.113.9"],
    [{ header: "forwarded" }, { "x-forwarded-for": "192.0.2.1" }, "address 198.51.100.1"],
    [{ header: "forwarded" }, { forwarded: "for=192.0.2.9, by=10.0.0.1" }, "address 198.51.100.1"],
    [
      { header: "forwarded", proxies: 2 },
      { forwarded: "for=1.1.1.1, for=192.0.2.9, for=10.0.0.1" },
      "address 192.0.2.9",
    ],
    [
      { header: "CF-Connecting-IP" },
      { "cf-connecting-ip": "192.0.2.9", forwarded: "for=1.1.1.1" },
      "address 192.0.2.9",
    ],
    // A quote that the client opens does not hide what its proxy appends.
    [{ header: "forwarded" }, { forwarded: 'for="192.0.2.9, for=203.0.113.9' }, "address 203.0.113.9"],
    [true, { "x-forwarded-for": "192.0.2.1", forwarded: "for=203.0.113.9" }, "address 198.51.100.1"],
    [1, { "x-forwarded-for": "192.0.2.1", forwarded: "for=203.0.113.9" }, "address 198.51.100.1"],
    [false, { "x-forwarded-for": "192.0.2.1", forwarded: "for=203.0.113.9" }, "address 198.51.100.1"],
    [true, {}, "address 198.51.100.1"],
    [true, { "x-forwarded-for": "" }, "address 198.51.100.1"],
  ])("with trustProxy %j and %j is %s", (trustProxy, headers, key) => {
    expect(keyOf(request("198.51.100.1", headers), { trustProxy: trustProxy ?? false })).toBe(key);
  });

  test("is unsure if two headers may name an anonymous caller", () => {
    const both = request("198.51.100.1", { "x-forwarded-for": "192.0.2.1", forwarded: "for=203.0.113.9" });
    expect(hasTwoAddresses(both, anonymous, { trustProxy: 1 })).toBe(true);
    expect(hasTwoAddresses(both, anonymous, { trustProxy: { header: "forwarded" } })).toBe(false);
    expect(hasTwoAddresses(both, anonymous, { trustProxy: 1, caller: () => "k" })).toBe(false);
    expect(hasTwoAddresses(both, { key: "ada" }, { trustProxy: 1 })).toBe(false);
    expect(hasTwoAddresses(both, anonymous, {})).toBe(false);
  });
});
