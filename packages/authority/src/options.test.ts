import { createMemoryStorage } from "portolan/storage";
import { expect, test } from "vitest";
import { type AuthorityOptions, checkAuthorityOptions } from "./options.ts";
import { upstream } from "./upstream/options.ts";
import { developmentUser } from "./users.ts";

const fine: AuthorityOptions = {
  issuer: "http://localhost:4000",
  name: "Acme",
  resources: [{ resource: "http://localhost:3000/mcp", scopes: { read: "Read" } }],
  signIn: developmentUser("alice"),
};
const elsewhere = upstream({ issuer: "https://idp.example", clientId: "us" });

test.each<[string, Partial<AuthorityOptions>]>([
  ["an issuer on loopback", {}],
  ["an issuer with a path", { issuer: "http://127.0.0.1:4000/auth" }],
  ["an issuer with https", { issuer: "https://auth.example", signIn: elsewhere }],
  ["a storage with secrets", { storage: createMemoryStorage(), secrets: ["x".repeat(32)] }],
])("accepts %s", (_, options) => {
  expect(() => checkAuthorityOptions({ ...fine, ...options })).not.toThrow();
});

test.each<[string, Partial<AuthorityOptions>, string]>([
  ["an unknown option", { isuer: "x" } as object, "createAuthority: unknown option `isuer`; did you mean `issuer`?"],
  ["an unknown option of registration", { registration: { dynamc: true } as object }, "did you mean `dynamic`?"],
  ["http on another machine", { issuer: "http://auth.example" }, "issuer: expected an https URL"],
  ["an issuer that is not a URL", { issuer: "auth" }, "issuer: expected an https URL"],
  ["an issuer with a query", { issuer: "https://auth.example/?" }, "issuer: expected an https URL"],
  ["an issuer with a slash at the end", { issuer: "https://auth.example/" }, "no slash at the end"],
  ["no resources", { resources: [] }, "resources: expected at least one"],
  ["a resource with a fragment", { resources: [{ resource: "https://a.example/#x", scopes: { a: "A" } }] }, "fragment"],
  ["a resource without scopes", { resources: [{ resource: "https://a.example", scopes: {} }] }, "at least one scope"],
  [
    "an unsafe redirect URI",
    { clients: [{ clientId: "c", redirectUris: ["http://a.example/"] }] },
    "redirectUris of c",
  ],
  ["a scheme of the browser", { registration: { privateSchemes: ["javascript"] } }, "privateSchemes: expected"],
  ["developmentUser on the network", { issuer: "https://auth.example" }, "developmentUser: lets everybody in"],
  ["http upstream", { signIn: upstream({ issuer: "http://idp.example", clientId: "us" }) }, "upstream: expected https"],
  ["a storage without secrets", { storage: createMemoryStorage() }, "secrets: expected at least one"],
])("refuses %s", (_, options, why) => {
  expect(() => checkAuthorityOptions({ ...fine, ...options })).toThrow(why);
});
