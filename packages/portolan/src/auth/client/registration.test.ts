import { describe, expect, test } from "vitest";
import type { SafeFetch } from "../../net/policy.ts";
import { Vault } from "./credential.ts";
import type { Authority } from "./discovery.ts";
import { isTooNarrow, knownClient, type RegistrationOptions, register, withSecret } from "./registration.ts";
import { memoryStore } from "./store.ts";

const issuer = "https://as.example";
const loopback = "http://127.0.0.1:4000/callback";

function setUp(metadata: object = {}, response: object = { client_id: "new" }) {
  const sent: { [member: string]: unknown }[] = [];
  const fetch: SafeFetch = async (_, init) => {
    sent.push(JSON.parse(String(init?.body)));
    return Response.json(response, { status: "error" in response ? 400 : 201 });
  };
  const authority: Authority = {
    issuer,
    isGuessed: false,
    metadata: { issuer, registration_endpoint: `${issuer}/register`, ...metadata },
  };
  const context = { vault: new Vault(memoryStore(), "", ""), fetch, now: () => 1_000 };
  return {
    sent,
    context,
    known: (options: RegistrationOptions) => knownClient(authority, options, context),
    register: (redirectUri = loopback, options: RegistrationOptions = {}) =>
      register(authority, redirectUri, ["read"], options, context),
  };
}

describe("knownClient", () => {
  const configured = { clientId: "mine", clientSecret: "secret" };
  const clientMetadataUrl = "https://app.example/client.json";

  test("prefers a configured client to a document, and a document to a stored registration", async () => {
    const { known, context } = setUp({ client_id_metadata_document_supported: true });
    await context.vault.writeClient(issuer, { clientId: "stored", method: "none", isDynamic: true });
    expect(await known({ client: configured, clientMetadataUrl })).toMatchObject({ clientId: "mine" });
    expect(await known({ clientMetadataUrl })).toMatchObject({ clientId: clientMetadataUrl, method: "none" });
    expect(await known({})).toMatchObject({ clientId: "stored" });
  });

  test("ignores a document that the authorization server does not support", async () => {
    expect(await setUp().known({ clientMetadataUrl })).toBeUndefined();
  });

  test("ignores a registration whose secret has expired", async () => {
    const { known, context } = setUp();
    const client = { clientId: "old", method: "client_secret_basic", isDynamic: true } as const;
    await context.vault.writeClient(issuer, { ...client, secretExpiresAt: 1_000 });
    expect(await known({})).toBeUndefined();
  });

  test("refuses a configured client of another issuer", async () => {
    const client = { ...configured, issuer: "https://other.example" };
    await expect(setUp().known({ client })).rejects.toThrow("is registered with https://other.example");
  });
});

describe("register", () => {
  test.each<[string, object, string]>([
    [loopback, {}, "none"],
    ["https://app.example/cb", {}, "client_secret_basic"],
    [loopback, { token_endpoint_auth_methods_supported: ["client_secret_post"] }, "client_secret_post"],
    [loopback, { token_endpoint_auth_methods_supported: ["none", "client_secret_basic"] }, "none"],
  ])("for %s and %j requests the method %s", async (redirectUri, metadata, method) => {
    const { sent, register } = setUp(metadata);
    await register(redirectUri);
    expect(sent[0]?.["token_endpoint_auth_method"]).toBe(method);
  });

  test.each<[object, string]>([
    [{ client_id: "new", token_endpoint_auth_method: "client_secret_post", client_secret: "s" }, "client_secret_post"],
    [{ client_id: "new", token_endpoint_auth_method: "client_secret_post" }, "none"],
    [{ client_id: "new", client_secret: "s" }, "client_secret_basic"],
  ])("uses the method that follows from %j", async (response, method) => {
    expect((await setUp({}, response).register()).method).toBe(method);
  });

  test("stores the registration", async () => {
    const { register, context } = setUp();
    const client = await register();
    expect(await context.vault.readClient(issuer)).toEqual(client);
    expect(client).toMatchObject({ redirectUri: loopback, scopes: ["read"], isDynamic: true });
  });

  test("rejects with the OAuth error of the response", async () => {
    const response = { error: "invalid_redirect_uri", error_description: "no loopback" };
    await expect(setUp({}, response).register()).rejects.toMatchObject({
      error: "invalid_redirect_uri",
      message: `${issuer} has not registered this client: invalid_redirect_uri: no loopback`,
    });
  });

  test("asks a person if there is no registration endpoint", async () => {
    const { register } = setUp({ registration_endpoint: undefined });
    const askClient = async () => ({ clientId: "by hand" });
    expect(await register(loopback, { askClient })).toMatchObject({ clientId: "by hand", isDynamic: false });
    await expect(register()).rejects.toThrow("register a client by hand");
  });
});

test("isTooNarrow compares scopes of dynamic clients only", () => {
  const client = { clientId: "c", method: "none", scopes: ["read"], isDynamic: true } as const;
  expect(isTooNarrow(client, ["read"])).toBe(false);
  expect(isTooNarrow(client, ["read", "write"])).toBe(true);
  expect(isTooNarrow({ ...client, isDynamic: false }, ["write"])).toBe(false);
});

test("withSecret adds the configured secret to a stored client", () => {
  const stored = { clientId: "c", method: "client_secret_basic", isDynamic: false } as const;
  expect(withSecret(stored, { client: { clientId: "c", clientSecret: "s" } }).clientSecret).toBe("s");
  expect(withSecret(stored, {})).toBe(stored);
});
