import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { exportJWK, exportPKCS8, generateKeyPair } from "jose";
import {
  clientCredentials,
  enterpriseManaged,
  fileStore,
  type MachineGrant,
  oauth,
  workloadIdentity,
} from "portolan/auth/client";
import { describe, expect, onTestFinished, test } from "vitest";
import { TestAuthority } from "./kit/authority.ts";
import { hour, reasonOf } from "./kit/site.ts";
import { connectTo, startWorld, textOf, type World, ways } from "./kit/world.ts";

const secret = { clientId: "machine", clientSecret: "s:cret" };
const startMachine = async (grant: MachineGrant, options: Parameters<typeof startWorld>[0] = {}): Promise<World> => {
  const world = await startWorld({ ...options, oauth: { grant, ...options.oauth } });
  world.authority.clients.set("machine", { redirectUris: [], secret: "s:cret", method: "client_secret_basic" });
  return world;
};

describe("client credentials", () => {
  test.each(ways)("with a secret give access to a server of %s", async (way) => {
    const { authority, server, person, events, connect } = await startMachine(clientCredentials(secret), { way });
    const client = await connect();
    expect(textOf(await client.callTool("whoami"))).toBe("ada by machine");
    const [{ form, headers } = { form: new URLSearchParams(), headers: {} }] = authority.asked("token");
    expect(headers).toMatchObject({ authorization: `Basic ${btoa("machine:s%3Acret")}` });
    expect([form.get("grant_type"), form.get("resource")]).toEqual(["client_credentials", server.resource]);
    expect([authority.asked("register"), authority.asked("authorize"), person.visits]).toEqual([[], [], []]);
    expect(events.map(({ kind }) => kind)).toEqual(["granted"]);
  });

  test("request the scopes of the challenge, and more when the server requires more, but never offline_access", async () => {
    const scopesFor = ({ name }: { name: string | undefined }) => (name === "write" ? ["write"] : []);
    const { authority, connect } = await startMachine(clientCredentials(secret), {
      protect: { scopes: ["read"], scopesFor },
    });
    authority.metadata["scopes_supported"] = ["read", "write", "offline_access"];
    const client = await connect();
    await client.callTool("write");
    expect(authority.asked("token").map(({ form }) => form.get("scope"))).toEqual(["read", "read write"]);
  });

  test.each(["PEM", "JWK"])("with a private key as %s sign for the issuer, and send no secret", async (kind) => {
    const { privateKey, publicKey } = await generateKeyPair("ES256", { extractable: true });
    const key = kind === "PEM" ? await exportPKCS8(privateKey) : ((await exportJWK(privateKey)) as JsonWebKey);
    const world = await startMachine(clientCredentials({ clientId: "signer", privateKey: key, keyId: "k1" }));
    world.authority.clients.clear();
    world.authority.clients.set("signer", { redirectUris: [], publicKey });
    expect(textOf(await (await world.connect()).callTool("whoami"))).toBe("ada by signer");
    const [{ form, headers } = { form: new URLSearchParams(), headers: {} }] = world.authority.asked("token");
    expect([form.has("client_secret"), "authorization" in headers]).toEqual([false, false]);
    expect(form.get("client_assertion_type")).toBe("urn:ietf:params:oauth:client-assertion-type:jwt-bearer");
  });

  test("are used again when the token expires, at the same issuer with the same scopes", async () => {
    const { authority, server, clock, connect } = await startMachine(clientCredentials(secret), {
      protect: { scopes: ["read"] },
    });
    const client = await connect();
    // Only challenges contain the metadata URL, and the server's own origin is not an authorization server.
    server.site.instead.set(server.metadataPath, () => ({ status: 404 }));
    authority.metadata["scopes_supported"] = ["read", "admin"];
    const before = server.site.asked.length;
    clock.pass(hour - 20_000);
    await client.callTool("whoami");
    expect(server.site.asked.slice(before).map(({ path }) => path)).toEqual(["/mcp"]);
    expect(authority.asked("token").map(({ form }) => form.get("scope"))).toEqual(["read", "read"]);
  });

  test("are used by programs that store their tokens in a file", async () => {
    const folder = mkdtempSync(join(tmpdir(), "portolan-machine-"));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const store = fileStore(join(folder, "credentials.json"));
    const { authority, connect } = await startMachine(clientCredentials(secret), { oauth: { store } });
    await connect();
    await connect();
    expect(authority.asked("token")).toHaveLength(1);
  });

  test("that are refused fail the call after one attempt", async () => {
    const { authority, connect } = await startMachine(clientCredentials({ ...secret, clientSecret: "wrong" }));
    const reason = await reasonOf(connect());
    expect([reason.code, reason.message]).toEqual(["unauthorized", expect.stringContaining("invalid_client")]);
    expect(authority.asked("token")).toHaveLength(1);
  });
});

describe("T44: the credentials of a machine", () => {
  test("are not sent to another issuer than their own", async () => {
    const grant = clientCredentials({ ...secret, issuer: "https://auth.example.com" });
    const { authority, connect } = await startMachine(grant);
    expect((await reasonOf(connect())).message).toContain("The grant is for https://auth.example.com");
    expect(authority.asked("token")).toEqual([]);
  });

  const grants: [string, MachineGrant][] = [
    ["client credentials", clientCredentials(secret)],
    ["a workload's token", workloadIdentity({ ...secret, assertion: "platform-token" })],
  ];
  test.each(grants)("stay with the issuer of their first use when the server names another: %s", async (_, grant) => {
    const { authority, server, clock, connect } = await startMachine(grant);
    const client = await connect();
    const other = await TestAuthority.start();
    other.clients.set("machine", { redirectUris: [], secret: "s:cret" });
    server.protect({ issuers: [other.issuer] });
    clock.pass(2 * hour);
    const reason = await reasonOf(client.callTool("whoami"));
    expect(reason.message).toContain(`The grant is for ${authority.issuer}, but the server names ${other.issuer}`);
    expect(other.asked("token")).toEqual([]);
  });

  test("are not sent to the authority of another server", async () => {
    const one = await startMachine(clientCredentials(secret));
    const two = await startMachine(clientCredentials(secret));
    await one.connect();
    const attempt = connectTo(two.server.url, "stateless", { auth: one.auth });
    expect((await reasonOf(attempt)).message).toContain("The grant is for");
    expect(two.authority.asked("token")).toEqual([]);
  });
});

test("a workload sends the token of its platform, which is read again each time", async () => {
  let made = 0;
  const assertion = async () => {
    made += 1;
    return `platform-token-${made}`;
  };
  const { authority, server, clock, connect } = await startMachine(workloadIdentity({ ...secret, assertion }));
  const client = await connect();
  clock.pass(2 * hour);
  await client.callTool("whoami");
  const forms = authority.grants("urn:ietf:params:oauth:grant-type:jwt-bearer");
  expect(forms.map((form) => [form.get("assertion"), form.get("resource")])).toEqual([
    ["platform-token-1", server.resource],
    ["platform-token-2", server.resource],
  ]);
});

test("a workload whose token is refused tries no other way", async () => {
  const { authority, person, connect } = await startMachine(workloadIdentity({ ...secret, assertion: "x" }));
  authority.answer("token", { status: 400, body: { error: "invalid_grant" } });
  expect((await reasonOf(connect())).message).toContain("invalid_grant");
  expect([authority.asked("token").length, person.visits.length]).toEqual([1, 0]);
});

test("enterprise-managed access exchanges an ID token for an assertion, and each side gets only its own part", async () => {
  const provider = await TestAuthority.start({ path: "/idp" });
  provider.clients.set("desk", { redirectUris: [], secret: "desk secret" });
  const identityProvider = {
    issuer: provider.issuer,
    clientId: "desk",
    clientSecret: "desk secret",
    idToken: "id-token",
  };
  const { authority, server, connect } = await startMachine(enterpriseManaged({ ...secret, identityProvider }), {
    protect: { scopes: ["read"] },
  });
  expect(textOf(await (await connect()).callTool("whoami"))).toBe("ada by machine");
  expect(Object.fromEntries(provider.asked("token")[0]!.form)).toMatchObject({
    grant_type: "urn:ietf:params:oauth:grant-type:token-exchange",
    requested_token_type: "urn:ietf:params:oauth:token-type:id-jag",
    subject_token: "id-token",
    subject_token_type: "urn:ietf:params:oauth:token-type:id_token",
    audience: authority.issuer,
    resource: server.resource,
    scope: "read",
  });
  expect(Object.fromEntries(authority.asked("token")[0]!.form)).toMatchObject({
    grant_type: "urn:ietf:params:oauth:grant-type:jwt-bearer",
    assertion: "vouched-for",
  });
  expect(JSON.stringify(authority.site.asked)).not.toMatch(/id-token|desk/);
  expect(provider.asked("token").some(({ headers }) => headers.authorization?.includes(btoa("machine:")))).toBe(false);
});

test("a grant and a redirect together are an error", async () => {
  const { person } = await startWorld();
  expect(() => oauth({ redirect: person, grant: clientCredentials(secret) })).toThrow("got both");
});
