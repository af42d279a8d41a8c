import { describe, expect, test } from "vitest";
import type { SafeFetch } from "../../net/policy.ts";
import type { RegisteredClient } from "./credential.ts";
import { createKey } from "./dpop.ts";
import { requestToken } from "./tokens.ts";

const issuer = "https://as.example";
const metadata = { issuer, token_endpoint: `${issuer}/token` };
const authority = { issuer, metadata, isGuessed: false };
const publicClient: RegisteredClient = { clientId: "c", method: "none", isDynamic: false };

interface Sent {
  readonly headers: Headers;
  readonly form: URLSearchParams;
}

async function request(respond: (count: number) => Response, client = publicClient, key?: JsonWebKey) {
  const sent: Sent[] = [];
  const fetch: SafeFetch = async (_, init) => {
    sent.push({ headers: new Headers(init?.headers as Headers), form: new URLSearchParams(String(init?.body)) });
    return respond(sent.length);
  };
  const parameters = { refresh_token: "r-1", resource: undefined };
  const token = requestToken({ authority, client, key, fetch }, "refresh_token", parameters);
  return { sent, token: await token.catch((reason: Error) => reason) };
}

const granted = (more: object = {}) => Response.json({ access_token: "t", token_type: "bearer", ...more });

describe("requestToken", () => {
  test("leaves out parameters without a value", async () => {
    const { sent } = await request(() => granted());
    expect([...(sent[0]?.form.keys() ?? [])].sort()).toEqual(["client_id", "grant_type", "refresh_token"]);
  });

  test("reads lifetime, refresh token and scopes", async () => {
    const { token } = await request(() => granted({ expires_in: 60, refresh_token: "r-2", scope: "a  b" }));
    expect(token).toMatchObject({ expiresInMs: 60_000, refreshToken: "r-2", scopes: ["a", "b"], tokenType: "Bearer" });
  });

  test("form-encodes id and secret for the basic method", async () => {
    const client: RegisteredClient = { ...publicClient, clientSecret: "a+b c:é", method: "client_secret_basic" };
    const { sent } = await request(() => granted(), client);
    expect(atob(sent[0]?.headers.get("authorization")?.slice("Basic ".length) ?? "")).toBe("c:a%2Bb+c%3A%C3%A9");
  });

  test("ignores a faulty ID token", async () => {
    expect((await request(() => granted({ id_token: "not a JWT" }))).token).toMatchObject({ accessToken: "t" });
  });

  test.each([
    [503, "http-status", undefined],
    [429, "http-status", undefined],
    [401, "unauthorized", "invalid_client"],
    [400, "unauthorized", "invalid_request"],
    [404, "unauthorized", undefined],
  ])("converts a bare %i to code %s and error %s", async (status, code, error) => {
    expect((await request(() => new Response("", { status }))).token).toMatchObject({ code, error });
  });

  test("hides secrets that the authorization server repeats", async () => {
    const body = { error: "invalid_grant", error_description: "r-1 is unknown" };
    const { token } = await request(() => Response.json(body, { status: 400 }));
    expect((token as Error).message).toBe(`${issuer} issued no token: invalid_grant: … is unknown`);
  });

  test("refuses a token that cannot be a header value, and a bound token without a key", async () => {
    expect((await request(() => granted({ access_token: "a b" }))).token).toBeInstanceOf(Error);
    expect((await request(() => granted({ token_type: "DPoP" }))).token).toMatchObject({
      message: `${issuer} issued a token that needs a DPoP key`,
    });
  });

  test("repeats the request once with the nonce of the authorization server", async () => {
    const refuse = () =>
      Response.json({ error: "use_dpop_nonce" }, { status: 400, headers: { "dpop-nonce": "nonce-1" } });
    const respond = (count: number) => (count === 1 ? refuse() : granted({ token_type: "DPoP" }));
    const { sent, token } = await request(respond, publicClient, await createKey());
    expect(token).toMatchObject({ tokenType: "DPoP" });
    const claims = (proof = "") => JSON.parse(Buffer.from(proof.split(".")[1] ?? "", "base64url").toString());
    expect(sent.map(({ headers }) => claims(headers.get("dpop") ?? "").nonce)).toEqual([undefined, "nonce-1"]);
  });
});
