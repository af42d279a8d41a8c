import { describe, expect, test } from "vitest";
import { checkAddresses, checkWebAddress } from "./check-address.ts";
import type { FetchPolicy } from "./policy.ts";
import { createSafeFetch } from "./safe-fetch.ts";

const local: FetchPolicy = { privateHosts: ["localhost", "127.0.0.1", "::1", "[fd00::5]", "IdP.corp", "10.0.0.5"] };

describe("without a policy", () => {
  test.each([
    ...["https://example.com", "https://example.com:8443/a?b#c", "https://8.8.8.8/", "https://[2606:4700::1111]/"],
    ...["https://intranet/", "https://134744072/"],
  ])("%s passes", (url) => expect(checkWebAddress(url).href).toBe(new URL(url).href));

  test.each([
    ...["http://example.com", "ftp://example.com", "file:///etc/passwd", "javascript:alert(1)", "data:text/html,hi"],
    ...["ws://example.com", "blob:https://example.com/1", "calculator:", "nonsense", "", "//example.com", "https://"],
    ...["https://user@example.com", "https://user:pass@example.com", "https://:pass@example.com"],
    ...["https://127.0.0.1", "https://127.1", "https://2130706433", "https://0x7f.1", "https://0177.0.0.1"],
    ...["https://%31%32%37.0.0.1", "https://１２７.0.0.1", "https://127。0。0。1", "https://0/", "https://127.0.0.1./"],
    ...[
      "https://[::1]",
      "https://[::ffff:127.0.0.1]",
      "https://[fe80::1%25eth0]",
      "https://[::]",
      "https://[2002:7f00:1::]",
    ],
    ...["https://localhost", "https://LOCALHOST", "https://localhost.", "https://a.localhost", "https://example.com."],
    ...["https://metadata.google.internal", "https://printer.local", "https://box.home.arpa", "http://localhost"],
  ])("%s is refused", (url) => {
    expect(() => checkWebAddress(url)).toThrow(expect.objectContaining({ code: "address-refused" }));
  });
});

describe("with private hosts in the policy", () => {
  test.each([
    ...["https://localhost", "http://localhost:3000/a", "http://127.0.0.1", "http://2130706433", "http://[::1]:1/"],
    ...["https://[fd00::5]", "https://[fd00:0::5]", "https://idp.corp", "https://10.0.0.5"],
  ])("%s passes", (url) => expect(checkWebAddress(url, local).href).toBe(new URL(url).href));

  test.each([
    ...["http://idp.corp", "http://10.0.0.5", "http://[fd00::5]", "http://127.0.0.2", "http://a.localhost"],
    ...[
      "https://10.0.0.6",
      "https://a.localhost",
      "https://localhost.",
      "https://user@localhost",
      "http://example.com",
    ],
  ])("%s is refused", (url) => {
    expect(() => checkWebAddress(url, local)).toThrow(expect.objectContaining({ code: "address-refused" }));
  });

  test.each(["localhost:3000", "https://localhost", "a/b", "a@b", "", "[::1]:3000", "[::1", "a?b", "::1%eth0"])(
    "refuses %j as an entry of privateHosts",
    (host) => {
      expect(() => checkWebAddress("https://example.com", { privateHosts: [host] })).toThrow(
        expect.objectContaining({ code: "invalid-argument" }),
      );
    },
  );
});

describe("the addresses that a host resolves to", () => {
  const url = new URL("https://example.com");

  test("refuses a host with one private address among public ones", () => {
    expect(() => checkAddresses(url, ["8.8.8.8", "2606:4700::1111"], {})).not.toThrow();
    expect(() => checkAddresses(url, ["8.8.8.8", "10.0.0.1"], {})).toThrow("10.0.0.1");
    expect(() => checkAddresses(url, ["8.8.8.8", "::ffff:10.0.0.1"], {})).toThrow("privateHosts");
  });

  test("lets a listed host resolve to any address, but to nothing else", () => {
    const idp = new URL("https://idp.corp");
    expect(() => checkAddresses(idp, ["10.0.0.1", "8.8.8.8"], local)).not.toThrow();
    for (const text of ["idp", "127.1", "fe80::1%eth0", ""]) expect(() => checkAddresses(idp, [text], local)).toThrow();
  });

  test("refuses a host without an address", () => expect(() => checkAddresses(url, [], {})).toThrow("no address"));

  test("refuses http when localhost resolves to another machine", () => {
    const plain = new URL("http://localhost");
    expect(() => checkAddresses(plain, ["127.0.0.1", "::1"], local)).not.toThrow();
    expect(() => checkAddresses(plain, ["127.0.0.1", "8.8.8.8"], local)).toThrow("not loopback");
  });
});

describe("the message of a refusal", () => {
  const messageFor = (url: string, policy?: FetchPolicy) => {
    try {
      checkWebAddress(url, policy);
    } catch (error) {
      return (error as Error).message;
    }
    return "nothing";
  };

  test("names the URL, the reason and what would allow it", () => {
    expect(messageFor("https://10.0.0.1/token?code=SECRET#SECRET")).toBe(
      'https://10.0.0.1/token is refused: its host is not public; to allow it, add "10.0.0.1" to `privateHosts`',
    );
    expect(messageFor("http://localhost/x")).toContain("expected https");
  });

  test("contains neither query nor credentials nor the rest of an invalid URL", () => {
    const odd = ["https://SECRET:SECRET@a.example/", "http://a.example/?SECRET", "data:SECRET", "SECRET", "//SECRET"];
    for (const url of odd) {
      expect(messageFor(url)).toContain("is refused");
      expect(messageFor(url)).not.toContain("SECRET");
    }
  });
});

test("createSafeFetch refuses an unknown option of the policy", () => {
  expect(() => createSafeFetch({ maxByte: 1 } as object)).toThrow("unknown option `maxByte`; did you mean `maxBytes`?");
});
