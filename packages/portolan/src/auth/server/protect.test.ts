import { expect, test } from "vitest";
import { protect, toChallenge } from "./protect.ts";

const options = { resource: "https://mcp.example/mcp", issuers: ["https://as.example"], scopes: ["read"] };

test("a challenge cannot be broken out of by its values", () => {
  const challenge = toChallenge({ scheme: "Bearer", metadataUrl: 'x"y', error: "invalid_token", why: "a\r\nb\\é" });
  expect(challenge).toBe('Bearer error="invalid_token", error_description="a  b  ", resource_metadata="x y"');
});

test("algorithms belong to the scheme DPoP alone", () => {
  const facts = { metadataUrl: "https://mcp.example/m", algorithms: ["ES256"] };
  expect(toChallenge({ scheme: "DPoP", ...facts })).toContain('algs="ES256"');
  expect(toChallenge({ scheme: "Bearer", ...facts })).not.toContain("algs");
});

test("a request without a token gets 401 and the URL of the metadata", async () => {
  const refused = await protect(options).verify({ method: "POST", path: "/mcp", header: () => undefined });
  expect(refused).toMatchObject({ status: 401 });
  expect(JSON.stringify(refused)).toContain("https://mcp.example/.well-known/oauth-protected-resource/mcp");
});

test.each([
  [["read"], "tools/list", undefined],
  [["read"], "tools/call", 403],
  [["admin"], "tools/call", undefined],
  [[], "tools/list", 403],
])("a token with the scopes %j calling %s gets %s", (scopes, method, status) => {
  const access = protect({
    ...options,
    includes: { admin: ["read", "write"] },
    scopesFor: (action) => (action.method === "tools/call" ? ["write"] : []),
  });
  expect(access.permit({ scopes }, [{ method, name: undefined }])?.status).toBe(status);
});

test.each([
  [{ scope: ["read"] }, "protect: unknown option `scope`; did you mean `scopes`?"],
  [{ issuers: [] }, "issuers: expected at least one"],
  [{ issuers: undefined as unknown as [] }, "issuers: expected at least one in a list, got nothing"],
  [{ issuers: ["as"] }, "issuers: expected a URL"],
  [{ resource: "mcp" }, "resource: expected the http(s) URL"],
  [{ resource: "https://mcp.example/#x" }, "resource: expected the http(s) URL"],
  [{ resource: "https://user@mcp.example" }, "resource: expected the http(s) URL"],
])("refuses %j", (change, why) => {
  expect(() => protect({ ...options, ...change })).toThrow(why);
});
