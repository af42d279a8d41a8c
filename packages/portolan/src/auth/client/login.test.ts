import { describe, expect, test } from "vitest";
import type { SafeFetch } from "../../net/policy.ts";
import type { Authority } from "./discovery.ts";
import { beginLogin, checkPkce, completeLogin } from "./login.ts";

const issuer = "https://as.example";
const redirectUri = "http://127.0.0.1:4000/callback";
const authority: Authority = {
  issuer,
  isGuessed: false,
  metadata: {
    issuer,
    authorization_endpoint: `${issuer}/authorize?tenant=1`,
    token_endpoint: `${issuer}/token`,
    authorization_response_iss_parameter_supported: true,
  },
};

function begin(scopes: readonly string[] = ["read"], server: Authority = authority) {
  const client = { clientId: "client", method: "none", isDynamic: false } as const;
  const request = { authority: server, client, redirectUri, scopes, key: undefined };
  return beginLogin({ ...request, server: "https://mcp.example/mcp", resource: "https://mcp.example/mcp" });
}

/** A token endpoint that records what it is sent. */
function tokenEndpoint() {
  const sent: URLSearchParams[] = [];
  const fetch: SafeFetch = async (_, init) => {
    sent.push(new URLSearchParams(String(init?.body)));
    return Response.json({ access_token: "token", token_type: "bearer" });
  };
  return { fetch, sent };
}

describe("beginLogin", () => {
  test("sends an S256 challenge of the verifier that it keeps", async () => {
    const { url, pending } = await begin();
    const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(pending.verifier));
    expect(url.searchParams.get("code_challenge")).toBe(Buffer.from(digest).toString("base64url"));
    expect(url.searchParams.get("code_challenge_method")).toBe("S256");
    expect(url.href).not.toContain(pending.verifier);
  });

  test("keeps the query of the endpoint and adds resource, scope and redirect URI", async () => {
    const { url } = await begin(["read", "write"]);
    expect(Object.fromEntries(url.searchParams)).toMatchObject({
      tenant: "1",
      response_type: "code",
      client_id: "client",
      resource: "https://mcp.example/mcp",
      scope: "read write",
      redirect_uri: redirectUri,
    });
  });

  test("uses a new state and verifier for each login", async () => {
    const [one, two] = [await begin(), await begin()];
    expect(one.pending.state).not.toBe(two.pending.state);
    expect(one.pending.verifier).not.toBe(two.pending.verifier);
  });

  test("asks for consent only with offline_access", async () => {
    expect((await begin(["offline_access"])).url.searchParams.get("prompt")).toBe("consent");
    expect((await begin([])).url.searchParams.has("prompt")).toBe(false);
    expect((await begin([])).url.searchParams.has("scope")).toBe(false);
  });

  test("fails without an authorization endpoint", async () => {
    await expect(begin([], { ...authority, metadata: { issuer } })).rejects.toThrow("no authorization endpoint");
  });
});

describe("checkPkce", () => {
  const supporting = (methods?: string[]): Authority => ({
    ...authority,
    metadata: { issuer, ...(methods && { code_challenge_methods_supported: methods }) },
  });

  test("accepts S256", () => expect(() => checkPkce(supporting(["plain", "S256"]), [])).not.toThrow());
  test("refuses an issuer that does not mention PKCE", () => {
    expect(() => checkPkce(supporting(), [])).toThrow("pkceAssumedFor");
    expect(() => checkPkce(supporting(), [issuer])).not.toThrow();
  });
  test("refuses an issuer that supports only plain, even if PKCE is assumed", () => {
    expect(() => checkPkce(supporting(["plain"]), [issuer])).toThrow("PKCE with S256");
  });
});

describe("completeLogin", () => {
  async function complete(change: (callback: URL, state: string) => void) {
    const { pending } = await begin();
    const callback = new URL(`${redirectUri}?code=the-code&state=${pending.state}&iss=${issuer}`);
    change(callback, pending.state);
    const { fetch, sent } = tokenEndpoint();
    const token = await completeLogin(pending, callback, authority, fetch);
    return { token, sent, pending };
  }

  test("exchanges the code with the verifier, redirect URI and resource", async () => {
    const { token, sent, pending } = await complete(() => {});
    expect(token).toMatchObject({ accessToken: "token", tokenType: "Bearer" });
    expect(Object.fromEntries(sent[0] ?? [])).toMatchObject({
      code: "the-code",
      code_verifier: pending.verifier,
      redirect_uri: redirectUri,
      resource: "https://mcp.example/mcp",
    });
  });

  test.each<[string, (callback: URL) => void]>([
    ["another state", (callback) => callback.searchParams.set("state", "other")],
    ["no state", (callback) => callback.searchParams.delete("state")],
    ["another issuer", (callback) => callback.searchParams.set("iss", "https://evil.example")],
    ["no issuer, though its metadata promises one", (callback) => callback.searchParams.delete("iss")],
    ["no code", (callback) => callback.searchParams.delete("code")],
    ["another path", (callback) => Object.assign(callback, { pathname: "/other" })],
    ["another port", (callback) => Object.assign(callback, { port: "4001" })],
    ["an error", (callback) => callback.searchParams.set("error", "access_denied")],
  ])("refuses a callback with %s", async (_, change) => {
    await expect(complete(change)).rejects.toThrow(`Sign-in at ${issuer} failed`);
  });
});
