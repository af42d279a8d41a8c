import { createMemoryStorage, randomSecret, type Storage } from "portolan/storage";
import type { AuthorityEvent } from "portolan-authority";
import { afterEach, describe, expect, test, vi } from "vitest";
import { Browser, formsIn } from "./browser.ts";
import { App, calledBack, introspect, people, post, redirectUri, start } from "./kit.ts";

const seconds = (count: number) => vi.advanceTimersByTime(count * 1_000);
const letTimePass = () => vi.useFakeTimers({ toFake: ["Date", "performance"] });
afterEach(() => vi.useRealTimers());
/** Revoked tokens that are used afterwards are not found. */
const found = (events: readonly AuthorityEvent[]) => events.filter(({ type }) => type !== "not-found");

/** A storage in which the first four reads of rows of one kind wait for each other in pairs: two requests find and use one. */
function inPairs(kind: string): Storage {
  const storage = createMemoryStorage();
  let reads = 0;
  let alone: (() => void) | undefined;
  const get = async (key: string) => {
    const value = await storage.kv.get(key);
    if (!key.includes(`/${kind}/`)) return value;
    reads += 1;
    if (reads > 4) return value;
    if (alone) {
      alone();
      alone = undefined;
    } else {
      await new Promise<void>((resolve) => {
        alone = resolve;
      });
    }
    return value;
  };
  const { kv, log, bus } = storage;
  return { log, bus, kv: { get, set: kv.set.bind(kv), delete: kv.delete.bind(kv), list: kv.list.bind(kv) } };
}

describe("T52: redirect URIs", () => {
  test.each([
    ["file:///etc/passwd"],
    ["javascript:alert(1)"],
    ["data:text/html,x"],
    ["myapp:/callback"],
    ["http://example.com/callback"],
    ["http://localhost.example.com/callback"],
    ["https://user:secret@example.com/callback"],
    ["https://example.com/callback#fragment"],
    ["https://example.com/callback#"],
    ["https://*.example.com/callback"],
    ["https://example.com\\@evil.example/callback"],
    ["/callback"],
    [`https://example.com/${"x".repeat(2_000)}`],
  ])("%s is refused at registration", async (uri) => {
    const { issuer } = await start();
    const answer = await post(`${issuer}/register`, { redirect_uris: [redirectUri, uri] });
    expect([answer.status, answer.body["error"]]).toEqual([400, "invalid_redirect_uri"]);
  });

  test.each([
    ["https://example.com/callback"],
    ["http://localhost:8080/callback"],
    ["http://127.0.0.1/callback"],
    ["http://[::1]:9/callback"],
    ["com.example.app:/callback"],
  ])("%s is accepted at registration", async (uri) => {
    const { issuer } = await start();
    expect((await post(`${issuer}/register`, { redirect_uris: [uri] })).status).toBe(201);
  });

  test("of an app's scheme are accepted if the operator has listed it", async () => {
    const uri = "cursor://anysphere.example/callback";
    const refused = await start();
    expect((await post(`${refused.issuer}/register`, { redirect_uris: [uri] })).status).toBe(400);
    const { issuer } = await start({ registration: { dynamic: true, privateSchemes: ["cursor"] } });
    const app = await App.register(issuer, { redirect_uris: [uri] });
    expect((await app.login()).has("code")).toBe(true);
  });

  test.each([
    ["https://example.com/callback", "https://example.com/callback/"],
    ["https://example.com/callback", "https://example.com/callback?x=1"],
    ["https://example.com/callback", "https://example.com/Callback"],
    ["https://example.com/callback", "https://example.com:444/callback"],
    ["https://example.com/callback", "https://example.com.evil.example/callback"],
    ["https://example.com/callback", "https://EXAMPLE.com/callback"],
    ["http://127.0.0.1:9999/callback", "http://localhost:9999/callback"],
    ["http://127.0.0.1:9999/callback", "http://127.0.0.1:9999/other"],
    ["http://127.0.0.1:9999/callback", "http://x@127.0.0.1:9999/callback"],
    ["http://127.0.0.1:9999/callback", "https://127.0.0.1:9999/callback"],
  ])("registered as %s do not allow %s", async (registered, used) => {
    const { issuer } = await start();
    const app = await App.register(issuer, { redirect_uris: [registered] });
    const nowhere = new Browser(() => false);
    const { status, text, headers } = await nowhere.open(app.authorizeUrl({ redirect_uri: used }));
    expect([status, headers.get("location")]).toEqual([400, null]);
    expect(text).toContain("has not registered");
  });

  test("on loopback may use another port, which the code is then bound to", async () => {
    const { issuer } = await start();
    const registered = await App.register(issuer);
    const app = new App(issuer, { clientId: registered.clientId, redirectUri: "http://127.0.0.1:1234/callback" });
    const code = (await app.login()).get("code") ?? "";
    expect((await app.redeem(code, { redirect_uri: redirectUri })).body["error"]).toBe("invalid_grant");
    expect((await app.redeem(code)).status).toBe(200);
  });

  test("of an unknown client are never used", async () => {
    const { issuer } = await start();
    const app = new App(issuer, { clientId: "made-up" }, new Browser(() => false));
    const { status, text } = await app.browser.open(app.authorizeUrl());
    expect(status).toBe(400);
    expect(text).toContain("is not known");
  });

  test("get the response in the query only", async () => {
    const { issuer } = await start();
    const app = await App.register(issuer, { response_modes: ["form_post", "fragment"] });
    for (const response_mode of ["form_post", "fragment", "web_message"]) {
      expect((await app.browser.open(app.authorizeUrl({ response_mode }))).status).toBe(400);
    }
  });
});

describe("T53: a code", () => {
  test("that is used twice revokes the tokens it was exchanged for", async () => {
    const started = await start({ accessTokens: "opaque" });
    const app = await App.register(started.issuer);
    const code = (await app.login()).get("code") ?? "";
    const { body } = await app.redeem(code);
    expect((await introspect(started, body["access_token"]))["active"]).toBe(true);
    const again = await app.redeem(code);
    expect([again.status, again.body["error"]]).toEqual([400, "invalid_grant"]);
    expect(await introspect(started, body["access_token"])).toEqual({ active: false });
    expect((await app.refresh(body["refresh_token"])).body["error"]).toBe("invalid_grant");
    expect(found(started.events).at(-1)).toEqual({ type: "replayed", what: "code", clientId: app.clientId });
  });

  test("that is used many times in parallel gives tokens at most once, and none that last", async () => {
    const started = await start({ accessTokens: "opaque" });
    const app = await App.register(started.issuer);
    const code = (await app.login()).get("code") ?? "";
    const answers = await Promise.all(Array.from({ length: 8 }, () => app.redeem(code)));
    const given = answers.filter(({ status }) => status === 200);
    expect(given.length).toBeLessThanOrEqual(1);
    expect(answers.filter(({ body }) => body["error"] === "invalid_grant")).toHaveLength(8 - given.length);
    for (const { body } of given) expect(await introspect(started, body["access_token"])).toEqual({ active: false });
    expect(started.errors).toEqual([]);
  });

  test("that two parallel requests find unused is a replay for the second", async () => {
    const started = await start({
      accessTokens: "opaque",
      storage: inPairs("AuthorizationCode"),
      secrets: [randomSecret()],
    });
    const app = await App.register(started.issuer);
    const code = (await app.login()).get("code") ?? "";
    const answers = await Promise.all([app.redeem(code), app.redeem(code)]);
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 400]);
    const given = answers.find(({ status }) => status === 200)?.body ?? {};
    expect(await introspect(started, given["access_token"])).toEqual({ active: false });
    expect((await app.refresh(given["refresh_token"])).body["error"]).toBe("invalid_grant");
    expect(started.events.some((event) => event.type === "replayed" && event.what === "code")).toBe(true);
  });

  test("is valid for its client, redirect URI, verifier and server only", async () => {
    const { issuer } = await start();
    const [app, other] = [await App.register(issuer), await App.register(issuer)];
    const code = (await app.login()).get("code") ?? "";
    for (const wrong of [
      { client_id: other.clientId },
      { redirect_uri: "http://127.0.0.1:9999/other" },
      { redirect_uri: "http://127.0.0.1:9998/callback" },
      { code_verifier: "x".repeat(43) },
      { code_verifier: "" },
    ]) {
      const { status, body } = await app.redeem(code, wrong);
      expect([wrong, status, body["error"]]).toEqual([wrong, 400, "invalid_grant"]);
    }
    expect((await app.redeem(code, { resource: "https://elsewhere.example" })).body["error"]).toBe("invalid_target");
  });

  test("expires after a minute", async () => {
    letTimePass();
    const { issuer } = await start();
    const app = await App.register(issuer);
    const code = (await app.login()).get("code") ?? "";
    seconds(61);
    expect((await app.redeem(code)).body["error"]).toBe("invalid_grant");
  });
});

describe("T54: a refresh token", () => {
  test("of a public client is replaced each time", async () => {
    const { issuer, events } = await start();
    const app = await App.register(issuer);
    const first = (await app.loginForTokens()).body["refresh_token"];
    const { status, body } = await app.refresh(first);
    expect(status).toBe(200);
    expect(body["refresh_token"]).not.toBe(first);
    expect(events.at(-1)).toMatchObject({ type: "token-refreshed", subject: "ada" });
  });

  test("that is used twice within ten seconds gets the same response, even in parallel", async () => {
    const { issuer, errors } = await start();
    const app = await App.register(issuer);
    const first = (await app.loginForTokens()).body["refresh_token"];
    const answers = await Promise.all(Array.from({ length: 8 }, () => app.refresh(first)));
    expect(answers.map(({ status }) => status)).toEqual(Array(8).fill(200));
    expect(new Set(answers.map(({ body }) => JSON.stringify(body))).size).toBe(1);
    const again = await app.refresh(first);
    expect([again.status, again.body, again.headers.get("cache-control")]).toEqual([200, answers[0]?.body, "no-store"]);
    expect((await app.refresh(again.body["refresh_token"])).status).toBe(200);
    expect(errors).toEqual([]);
  });

  test("that two parallel requests find unused gets one response", async () => {
    const { issuer } = await start({ storage: inPairs("RefreshToken"), secrets: [randomSecret()] });
    const app = await App.register(issuer);
    const first = (await app.loginForTokens()).body["refresh_token"];
    const [one, two] = await Promise.all([app.refresh(first), app.refresh(first)]);
    expect([one.status, two.status, two.body]).toEqual([200, 200, one.body]);
  });

  test("that is used again later revokes everything issued from it", async () => {
    letTimePass();
    const started = await start({ accessTokens: "opaque" });
    const app = await App.register(started.issuer);
    const first = (await app.loginForTokens()).body["refresh_token"];
    const { body } = await app.refresh(first);
    seconds(11);
    const replayed = await app.refresh(first);
    expect([replayed.status, replayed.body["error"]]).toEqual([400, "invalid_grant"]);
    expect((await app.refresh(body["refresh_token"])).body["error"]).toBe("invalid_grant");
    expect(await introspect(started, body["access_token"])).toEqual({ active: false });
    expect(found(started.events).at(-1)).toEqual({ type: "replayed", what: "refresh-token", clientId: app.clientId });
  });

  test("is refused from another client, even right after its own", async () => {
    const { issuer } = await start();
    const [app, other] = [await App.register(issuer), await App.register(issuer)];
    const first = (await app.loginForTokens()).body["refresh_token"];
    expect((await other.refresh(first)).body["error"]).toBe("invalid_grant");
    expect((await app.refresh(first)).status).toBe(200);
    expect((await other.refresh(first)).body["error"]).toBe("invalid_grant");
  });

  test("lasts as long as it is used", async () => {
    letTimePass();
    const { issuer } = await start({ refreshTokenSeconds: 100 * 24 * 3_600 });
    const app = await App.register(issuer);
    let token = (await app.loginForTokens()).body["refresh_token"];
    for (let times = 0; times < 5; times += 1) {
      seconds(99 * 24 * 3_600);
      const { status, body } = await app.refresh(token);
      expect(status).toBe(200);
      token = body["refresh_token"];
    }
    seconds(101 * 24 * 3_600);
    expect((await app.refresh(token)).status).not.toBe(200);
  });
});

describe("T55: registration", () => {
  test("is off by default", async () => {
    const { issuer } = await start({ registration: {} });
    expect((await post(`${issuer}/register`, { redirect_uris: [redirectUri] })).status).toBe(404);
    const metadata = await (await fetch(`${issuer}/.well-known/openid-configuration`)).json();
    expect(metadata).not.toHaveProperty("registration_endpoint");
  });

  test("is limited for each IP address", async () => {
    const { issuer } = await start({ registration: { dynamic: true, perHour: 3 } });
    const register = () => post(`${issuer}/register`, { redirect_uris: [redirectUri] });
    const answers = await Promise.all(Array.from({ length: 6 }, register));
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 201, 201, 429, 429, 429]);
  });

  test("refuses metadata that is too long", async () => {
    const { issuer } = await start();
    const named = (length: number) =>
      post(`${issuer}/register`, { redirect_uris: [redirectUri], client_name: "n".repeat(length) });
    expect((await named(200)).status).toBe(201);
    expect((await named(201)).body["error"]).toBe("invalid_client_metadata");
    expect((await named(20_000)).status).toBe(413);
    const redirect_uris = Array.from({ length: 21 }, (_, index) => `${redirectUri}/${index}`);
    expect((await post(`${issuer}/register`, { redirect_uris })).status).toBe(400);
  });

  test("removes unsupported values, and returns the rest", async () => {
    const { issuer } = await start();
    const { status, body } = await post(`${issuer}/register`, {
      redirect_uris: ["http://localhost/", "https://editor.example/redirect"],
      grant_types: ["authorization_code", "refresh_token", "urn:ietf:params:oauth:grant-type:device_code"],
      response_types: ["code", "token"],
      response_modes: ["form_post"],
      token_endpoint_auth_method: "none",
      application_type: "native",
      scope: "notes:read everything offline_access",
      id_token_signed_response_alg: "RS256",
      software_id: "editor",
    });
    expect(status).toBe(201);
    expect(body).toMatchObject({
      grant_types: ["authorization_code", "refresh_token"],
      response_types: ["code"],
      response_modes: ["query"],
      token_endpoint_auth_method: "none",
    });
    expect(body).not.toHaveProperty("scope");
  });

  test("is allowed to a page for its own origin only", async () => {
    const { issuer } = await start();
    const register = (origin: string) =>
      post(`${issuer}/register`, { redirect_uris: ["https://app.example/cb"] }, { origin });
    const allowed = async (origin: string) => (await register(origin)).headers.get("access-control-allow-origin");
    expect([
      await allowed("https://app.example"),
      await allowed("https://evil.example"),
      await allowed("null"),
    ]).toEqual(["https://app.example", null, null]);
  });

  test("is deleted if it is never used, and kept otherwise", async () => {
    letTimePass();
    const { issuer } = await start();
    const [used, unused] = [await App.register(issuer), await App.register(issuer)];
    await used.loginForTokens();
    seconds(25 * 3_600);
    expect((await used.browser.open(used.authorizeUrl())).text).toContain("Sign in to Acme");
    expect((await unused.browser.open(unused.authorizeUrl())).text).toContain("is not known");
  });

  test("cannot disguise a name on a page", async () => {
    const { issuer } = await start();
    const client_name = '<script>alert(1)</script>\u202Eelgoog" onclick=x';
    const app = await App.register(issuer, { client_name });
    const { text } = await app.signIn();
    expect(text).toContain("“&lt;script&gt;alert(1)&lt;/script&gt; elgoog&quot; onclick=x” wants access");
    expect(text).not.toMatch(/<script|\u202E/);
  });

  test("shows on the consent page who asks, where it leads, and that the name is not verified", async () => {
    const { issuer } = await start();
    const local = (await (await App.register(issuer)).signIn()).text;
    expect(local).toContain("sent back to</dt><dd><strong>127.0.0.1:9999</strong>");
    expect(local).toContain("Nobody has verified that name");
    expect(local).toContain("any program here can claim this name");
    const web = await App.register(issuer, { redirect_uris: ["https://app.example/callback"] });
    const { text } = await web.signIn();
    expect(text).toContain("sent back to</dt><dd><strong>app.example</strong>");
    expect(text).toContain("Do you know this app?");
  });
});

describe("T57: pages", () => {
  test("cannot be framed, cached or scripted, and send no referrer", async () => {
    const { issuer } = await start();
    const app = await App.register(issuer);
    const signIn = await app.browser.open(app.authorizeUrl());
    const wrong = await app.browser.press(signIn, "sign-in", { name: "ada", password: "wrong" });
    const consent = await app.browser.press(signIn, "sign-in", { name: "ada", password: "correct horse" });
    const problem = await app.browser.open(app.authorizeUrl({ client_id: "nobody" }));
    const expired = await app.browser.open(`${issuer}/page/made-up`);
    const begun = await app.browser.fetch(app.authorizeUrl());
    const [form] = formsIn(consent);
    const body = new URLSearchParams({ ...form?.hidden, do: "allow" });
    const leaving = await app.browser.fetch(new URL(form?.action ?? "", issuer).href, { method: "POST", body });
    expect([begun.status, leaving.status]).toEqual([303, 200]);
    for (const { headers, text } of [signIn, wrong, consent, problem, expired, begun, leaving]) {
      const policy = headers.get("content-security-policy") ?? "";
      expect(policy).toContain("default-src 'none'");
      expect(policy).toContain("frame-ancestors 'none'");
      expect(policy).toContain("form-action 'self'");
      expect(headers.get("x-frame-options")).toBe("DENY");
      expect(headers.get("cache-control")).toBe("no-store");
      expect(headers.get("referrer-policy")).toBe("no-referrer");
      expect(text).not.toMatch(/<script|src=|javascript:/i);
    }
  });

  test("refuse forms of another site or browser", async () => {
    const { issuer, events } = await start();
    const app = await App.register(issuer);
    const consent = await app.signIn();
    const [form] = formsIn(consent);
    const action = new URL(form?.action ?? "", issuer).href;
    const send = (fields: Record<string, string>, headers: Record<string, string> = {}, browser = app.browser) =>
      browser.fetch(action, { method: "POST", body: new URLSearchParams({ do: "allow", ...fields }), headers });
    expect((await send({})).status).toBe(403);
    expect((await send({ token: "x".repeat(43) })).status).toBe(403);
    expect((await send({ ...form?.hidden }, { "sec-fetch-site": "cross-site" })).status).toBe(403);
    expect((await send({ ...form?.hidden }, {}, new Browser(() => false))).status).toBe(400);
    const stolen = new Browser(() => false);
    stolen.cookies.push(...app.browser.cookies.filter(({ name }) => !name.endsWith("-browser")));
    expect((await send({ ...form?.hidden }, {}, stolen)).status).toBe(403);
    expect(events.some(({ type }) => type === "allowed")).toBe(false);
    expect(calledBack(await app.browser.press(consent, "allow")).has("code")).toBe(true);
  });

  test("use cookies that scripts and other sites do not get, and with https no other host can set", async () => {
    const { issuer } = await start();
    const app = await App.register(issuer);
    await app.login();
    expect(app.browser.cookies.length).toBeGreaterThan(2);
    for (const { name, attributes } of app.browser.cookies) {
      expect([name, attributes]).toEqual([name, expect.stringMatching(/httponly/i)]);
      expect(attributes).toMatch(/samesite=lax/i);
    }
    const { address: http, authority } = await start({ issuer: "https://auth.example" });
    expect(authority.protection.issuer).toBe("https://auth.example");
    const secure = await App.register(http);
    const begun = await secure.browser.fetch(secure.authorizeUrl());
    const page = await fetch(`${http}${new URL(begun.headers.get("location") ?? "", http).pathname}`, {
      headers: { cookie: secure.browser.cookieFor(`${http}${begun.headers.get("location")}`) },
    });
    expect(page.headers.get("strict-transport-security")).toContain("max-age");
    const set = [...begun.headers.getSetCookie(), ...page.headers.getSetCookie()];
    expect(set.some((line) => line.startsWith("__Host-"))).toBe(true);
    for (const line of set) {
      expect(line).toMatch(/^__(Host|Secure)-.*; secure/i);
      if (line.startsWith("__Host-")) expect(line).toMatch(/path=\/(;|$)/i);
    }
  });
});

describe("stored data", () => {
  test("requires secrets", async () => {
    await expect(start({ storage: createMemoryStorage() })).rejects.toThrow("secrets: expected at least one");
  });

  test("expires, except for the keys", async () => {
    letTimePass();
    const storage = createMemoryStorage();
    const { issuer } = await start({ storage, secrets: [randomSecret()], signIn: people() });
    const app = await App.register(issuer);
    await app.loginForTokens();
    await app.browser.open(app.authorizeUrl());
    expect((await storage.kv.list("")).length).toBeGreaterThan(8);
    seconds(365 * 24 * 3_600);
    const left = (await storage.kv.list("")).map(({ key }) => key.split("/")[2]);
    expect(left.sort()).toEqual(["introspection-secret", "sealing-since", "signing-key"]);
  });
});
