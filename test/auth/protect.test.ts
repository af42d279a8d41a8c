import { SignJWT } from "jose";
import { type ProtectOptions, protect } from "portolan/auth/server";
import { createServer } from "portolan/server";
import { type RefusalReport, serveHttp } from "portolan/server/http";
import { describe, expect, onTestFinished, test } from "vitest";
import { type Answer, send, toInitialize } from "../http/kit.ts";
import { toHeaders, toMeta } from "../http/peer.ts";
import { KeyHolder, type Made, TestIssuer } from "./issuer.ts";

const resource = "https://mcp.example.com/mcp";
const metadataUrl = "https://mcp.example.com/.well-known/oauth-protected-resource/mcp";

async function startProtected(options: Partial<ProtectOptions> = {}) {
  const issuer = await TestIssuer.start(resource);
  const errors: unknown[] = [];
  const auth = protect({ resource, issuers: [issuer.url], onError: (error) => errors.push(error), ...options });
  const server = createServer({ name: "protected", version: "1.0.0" })
    .tool("whoami", {
      run: (_, { principal }) =>
        JSON.stringify([principal.subject, principal.clientId, principal.scopes, principal.issuer === issuer.url]),
    })
    .tool("write", { run: () => "written" });
  const serving = serveHttp(server, { auth, httpSse: true });
  onTestFinished(() => serving.close(0));
  const { url } = await serving.listen();
  return { issuer, url, errors };
}

function call(url: string, token: string | undefined, name = "whoami", headers = {}): Promise<Answer> {
  const authorization = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const body = { jsonrpc: "2.0", id: 7, method: "tools/call", params: { name, arguments: {}, _meta: toMeta() } };
  return send(url, { headers: { ...toHeaders("tools/call", name), ...authorization, ...headers }, body });
}

const challengeOf = (answer: Answer) => String(answer.headers["www-authenticate"]);

describe("a protected server", () => {
  test("accepts a valid token and tells handlers who the caller is", async () => {
    const { issuer, url } = await startProtected();
    const answer = await call(url, await issuer.token());
    expect((await answer.json()).result.content[0].text).toBe(JSON.stringify(["ada", "app", ["read"], true]));
    expect(issuer.asked.filter((path) => path === "/keys")).toHaveLength(1);
    await call(url, await issuer.token());
    expect(issuer.asked.filter((path) => path === "/keys")).toHaveLength(1);
  });

  test("answers 401 with the URL of public metadata when there is no token", async () => {
    const { issuer, url } = await startProtected({ scopes: ["read"] });
    const answer = await call(url, undefined);
    expect(answer.status).toBe(401);
    expect(challengeOf(answer)).toContain(`Bearer scope="read", resource_metadata="${metadataUrl}"`);
    expect(challengeOf(answer)).not.toContain("error=");
    const document = await send(new URL("/.well-known/oauth-protected-resource/mcp", url).href, { method: "GET" });
    expect(await document.json()).toMatchObject({
      resource,
      authorization_servers: [issuer.url],
      scopes_supported: ["read"],
      bearer_methods_supported: ["header"],
    });
  });

  test("binds a session to its token holder", async () => {
    const { issuer, url } = await startProtected();
    const headers = { "content-type": "application/json", accept: "application/json, text/event-stream" };
    const ada = { ...headers, authorization: `Bearer ${await issuer.token()}` };
    const bob = { ...headers, authorization: `Bearer ${await issuer.token({ claims: { sub: "bob" } })}` };
    const begun = await send(url, { headers: ada, body: toInitialize("2025-11-25") });
    const session = { "mcp-session-id": String(begun.headers["mcp-session-id"]) };
    const body = { jsonrpc: "2.0", id: 1, method: "ping" };
    expect((await send(url, { headers: { ...ada, ...session }, body })).status).toBe(200);
    expect((await send(url, { headers: { ...bob, ...session }, body })).status).toBe(404);
    const another = { ...ada, authorization: `Bearer ${await issuer.token({ claims: { client_id: "other" } })}` };
    expect((await send(url, { headers: { ...another, ...session }, body })).status).toBe(404);
  });

  const minutes = (count: number) => Math.floor(Date.now() / 1_000) + count * 60;
  test.each<[string, Made, string]>([
    ["for another audience", { claims: { aud: "https://other.example.com/mcp" } }, "audience"],
    ["for no audience", { claims: { aud: undefined } }, "audience"],
    ["for its URL with a slash", { claims: { aud: `${resource}/` } }, "audience"],
    ["of another issuer", { claims: { iss: "https://evil.example.com" } }, "issuer"],
    ["that has expired", { claims: { exp: minutes(-1) } }, "expired"],
    ["that never expires", { claims: { exp: undefined } }, "expires"],
    ["that is valid from tomorrow", { claims: { nbf: minutes(24 * 60) } }, "not valid yet"],
    ["that was issued an hour ahead", { claims: { iat: minutes(60) } }, "not valid yet"],
    ["that is a DPoP proof", { header: { typ: "dpop+jwt" } }, "not an access token"],
    ["with a key that its issuer does not have", { header: { kid: "made-up" } }, "not signed"],
    ["that brings its own keys", { header: { jku: "https://evil.example.com/keys" } as object }, ""],
  ])("refuses a token %s", async (name, made, why) => {
    const { issuer, url } = await startProtected();
    const answer = await call(url, await issuer.token(made));
    if (name.includes("own keys")) {
      // The key URL in the token is ignored; the issuer's own keys verify it.
      expect(answer.status).toBe(200);
      return;
    }
    expect(answer.status).toBe(401);
    expect(challengeOf(answer)).toMatch(/error="invalid_token"/);
    expect((await answer.json()).error?.message).toContain(why);
  });

  test("tells its operator each reason for which tokens are refused, and no token", async () => {
    const issuer = await TestIssuer.start(resource);
    const refusals: RefusalReport[] = [];
    const server = createServer({ name: "protected", version: "1.0.0" }).tool("whoami", { run: () => "nobody" });
    const auth = protect({ resource, issuers: [issuer.url] });
    const serving = serveHttp(server, { auth, onRefused: (report) => void refusals.push(report) });
    onTestFinished(() => serving.close(0));
    const { url } = await serving.listen();
    const tokens = [
      undefined,
      await issuer.token({ header: { kid: "made-up" } }),
      await issuer.token({ claims: { exp: minutes(-1) } }),
      await issuer.token({ claims: { aud: "https://other.example.com/mcp" } }),
    ];
    for (const token of [...tokens, ...tokens]) expect((await call(url, token)).status).toBe(401);
    expect(refusals.map(({ status, reason, count }) => [status, reason, count])).toEqual([
      [401, "Authorization: expected an access token", 1],
      [401, "the token is not signed by its issuer", 1],
      [401, "the token has expired", 1],
      [401, "the token is for another audience", 1],
    ]);
  });

  test("accepts tokens when the issuer's clock is slightly off", async () => {
    const { issuer, url } = await startProtected();
    const soon = Math.floor(Date.now() / 1_000) + 45;
    expect((await call(url, await issuer.token({ claims: { iat: soon, nbf: soon } }))).status).toBe(200);
  });

  test("is not confused about the algorithm", async () => {
    const { issuer, url } = await startProtected();
    const none = `${[{ alg: "none", typ: "at+jwt" }, issuer.claims()].map((part) => Buffer.from(JSON.stringify(part)).toString("base64url")).join(".")}.`;
    const secret = await issuer.publicKeyAsSecret();
    const shared = await new SignJWT({ ...issuer.claims() })
      .setProtectedHeader({ alg: "HS256", kid: "one" })
      .sign(secret);
    for (const token of [none, shared]) expect((await call(url, token)).status).toBe(401);
  });

  test("refuses malformed authorization headers", async () => {
    const { issuer, url } = await startProtected();
    const token = await issuer.token();
    for (const authorization of [
      "Bearer",
      "Bearer ",
      `Basic ${token}`,
      token,
      `Bearer ${token} x`,
      `Bearer ${"x".repeat(10_000)}`,
    ]) {
      expect([authorization.slice(0, 20), (await call(url, undefined, "whoami", { authorization })).status]).toEqual([
        authorization.slice(0, 20),
        401,
      ]);
    }
    expect(
      (
        await send(`${url}?access_token=${token}`, {
          headers: toHeaders("tools/list"),
          body: { jsonrpc: "2.0", id: 1, method: "tools/list", params: { _meta: toMeta() } },
        })
      ).status,
    ).toBe(401);
  });

  test("fetches new keys of an issuer, but not again for unknown key ids", async () => {
    let now = Date.now();
    const { issuer, url } = await startProtected({ now: () => now });
    expect((await call(url, await issuer.token())).status).toBe(200);
    await issuer.rotate();
    expect((await call(url, await issuer.token())).status).toBe(401);
    now += 61_000;
    expect((await call(url, await issuer.token())).status).toBe(200);
    const before = issuer.asked.length;
    for (let times = 0; times < 10; times += 1) await call(url, await issuer.token({ header: { kid: `no-${times}` } }));
    expect(issuer.asked.length).toBe(before);
  });

  test("answers 503 when the issuer cannot be reached, and reports the reason to the operator", async () => {
    const { issuer, url, errors } = await startProtected({ issuers: ["http://127.0.0.1:9"] });
    const answer = await call(url, await issuer.token({ claims: { iss: "http://127.0.0.1:9" } }));
    expect([answer.status, answer.headers["retry-after"]]).toEqual([503, "5"]);
    expect(JSON.stringify(await answer.json())).not.toContain("127.0.0.1:9");
    expect(String(errors[0])).toContain("127.0.0.1:9");
  });
});

describe("scopes", () => {
  const scopesFor = ({ method, name }: { method: string; name: string | undefined }) =>
    method === "tools/call" && name === "write" ? ["write", "audit"] : [];

  test("that are missing are all named at once", async () => {
    const { issuer, url } = await startProtected({ scopes: ["read"], scopesFor });
    expect((await call(url, await issuer.token())).status).toBe(200);
    const answer = await call(url, await issuer.token(), "write");
    expect(answer.status).toBe(403);
    expect(challengeOf(answer)).toContain('error="insufficient_scope"');
    expect(challengeOf(answer)).toContain('scope="read write audit"');
    expect(await answer.json()).toMatchObject({ id: 7, error: { message: "Required scopes: read write audit" } });
    const all = await issuer.token({ claims: { scope: "audit write read" } });
    expect((await call(url, all, "write")).status).toBe(200);
  });

  test("that include others count, and lists of scopes are accepted", async () => {
    const { issuer, url } = await startProtected({
      scopes: ["read"],
      scopesFor,
      includes: { admin: ["read", "write", "audit"] },
    });
    const admin = await issuer.token({ claims: { scope: undefined, scp: ["admin"] } });
    expect((await call(url, admin, "write")).status).toBe(200);
  });

  test("are required for streams, too", async () => {
    const { issuer, url } = await startProtected({ scopes: ["listen"] });
    const headers = { accept: "text/event-stream", authorization: `Bearer ${await issuer.token()}` };
    for (const path of ["/mcp", "/sse"]) {
      expect([path, (await send(new URL(path, url).href, { method: "GET", headers })).status]).toEqual([path, 403]);
    }
  });
});

describe("opaque tokens", () => {
  const inspecting = async (options: Partial<ProtectOptions> = {}) => {
    const issuer = await TestIssuer.start(resource);
    const introspection = {
      issuer: issuer.url,
      endpoint: `${issuer.url}/introspect`,
      clientId: "server",
      clientSecret: "s:cret",
    };
    const started = await startProtected({ issuers: [introspection], ...options });
    return { ...started, issuer };
  };

  test("are introspected once per minute", async () => {
    let now = Date.now();
    const { issuer, url } = await inspecting({ now: () => now });
    issuer.opaque.set("opaque", { active: true, ...issuer.claims() });
    expect((await call(url, "opaque")).status).toBe(200);
    expect((await call(url, "opaque")).status).toBe(200);
    expect(issuer.asked).toEqual(["/introspect"]);
    issuer.opaque.delete("opaque");
    now += 61_000;
    expect((await call(url, "opaque")).status).toBe(401);
  });

  test("are neither accepted nor refused while one of two issuers cannot be asked", async () => {
    const answering = await TestIssuer.start(resource);
    const credentials = { clientId: "server", clientSecret: "s:cret" };
    const asOf = (url: string) => ({ issuer: url, endpoint: `${url}/introspect`, ...credentials });
    const errors: unknown[] = [];
    const down = "http://127.0.0.1:9";
    for (const issuers of [
      [asOf(down), asOf(answering.url)],
      [asOf(answering.url), asOf(down)],
    ]) {
      const { url } = await startProtected({ issuers, onError: (error) => errors.push(error) });
      expect((await call(url, "unknown")).status).toBe(503);
    }
    expect(errors).toHaveLength(2);
  });

  test("are refused when they are inactive, for another server or from another issuer", async () => {
    const { issuer, url } = await inspecting();
    issuer.opaque.set("foreign", { active: true, ...issuer.claims({ aud: "https://other.example.com" }) });
    issuer.opaque.set("passed-on", { active: true, ...issuer.claims({ iss: "https://other.example.com" }) });
    for (const token of ["unknown", "foreign", "passed-on"]) expect((await call(url, token)).status).toBe(401);
  });
});

describe("tokens that are bound to a key", () => {
  const bound = async (options: Partial<ProtectOptions> = {}) => {
    const started = await startProtected(options);
    const holder = await KeyHolder.create();
    const token = await started.issuer.token({ claims: { cnf: { jkt: holder.thumbprint } } });
    const present = (dpop: string) => call(started.url, undefined, "whoami", { authorization: `DPoP ${token}`, dpop });
    return { ...started, holder, token, present };
  };
  const asked = { method: "POST", url: resource };

  test("are accepted with a proof, once", async () => {
    const { holder, token, present } = await bound();
    const proof = await holder.proof({ ...asked, token });
    expect((await present(proof)).status).toBe(200);
    const again = await present(proof);
    expect([again.status, (await again.json()).error?.message]).toEqual([401, "DPoP: the proof was used before"]);
  });

  test("are refused without a proof", async () => {
    const { url, token } = await bound();
    expect((await call(url, token)).status).toBe(401);
    expect((await call(url, undefined, "whoami", { authorization: `DPoP ${token}` })).status).toBe(401);
  });

  test("are refused with a proof for another request", async () => {
    const { holder, token, present } = await bound();
    const thief = await KeyHolder.create();
    const hour = Math.floor(Date.now() / 1_000) - 3_600;
    const wrong = [
      holder.proof({ ...asked, method: "GET", token }),
      holder.proof({ ...asked, url: "https://mcp.example.com/other", token }),
      holder.proof({ ...asked, token: "another" }),
      holder.proof({ ...asked, token, claims: { iat: hour } }),
      holder.proof({ ...asked, token, claims: { jti: undefined } }),
      holder.proof({ ...asked, token, header: { typ: "jwt" } }),
      thief.proof({ ...asked, token }),
    ];
    for (const proof of await Promise.all(wrong)) expect((await present(proof)).status).toBe(401);
    expect((await present("nonsense")).status).toBe(401);
  });

  test("may be required", async () => {
    const { issuer, url } = await startProtected({ requireDpop: true });
    const answer = await call(url, await issuer.token());
    expect([answer.status, challengeOf(answer).startsWith("DPoP ")]).toEqual([401, true]);
  });
});

test.each<[string, Partial<ProtectOptions>]>([
  ["resource: expected the http(s) URL", { resource: "mcp" }],
  ["resource: expected the http(s) URL", { resource: `${resource}#part` }],
  ["issuers: expected at least one", { issuers: [] }],
  ["issuers: expected a URL", { issuers: ["auth"] }],
  ["algorithms: expected one of", { issuers: [{ issuer: "https://auth.example.com", algorithms: ["HS256"] }] }],
])("throws with %s", (message, options) => {
  expect(() => protect({ resource, issuers: ["https://auth.example.com"], ...options })).toThrow(message);
});

test("auth and verify together are an error", () => {
  const auth = protect({ resource, issuers: ["https://auth.example.com"] });
  const server = createServer({ name: "x", version: "1" });
  expect(() => serveHttp(server, { auth, verify: () => ({ key: "x" }) })).toThrow("got both");
});
