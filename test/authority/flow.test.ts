import { writeFileSync } from "node:fs";
import express from "express";
import { decodeJwt, decodeProtectedHeader } from "jose";
import { protect } from "portolan/auth/server";
import { createServer } from "portolan/server";
import { serveHttp } from "portolan/server/http";
import { type Authority, createAuthority, developmentUser } from "portolan-authority";
import { describe, expect, onTestFinished, test } from "vitest";
import { KeyHolder } from "../auth/issuer.ts";
import { send } from "../http/kit.ts";
import { toHeaders, toMeta } from "../http/peer.ts";
import { App, calledBack, people, post, redirectUri, resource, type Started, serve, start } from "./kit.ts";

/** A server that accepts tokens of an authority, with one tool that returns the caller. */
async function whoami({ authority }: Started, token: string): Promise<unknown> {
  const auth = protect({ resource, issuers: [authority.protection], scopes: ["notes:read"] });
  const server = createServer({ name: "notes", version: "1.0.0" }).tool("whoami", {
    run: (_, { principal }) => JSON.stringify([principal.subject, principal.clientId, principal.scopes]),
  });
  const serving = serveHttp(server, { auth });
  onTestFinished(() => serving.close(0));
  const { url } = await serving.listen(0);
  const body = {
    jsonrpc: "2.0",
    id: 1,
    method: "tools/call",
    params: { name: "whoami", arguments: {}, _meta: toMeta() },
  };
  const headers = { ...toHeaders("tools/call", "whoami"), authorization: `Bearer ${token}` };
  const answer = await send(url, { headers, body });
  return answer.status === 200 ? JSON.parse((await answer.json()).result.content[0].text) : answer.status;
}

describe("metadata", () => {
  test("has everything that an MCP client needs, with the exact issuer", async () => {
    const { issuer } = await start();
    for (const name of ["oauth-authorization-server", "openid-configuration"]) {
      const response = await fetch(`${issuer}/.well-known/${name}`);
      expect(response.headers.get("access-control-allow-origin")).toBe("*");
      expect(await response.json()).toMatchObject({
        issuer,
        authorization_endpoint: `${issuer}/authorize`,
        token_endpoint: `${issuer}/token`,
        registration_endpoint: `${issuer}/register`,
        revocation_endpoint: `${issuer}/revoke`,
        introspection_endpoint: `${issuer}/introspect`,
        jwks_uri: `${issuer}/jwks`,
        response_types_supported: ["code"],
        response_modes_supported: ["query"],
        grant_types_supported: ["authorization_code", "refresh_token"],
        code_challenge_methods_supported: ["S256"],
        authorization_response_iss_parameter_supported: true,
        client_id_metadata_document_supported: true,
        scopes_supported: ["notes:read", "notes:write", "offline_access"],
      });
    }
  });

  test("is found before and behind the path of an issuer", async () => {
    const { issuer } = await start({}, "/tenants/acme");
    const { origin } = new URL(issuer);
    for (const place of [
      `${origin}/.well-known/oauth-authorization-server/tenants/acme`,
      `${origin}/.well-known/openid-configuration/tenants/acme`,
      `${issuer}/.well-known/openid-configuration`,
    ]) {
      expect([place, (await (await fetch(place)).json()).issuer]).toEqual([place, issuer]);
    }
    expect((await fetch(`${origin}/.well-known/oauth-authorization-server`)).status).toBe(404);
  });

  test("uses the issuer, whatever host a request names", async () => {
    const { issuer } = await start();
    const headers = { host: "evil.example", "x-forwarded-host": "evil.example", "x-forwarded-proto": "https" };
    const answer = await send(`${issuer}/.well-known/openid-configuration`, { method: "GET", headers });
    expect(JSON.stringify(await answer.json())).not.toContain("evil");
  });
});

describe("a login", () => {
  test.each([
    ["", ""],
    ["below a path", "/auth"],
  ])("%s ends in tokens that a protected server accepts", async (_, path) => {
    const started = await start({}, path);
    const app = await App.register(started.issuer);
    const query = await app.login();
    expect([query.get("state"), query.get("iss")]).toEqual(["some-state", started.issuer]);
    const { status, body, headers } = await app.redeem(query.get("code") ?? "");
    expect([status, headers.get("cache-control")]).toEqual([200, "no-store"]);
    expect(body).toMatchObject({ token_type: "Bearer", expires_in: 600, scope: "notes:read" });
    expect(decodeProtectedHeader(body["access_token"])).toMatchObject({ alg: "ES256", typ: "at+jwt" });
    expect(decodeJwt(body["access_token"])).toMatchObject({ iss: started.issuer, aud: resource, sub: "ada" });
    expect(await whoami(started, body["access_token"])).toEqual(["ada", app.clientId, ["notes:read"]]);
    expect(started.errors).toEqual([]);
    expect(started.events.map(({ type }) => type)).toEqual([
      "client-registered",
      "signed-in",
      "allowed",
      "token-issued",
    ]);
    expect(JSON.stringify(started.events)).not.toContain(body["refresh_token"]);
  });

  test("succeeds although the listener for events throws, and the error is reported", async () => {
    const { issuer, errors } = await start({
      onEvent: () => {
        throw new Error("the log is full");
      },
    });
    const app = await App.register(issuer);
    const { status } = await app.redeem((await app.login()).get("code") ?? "");
    expect(status).toBe(200);
    expect(errors.map(String)).toContain("Error: the log is full");
  });

  test.each([undefined, "", "offline_access"])(
    "requests all scopes of the only server for the scope %j",
    async (scope) => {
      const { issuer } = await start();
      const app = await App.register(issuer);
      const consent = await app.signIn("ada", { scope, resource: undefined });
      expect(consent.text).toContain("Read your notes");
      expect(consent.text).toContain("Change your notes");
      const { body } = await app.redeem(calledBack(await app.browser.press(consent, "allow")).get("code") ?? "");
      expect(body["scope"]).toContain("notes:read notes:write");
      expect(decodeJwt(body["access_token"]).aud).toBe(resource);
    },
  );

  test("may name a server at the root of its host with a slash, and gets tokens for the exact resource", async () => {
    const bare = "http://localhost:3000";
    const { issuer } = await start({ resources: [{ resource: bare, scopes: { "notes:read": "Read your notes" } }] });
    const app = await App.register(issuer);
    const { body } = await app.loginForTokens("ada", { resource: `${bare}/` });
    expect(decodeJwt(body["access_token"]).aud).toBe(bare);
    expect((await app.refresh(body["refresh_token"])).status).toBe(200);
  });

  test("grants no more than was requested and exists", async () => {
    const { issuer } = await start();
    const app = await App.register(issuer);
    const { body } = await app.loginForTokens("ada", { scope: "notes:write everything" });
    expect(body["scope"]).toBe("notes:write");
  });

  test("that is denied returns access_denied to the client", async () => {
    const { issuer, events } = await start();
    const app = await App.register(issuer);
    const query = calledBack(await app.browser.press(await app.signIn(), "deny"));
    expect([query.get("error"), query.get("iss"), query.get("state")]).toEqual(["access_denied", issuer, "some-state"]);
    expect(events.at(-1)).toMatchObject({ type: "denied", subject: "ada" });
  });

  test("returns errors of the request to the client, with the issuer", async () => {
    const { issuer } = await start({
      resources: [resource, `${resource}2`].map((one) => ({ resource: one, scopes: { a: "A" } })),
    });
    const app = await App.register(issuer);
    for (const [parameters, error] of [
      [{ code_challenge: undefined, code_challenge_method: undefined }, "invalid_request"],
      [{ code_challenge_method: "plain" }, "invalid_request"],
      [{ response_type: "token" }, "invalid_request"],
      [{ scope: "everything" }, "invalid_scope"],
      [{ resource: "https://elsewhere.example/mcp" }, "invalid_target"],
      [{ resource: undefined }, "invalid_target"],
      [{ resource: `${resource}/` }, "invalid_target"],
    ] as const) {
      const query = calledBack(await app.browser.open(app.authorizeUrl(parameters)));
      expect([parameters, query.get("error"), query.get("iss")]).toEqual([parameters, error, issuer]);
    }
  });

  test("is remembered by the browser, asks for consent each time, and can switch the person", async () => {
    const { issuer } = await start();
    const app = await App.register(issuer);
    await app.login();
    const again = await app.browser.open(app.authorizeUrl());
    expect(again.text).toContain("Signed in as</dt><dd>Ada Lovelace");
    const signIn = await app.browser.press(again, "switch");
    const consent = await app.browser.press(signIn, "sign-in", { name: "bob", password: "correct horse" });
    expect(consent.text).toContain("Signed in as</dt><dd>bob");
    const { body } = await app.redeem(calledBack(await app.browser.press(consent, "allow")).get("code") ?? "");
    expect(decodeJwt(body["access_token"]).sub).toBe("bob");
  });

  test("as another person replaces the session", async () => {
    const { issuer } = await start();
    const app = await App.register(issuer);
    await app.login();
    const { body } = await app.redeem((await app.login("bob", { prompt: "login" })).get("code") ?? "");
    expect(decodeJwt(body["access_token"]).sub).toBe("bob");
  });

  test("works in two tabs at once", async () => {
    const { issuer } = await start();
    const app = await App.register(issuer);
    await app.login();
    const [one, two] = [await app.browser.open(app.authorizeUrl()), await app.browser.open(app.authorizeUrl())];
    for (const page of [one, two]) expect(calledBack(await app.browser.press(page, "allow")).has("code")).toBe(true);
  });

  test("of a client with a secret works with that secret only", async () => {
    const clients = [{ clientId: "web", clientSecret: "s:e c", redirectUris: [redirectUri], name: "Web app" }];
    const { issuer } = await start({ clients, registration: {} });
    const app = new App(issuer, { clientId: "web", clientSecret: "s%3Ae%20c" });
    const consent = await app.signIn();
    expect(consent.text).toContain("Web app, known to this server");
    const code = calledBack(await app.browser.press(consent, "allow")).get("code") ?? "";
    const wrong = { authorization: `Basic ${btoa("web:other")}` };
    expect((await app.redeem(code, {}, wrong)).body["error"]).toBe("invalid_client");
    const { status, body } = await app.redeem(code);
    expect(status).toBe(200);
    expect((await app.refresh(body["refresh_token"])).status).toBe(200);
  });

  test("with a DPoP key binds the tokens to that key", async () => {
    const { issuer } = await start();
    const app = await App.register(issuer);
    const holder = await KeyHolder.create();
    const proof = async (key = holder) => ({
      dpop: await key.proof({ method: "POST", url: `${issuer}/token`, token: "" }),
    });
    const { body } = await app.redeem((await app.login()).get("code") ?? "", {}, await proof());
    expect(body["token_type"]).toBe("DPoP");
    expect(decodeJwt(body["access_token"])["cnf"]).toEqual({ jkt: holder.thumbprint });
    const again = await proof();
    const repeated = await Promise.all([1, 2].map(() => app.refresh(body["refresh_token"], again)));
    expect(repeated.map(({ status }) => status).sort()).toEqual([200, 400]);
    const thief = await app.refresh(body["refresh_token"], await proof(await KeyHolder.create()));
    expect([thief.status, thief.body["error"]]).toEqual([400, "invalid_grant"]);
    expect((await app.refresh(body["refresh_token"], await proof())).body["token_type"]).toBe("DPoP");
  });
});

describe("a person", () => {
  test("who cannot sign in gets the same message for every reason", async () => {
    const { issuer, events } = await start();
    const app = await App.register(issuer);
    const page = await app.browser.open(app.authorizeUrl());
    const wrong = await app.browser.press(page, "sign-in", { name: "ada", password: "wrong" });
    const unknown = await app.browser.press(page, "sign-in", { name: "eve", password: "wrong" });
    expect([wrong.status, unknown.status]).toEqual([401, 401]);
    expect(wrong.text.replaceAll("ada", "eve")).toBe(unknown.text);
    expect(events.at(-1)).toEqual({ type: "sign-in-failed", reason: "credentials", address: "127.0.0.1" });
  });

  test("has a limited number of attempts", async () => {
    const signIn = people();
    const tried: string[] = [];
    const counting = { ...signIn, verify: async (name: string) => void tried.push(name) };
    const { issuer } = await start({ signIn: counting });
    const app = await App.register(issuer);
    const page = await app.browser.open(app.authorizeUrl());
    const guesses = Array.from({ length: 15 }, () =>
      app.browser.press(page, "sign-in", { name: "ada", password: "x" }),
    );
    const statuses = (await Promise.all(guesses)).map(({ status }) => status);
    expect([statuses.filter((one) => one === 401).length, tried.length]).toEqual([10, 10]);
    expect(statuses.filter((one) => one === 429)).toHaveLength(5);
  });

  test("who knows the password is not limited", async () => {
    const { issuer } = await start();
    const app = await App.register(issuer);
    for (let times = 0; times < 12; times += 1) {
      expect((await app.signIn("ada", { prompt: "login" })).text).toContain("wants access");
    }
  });

  test("who was removed gets no new tokens", async () => {
    const signIn = people();
    const { issuer } = await start({ signIn });
    const app = await App.register(issuer);
    const { body } = await app.loginForTokens();
    writeFileSync(signIn.path, JSON.stringify({ users: [] }));
    expect((await app.refresh(body["refresh_token"])).body["error"]).toBe("invalid_grant");
  });
});

describe("for development", () => {
  test("one person allows everything without a page or a cookie", async () => {
    const started = await start({ signIn: developmentUser("alice") });
    const app = await App.register(started.issuer);
    const response = await fetch(app.authorizeUrl({ scope: undefined }), { redirect: "manual" });
    const query = new URL(response.headers.get("location") ?? "").searchParams;
    expect([query.get("state"), query.get("iss")]).toEqual(["some-state", started.issuer]);
    const { body } = await app.redeem(query.get("code") ?? "");
    expect(await whoami(started, body["access_token"])).toEqual(["alice", app.clientId, ["notes:read", "notes:write"]]);
  });

  test("works on loopback only", async () => {
    const resources = [{ resource, scopes: { a: "A" } }];
    const options = { issuer: "https://auth.example", name: "Acme", resources, signIn: developmentUser("alice") };
    await expect(createAuthority(options)).rejects.toThrow("developmentUser: lets everybody in");
  });
});

describe("a grant", () => {
  test("ends when the client revokes a token", async () => {
    const { issuer, events } = await start();
    const [app, other] = [await App.register(issuer), await App.register(issuer)];
    const { body } = await app.loginForTokens();
    const revoke = (client_id: string) =>
      post(`${issuer}/revoke`, new URLSearchParams({ token: body["refresh_token"], client_id }));
    await revoke(other.clientId);
    expect((await revoke(app.clientId)).status).toBe(200);
    expect(events.filter(({ type }) => type === "revoked")).toEqual([
      { type: "revoked", subject: "ada", clientId: app.clientId },
    ]);
    expect((await app.refresh(body["refresh_token"])).body["error"]).toBe("invalid_grant");
  });

  test("ends when the operator revokes it, for a person, a client or both", async () => {
    const { issuer, authority } = await start();
    const [one, two] = [await App.register(issuer), await App.register(issuer)];
    const ada = (await one.loginForTokens("ada")).body["refresh_token"];
    const adaElsewhere = (await two.loginForTokens("ada")).body["refresh_token"];
    await authority.revoke({ subject: "ada", clientId: two.clientId });
    expect((await two.refresh(adaElsewhere)).status).toBe(400);
    const renewed = await one.refresh(ada);
    expect(renewed.status).toBe(200);
    await authority.revoke({ clientId: one.clientId });
    expect((await one.refresh(renewed.body["refresh_token"])).status).toBe(400);
    const bob = (await (await App.register(issuer)).loginForTokens("bob")).body["refresh_token"];
    await authority.revoke({ subject: "bob" });
    expect((await two.refresh(bob)).status).toBe(400);
  });

  test("is visible to servers and to its own client, and to no other client", async () => {
    const started = await start({ accessTokens: "opaque" });
    const [app, other] = [await App.register(started.issuer), await App.register(started.issuer)];
    const { body } = await app.loginForTokens();
    const ask = (client_id: string) =>
      post(`${started.issuer}/introspect`, new URLSearchParams({ token: body["access_token"], client_id }));
    expect((await ask(app.clientId)).body).toMatchObject({ active: true, sub: "ada" });
    expect((await ask(other.clientId)).body).toEqual({ active: false });
    expect((await ask("made-up")).status).toBe(401);
  });

  test("is checked at once where tokens are opaque", async () => {
    const started = await start({ accessTokens: "opaque" });
    const app = await App.register(started.issuer);
    const { body } = await app.loginForTokens();
    expect(await whoami(started, body["access_token"])).toEqual(["ada", app.clientId, ["notes:read"]]);
    await started.authority.revoke({ subject: "ada" });
    expect(await whoami(started, body["access_token"])).toBe(401);
  });
});

test("forms that a framework has already parsed are accepted", async () => {
  let authority: Authority | undefined;
  const issuer = await serve(async (issuer) => {
    const resources = [{ resource, scopes: { "notes:read": "Read your notes" } }];
    const clients = [{ clientId: "app", redirectUris: [redirectUri] }];
    authority = await createAuthority({ issuer, name: "Acme", resources, signIn: people(), clients });
    return express().use(express.urlencoded()).use(authority.handle);
  });
  expect((await new App(issuer, { clientId: "app" }).loginForTokens()).status).toBe(200);
  await authority?.close();
});

test("after close() nothing is served, and foreign paths never are", async () => {
  const { issuer, authority } = await start({}, "/auth");
  const { origin } = new URL(issuer);
  for (const path of ["/elsewhere", "/jwks", "/auth", "/auth/mcp", "/auth/page/", "/auth/page/a/b", "/authorize"]) {
    expect([path, (await fetch(origin + path)).status]).toEqual([path, 404]);
  }
  await authority.close();
  expect((await fetch(`${issuer}/jwks`)).status).toBe(503);
});
