import { expect, test } from "vitest";
import { clientCredentials, deferred, enterpriseManaged, loopback, oauth, paste, workloadIdentity } from "./index.ts";

/** Passes options that the compiler would refuse. */
const any = (options: object) => options as never;

test.each<[string, () => unknown, string]>([
  ["oauth", () => oauth(any({ redirct: deferred("https://app.example/cb") })), "did you mean `redirect`?"],
  ["oauth", () => oauth(any({ clientname: "x" })), "did you mean `clientName`?"],
  ["loopback", () => loopback(any({ timeout: 1 })), "did you mean `timeoutMs`?"],
  ["paste", () => paste(any({ redirectUrl: "x" })), "did you mean `redirectUri`?"],
  ["clientCredentials", () => clientCredentials(any({ clientId: "c", clientsecret: "s" })), "`clientSecret`?"],
  ["workloadIdentity", () => workloadIdentity(any({ clientId: "c", asertion: "a" })), "`assertion`?"],
  ["enterpriseManaged", () => enterpriseManaged(any({ clientId: "c", identityprovider: {} })), "`identityProvider`?"],
])("%s refuses an unknown option", (where, run, advice) => {
  expect(run).toThrow(expect.objectContaining({ name: "PortolanError", code: "invalid-argument" }));
  expect(run).toThrow(`${where}: unknown option`);
  expect(run).toThrow(advice);
});

test("refuses a redirect together with a grant", () => {
  const grant = clientCredentials({ clientId: "c", clientSecret: "s" });
  expect(() => oauth({ grant, redirect: loopback() })).toThrow("expected a redirect or a grant, got both");
});

test.each(["nowhere", ""])("rejects %j as the URL of a server", async (server) => {
  await expect(oauth().login(server)).rejects.toThrow("oauth: expected a URL");
});

test("finish rejects a callback that no login waits for", async () => {
  await expect(oauth().finish("https://app.example/cb?state=x")).rejects.toThrow("no login is waiting for this URL");
});
