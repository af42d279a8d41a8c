import { exportJWK, generateKeyPair, SignJWT } from "jose";
import { afterEach, describe, expect, test, vi } from "vitest";
import { Browser } from "./browser.ts";
import { App, type Json, post, redirectUri, serve, start } from "./kit.ts";

const clientId = "https://app.example/client.json";
afterEach(() => vi.useRealTimers());

interface Site {
  /** The documents by path; a string is a redirect. */
  readonly documents: Map<string, Json | string>;
  readonly asked: string[];
  readonly headers: { [name: string]: string };
}

/** An authority that fetches client documents from a site of the test: names lead to loopback, all else is real. */
async function startWithSite() {
  const site: Site = { documents: new Map(), asked: [], headers: {} };
  const origin = await serve(async () => (request, response) => {
    site.asked.push(request.url ?? "");
    const found = site.documents.get(request.url ?? "");
    if (typeof found === "string") return void response.writeHead(302, { location: found }).end();
    const headers = { "content-type": "application/json", ...site.headers };
    response.writeHead(found ? 200 : 404, headers).end(JSON.stringify(found ?? {}));
  });
  const fetchFromSite: typeof fetch = (input, init) => fetch(origin + new URL(String(input)).pathname, init);
  const started = await start({ registration: { metadataDocuments: { fetch: fetchFromSite } } });
  const describeAs = (more: Json = {}) => {
    const client_name = "Letters";
    const document = {
      client_id: clientId,
      client_name,
      redirect_uris: [redirectUri, "https://app.example/cb"],
      ...more,
    };
    site.documents.set("/client.json", document);
  };
  describeAs();
  return { ...started, site, describeAs };
}

const nowhere = () => new Browser(() => false);

describe("a client with a metadata document", () => {
  test("logs in without registration, and its host is shown", async () => {
    const { issuer, site } = await startWithSite();
    const app = new App(issuer, { clientId });
    const consent = await app.signIn();
    expect(consent.text).toContain("“Letters” wants access");
    expect(consent.text).toContain("<strong>app.example</strong> (this host is verified, the name is not)");
    expect(consent.text).toContain("any program here can claim this name");
    expect((await app.loginForTokens("ada", { prompt: "login" })).status).toBe(200);
    expect(site.asked).toEqual(["/client.json"]);
  });

  test("gets no warning when its redirect URI has its own host", async () => {
    const { issuer } = await startWithSite();
    const app = new App(issuer, { clientId, redirectUri: "https://app.example/cb" });
    expect((await app.signIn()).text).not.toContain('class="note"');
  });

  test("gets a warning when its redirect URI has another host", async () => {
    const { issuer, describeAs } = await startWithSite();
    describeAs({ redirect_uris: ["https://elsewhere.example/cb"] });
    const app = new App(issuer, { clientId, redirectUri: "https://elsewhere.example/cb" });
    expect((await app.signIn()).text).toContain(
      "The app is at app.example, but you will be sent to elsewhere.example.",
    );
  });

  test("gets refresh tokens if its document names that grant", async () => {
    const { issuer, describeAs } = await startWithSite();
    describeAs({ grant_types: ["authorization_code", "refresh_token", "urn:example:other"] });
    const app = new App(issuer, { clientId });
    const { body } = await app.loginForTokens();
    expect((await app.refresh(body["refresh_token"])).status).toBe(200);
  });

  test("may authenticate by a key of its document", async () => {
    const { issuer, describeAs } = await startWithSite();
    const { privateKey, publicKey } = await generateKeyPair("ES256");
    const key = { ...(await exportJWK(publicKey)), kid: "one", alg: "ES256", use: "sig" };
    describeAs({ token_endpoint_auth_method: "private_key_jwt", jwks: { keys: [key] } });
    const app = new App(issuer, { clientId });
    const code = (await app.login()).get("code") ?? "";
    expect((await app.redeem(code)).body["error"]).toBe("invalid_client");
    const client_assertion = await new SignJWT({})
      .setProtectedHeader({ alg: "ES256", kid: "one" })
      .setIssuer(clientId)
      .setSubject(clientId)
      .setAudience(issuer)
      .setJti(crypto.randomUUID())
      .setIssuedAt()
      .setExpirationTime("1m")
      .sign(privateKey);
    const client_assertion_type = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
    expect((await app.redeem(code, { client_assertion, client_assertion_type })).status).toBe(200);
  });

  test.each<[string, Json]>([
    ["names another client", { client_id: "https://app.example/other.json" }],
    ["names none", { client_id: undefined }],
    ["has a secret", { client_secret: "known to all" }],
    ["wants a shared secret", { token_endpoint_auth_method: "client_secret_basic" }],
    ["has an http redirect URI", { redirect_uris: ["http://app.example/cb"] }],
    ["has no redirect URI", { redirect_uris: [] }],
    ["has too long a name", { client_name: "n".repeat(201) }],
    ["is too long", { contacts: ["a@b.example".padStart(20_000, "x")] }],
  ])("is refused when that %s", async (_, more) => {
    const { issuer, describeAs, events } = await startWithSite();
    describeAs(more);
    const app = new App(issuer, { clientId }, nowhere());
    const { status, headers } = await app.browser.open(app.authorizeUrl());
    expect([status, headers.get("location"), events]).toEqual([400, null, []]);
  });

  test("is refused if its document redirects", async () => {
    const { issuer, site } = await startWithSite();
    site.documents.set("/client.json", "https://app.example/elsewhere.json");
    site.documents.set("/elsewhere.json", { client_id: clientId, redirect_uris: [redirectUri] });
    const app = new App(issuer, { clientId }, nowhere());
    expect((await app.browser.open(app.authorizeUrl())).status).toBe(400);
    expect(site.asked).not.toContain("/elsewhere.json");
  });

  test("is refused a redirect URI that is not in its document", async () => {
    const { issuer } = await startWithSite();
    const app = new App(issuer, { clientId, redirectUri: "https://evil.example/cb" }, nowhere());
    expect((await app.browser.open(app.authorizeUrl())).text).toContain("has not registered");
  });
});

describe("T55: what is fetched", () => {
  test.each([
    ["https://app.example"],
    ["https://app.example/"],
    ["https://user@app.example/client.json"],
    ["https://app.example/client.json#x"],
    ["https://app.example/a/../client.json"],
    ["http://app.example/client.json"],
  ])("is never %s", async (id) => {
    const { issuer, site } = await startWithSite();
    const app = new App(issuer, { clientId: id }, nowhere());
    expect((await app.browser.open(app.authorizeUrl())).status).toBe(400);
    expect(site.asked).toEqual([]);
  });

  test.each([
    ["https://127.0.0.1:1/client.json"],
    ["https://localhost:1/client.json"],
    ["https://[::1]:1/client.json"],
    ["https://169.254.169.254/latest/meta-data"],
    ["https://10.0.0.1/client.json"],
  ])("is never in a network that is not public: %s", async (id) => {
    const { issuer, site } = await startWithSite();
    const app = new App(issuer, { clientId: id }, nowhere());
    const { status, text } = await app.browser.open(app.authorizeUrl());
    expect([status, site.asked]).toEqual([400, []]);
    expect(text).not.toContain("private");
  });

  test("is limited in number for each IP address", async () => {
    // All requests are in one minute, which is the window of the limit.
    vi.useFakeTimers({ toFake: ["Date"] });
    const { issuer, site } = await startWithSite();
    const ids = Array.from({ length: 70 }, (_, index) => `https://app.example/${index}`);
    for (const id of ids) {
      const app = new App(issuer, { clientId: id }, nowhere());
      await app.browser.open(app.authorizeUrl());
    }
    expect(site.asked).toHaveLength(60);
  });

  test("is nothing if documents are switched off", async () => {
    const { issuer } = await start({ registration: { metadataDocuments: false } });
    const metadata = await (await fetch(`${issuer}/.well-known/openid-configuration`)).json();
    expect(metadata).not.toHaveProperty("client_id_metadata_document_supported");
    const body = new URLSearchParams({ grant_type: "authorization_code", client_id: clientId, code: "x" });
    expect((await post(`${issuer}/token`, body)).body["error"]).toBe("invalid_client");
  });
});
