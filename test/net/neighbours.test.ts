import { createSafeFetch, type FetchPolicy } from "portolan/net";
import { describe, expect, test } from "vitest";
import { errorOf } from "./kit.ts";

const addresses: { readonly [host: string]: string } = {
  "mcp.corp": "10.1.2.3",
  "login.corp": "192.168.7.7",
  "six.corp": "fd00::7",
  "mcp.example": "93.184.216.34",
  "local.example": "127.0.0.1",
  "cloud.example": "169.254.169.254",
};

/** Returns why a URL is refused; no connection is ever made, because `allow` returns false. */
async function verdictOn(url: string, neighbourOf: string): Promise<string> {
  const policy: FetchPolicy = {
    neighbourOf,
    lookup: async (host) => [addresses[host] ?? "203.0.113.1"],
    allow: () => false,
  };
  return (await errorOf(createSafeFetch(policy)(url))).message;
}

describe("T40: if the user has named a host of a private network", () => {
  test.each(["https://login.corp/x", "https://six.corp/x", "https://10.9.9.9/x", "https://auth.internal/x"])(
    "%s is allowed if its address is in a private network, too",
    async (url) => {
      const isFound = url !== "https://auth.internal/x";
      expect(await verdictOn(url, "mcp.corp")).toMatch(isFound ? "`allow` returned false" : "not public");
    },
  );

  test.each([
    "https://local.example/x",
    "https://cloud.example/x",
    "https://127.0.0.1/x",
    "https://localhost/x",
    "https://169.254.169.254/x",
    "https://[::1]/x",
  ])("%s is refused, because it is on this machine or link-local", async (url) => {
    expect(await verdictOn(url, "mcp.corp")).toContain("not public");
  });

  test("http is still refused", async () => {
    expect(await verdictOn("http://login.corp/x", "mcp.corp")).toContain("expected https");
  });
});

test.each(["mcp.example", "local.example", "localhost", "127.0.0.1"])(
  "T40: the neighbours of %s must be public",
  async (host) => {
    for (const url of ["https://login.corp/x", "https://10.9.9.9/x", "https://six.corp/x"]) {
      expect(await verdictOn(url, host)).toContain("not public");
    }
  },
);
