import { upstream } from "portolan-authority";
import { afterEach, expect, test, vi } from "vitest";
import { App, calledBack, introspect, post, serve, start } from "./kit.ts";

afterEach(() => vi.useRealTimers());

/** An OAuth provider without OpenID: no metadata, no ID tokens, tokens without an expiry. */
async function startPlain() {
  const codes = new Map<string, URLSearchParams>();
  const state = { users: new Map<string, object>(), asked: [] as string[], limits: [] as Record<string, string>[] };
  const origin = await serve(async () => async (request, response) => {
    const url = new URL(request.url ?? "", "http://plain");
    state.asked.push(url.pathname);
    const answer = (status: number, body: object) =>
      response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
    if (url.pathname === "/authorize") {
      const code = crypto.randomUUID();
      codes.set(code, url.searchParams);
      const back = new URLSearchParams({ code, state: url.searchParams.get("state") ?? "" });
      return response.writeHead(302, { location: `${url.searchParams.get("redirect_uri")}?${back}` }).end();
    }
    if (url.pathname === "/token") {
      const form = new URLSearchParams(Buffer.concat(await request.toArray()).toString());
      if (!codes.delete(form.get("code") ?? "") || !form.has("code_verifier"))
        return answer(400, { error: "invalid_grant" });
      const access_token = crypto.randomUUID();
      state.users.set(access_token, { id: 42, login: "mona" });
      return answer(200, { access_token, token_type: "bearer" });
    }
    const limit = state.limits.shift();
    if (limit) return response.writeHead(403, limit).end();
    const user = state.users.get(request.headers.authorization?.slice("Bearer ".length) ?? "");
    return user ? answer(200, user) : answer(401, { message: "Bad credentials" });
  });
  return { origin, ...state };
}

test("a provider without metadata and ID tokens identifies people by userinfo, and ends their sessions", async () => {
  vi.useFakeTimers({ toFake: ["Date", "performance"] });
  const plain = await startPlain();
  const started = await start({
    signIn: upstream({
      issuer: plain.origin,
      clientId: "us",
      scopes: ["user"],
      endpoints: {
        authorization: `${plain.origin}/authorize`,
        token: `${plain.origin}/token`,
        userinfo: `${plain.origin}/user`,
      },
      subjectOf: ({ id }) => String(id),
    }),
  });
  const app = await App.register(started.issuer);
  const consent = await app.browser.open(app.authorizeUrl());
  expect(consent.text).toContain(`You sign in with ${new URL(plain.origin).host}`);
  const code = calledBack(await app.browser.press(consent, "allow")).get("code") ?? "";
  const { body } = await app.redeem(code);
  expect(started.errors).toEqual([]);
  vi.advanceTimersByTime(61_000);
  expect(await introspect(started, body["access_token"])).toMatchObject({ active: true, sub: "42" });
  expect(await started.authority.upstreamToken({ subject: "42", clientId: app.clientId })).toBe(
    [...plain.users.keys()][0],
  );
  plain.users.clear();
  vi.advanceTimersByTime(61_000);
  expect(await introspect(started, body["access_token"])).toEqual({ active: false });
  expect((await app.refresh(body["refresh_token"])).body["error"]).toBe("invalid_grant");
});

test("a limit of the provider, which it tells with status 403, ends no session", async () => {
  vi.useFakeTimers({ toFake: ["Date", "performance"] });
  const plain = await startPlain();
  const started = await start({
    signIn: upstream({
      issuer: plain.origin,
      clientId: "us",
      scopes: ["user"],
      endpoints: {
        authorization: `${plain.origin}/authorize`,
        token: `${plain.origin}/token`,
        userinfo: `${plain.origin}/user`,
      },
      subjectOf: ({ id }) => String(id),
    }),
  });
  const app = await App.register(started.issuer);
  const consent = await app.browser.open(app.authorizeUrl());
  const code = calledBack(await app.browser.press(consent, "allow")).get("code") ?? "";
  const { body } = await app.redeem(code);
  plain.limits.push({ "retry-after": "60" }, { "x-ratelimit-remaining": "0" });
  vi.advanceTimersByTime(61_000);
  await introspect(started, body["access_token"]);
  await introspect(started, body["access_token"]);
  expect(plain.limits).toEqual([]);
  expect(await introspect(started, body["access_token"])).toMatchObject({ active: true, sub: "42" });
  plain.limits.push({});
  vi.advanceTimersByTime(61_000);
  expect(await introspect(started, body["access_token"])).toEqual({ active: false });
});

test("a provider without introspection and userinfo is trusted until its token expires", async () => {
  vi.useFakeTimers({ toFake: ["Date", "performance"] });
  const issued = { access_token: "upstream-token", token_type: "bearer", expires_in: 300 };
  const origin = await serve(async () => (request, response) => {
    const url = new URL(request.url ?? "", "http://plain");
    if (url.pathname === "/token") {
      response.writeHead(200, { "content-type": "application/json" });
      return response.end(JSON.stringify({ ...issued, id_token: idToken(origin, nonce) }));
    }
    nonce = url.searchParams.get("nonce") ?? "";
    const back = new URLSearchParams({ code: "x", state: url.searchParams.get("state") ?? "" });
    return response.writeHead(302, { location: `${url.searchParams.get("redirect_uri")}?${back}` }).end();
  });
  let nonce = "";
  const endpoints = { authorization: `${origin}/authorize`, token: `${origin}/token` };
  const started = await start({ signIn: upstream({ issuer: origin, clientId: "us", endpoints }) });
  const app = await App.register(started.issuer);
  const consent = await app.browser.open(app.authorizeUrl());
  const { body } = await app.redeem(calledBack(await app.browser.press(consent, "allow")).get("code") ?? "");
  vi.advanceTimersByTime(120_000);
  expect(await introspect(started, body["access_token"])).toMatchObject({ active: true, sub: "zoe" });
  vi.advanceTimersByTime(200_000);
  expect(await introspect(started, body["access_token"])).toEqual({ active: false });
  const revoked = await post(
    `${started.issuer}/token`,
    new URLSearchParams({ grant_type: "refresh_token", client_id: app.clientId, refresh_token: body["refresh_token"] }),
  );
  expect(revoked.body["error"]).toBe("invalid_grant");
});

/** An ID token that came over the connection to the provider itself, so that its signature is not checked. */
function idToken(issuer: string, nonce: string): string {
  const now = Math.floor(Date.now() / 1_000);
  const parts = [{ alg: "RS256" }, { iss: issuer, aud: "us", sub: "zoe", nonce, iat: now, exp: now + 300 }];
  return `${parts.map((part) => Buffer.from(JSON.stringify(part)).toString("base64url")).join(".")}.c2lnbmVk`;
}
