import { describe, expect, test } from "vitest";
import { type Claims, checkClaims, scopesIn } from "./token-checks.ts";

const now = 1_700_000_000_000;
const seconds = now / 1_000;
const expected = { issuer: "https://as.example", audiences: ["https://mcp.example", "mcp"], now };
const valid: Claims = { iss: "https://as.example", aud: "https://mcp.example", exp: seconds + 60 };

describe("checkClaims", () => {
  test.each<[string, Claims]>([
    ["one audience", {}],
    ["several audiences, one of them ours", { aud: ["other", "mcp"] }],
    ["an expiry within the leeway", { exp: seconds - 4 }],
    ["a beginning within the leeway", { nbf: seconds + 59, iat: seconds + 59 }],
  ])("accepts %s", (_, change) => {
    expect(() => checkClaims({ ...valid, ...change }, expected)).not.toThrow();
  });

  test.each<[string, Claims, string]>([
    ["another issuer", { iss: "https://as.example/" }, "another issuer"],
    ["another audience", { aud: "https://mcp.example/" }, "another audience"],
    ["no audience", { aud: undefined }, "another audience"],
    ["an expired token", { exp: seconds - 5 }, "has expired"],
    ["no expiry", { exp: undefined }, "does not say when it expires"],
    ["an expiry that is not a number", { exp: "soon" }, "exp: expected a number"],
    ["a token that is not valid yet", { nbf: seconds + 61 }, "not valid yet"],
    ["a token from the future", { iat: seconds + 61 }, "not valid yet"],
  ])("refuses %s", (_, change, why) => {
    expect(() => checkClaims({ ...valid, ...change }, expected)).toThrow(why);
  });
});

test.each<[Claims, string[]]>([
  [{ scope: "read  write" }, ["read", "write"]],
  [{ scp: ["read", 7, "write"] }, ["read", "write"]],
  [{ scope: "", scp: ["read"] }, []],
  [{}, []],
])("scopesIn(%j) is %j", (claims, scopes) => {
  expect(scopesIn(claims)).toEqual(scopes);
});
