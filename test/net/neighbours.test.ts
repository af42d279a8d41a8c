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

/** Says why an address was refused; nothing is ever connected to, because `allow` has the last word. */
async function verdictOn(url: string, neighbourOf: string): Promise<string> {
  const policy: FetchPolicy = {
    neighbourOf,
    lookup: async (host) => [addresses[host] ?? "203.0.113.1"],
    allow: () => false,
  };
  return (await errorOf(createSafeFetch(policy)(url))).message;
}

describe("T40: where a person has named a host of a private network", () => {
  test.each(["https://login.corp/x", "https://six.corp/x", "https://10.9.9.9/x", "https://auth.internal/x"])(
    "%s passes if its address is of one too",
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
  ])("%s does not: it is on this machine, or there for this machine alone", async (url) => {
    expect(await verdictOn(url, "mcp.corp")).toContain("not public");
  });

  test("http stays forbidden", async () => {
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
