import { protect } from "portolan/auth/server";
import { createMemoryStorage } from "portolan/storage";
import { expect, test } from "vitest";
import { KeyHolder, TestIssuer } from "./issuer.ts";

const resource = "https://mcp.example.com/mcp";

test.each([
  ["their own storages", false, ["accepted", "accepted"]],
  ["one storage", true, ["accepted", 401]],
])("two servers with %s and the same DPoP proof", async (_, isShared, expected) => {
  const issuer = await TestIssuer.start(resource);
  const holder = await KeyHolder.create();
  const token = await issuer.token({ claims: { cnf: { jkt: holder.thumbprint } } });
  const proof = await holder.proof({ method: "POST", url: resource, token });
  const storage = createMemoryStorage();
  const headers: { readonly [name: string]: string } = { authorization: `DPoP ${token}`, dpop: proof };
  const results: unknown[] = [];
  for (let server = 0; server < 2; server += 1) {
    const access = protect({ resource, issuers: [issuer.url], ...(isShared && { storage }) });
    const result = await access.verify({ method: "POST", path: "/mcp", header: (name) => headers[name] });
    results.push("key" in result ? "accepted" : result.status);
  }
  expect(results).toEqual(expected);
});
