import { inspect } from "node:util";
import { createMemoryStorage, randomSecret, type Storage } from "portolan/storage";
import { type AuthorityOptions, upstream } from "portolan-authority";
import { afterEach, describe, expect, test, vi } from "vitest";
import { Browser } from "./browser.ts";
import { createDisk } from "./disk.ts";
import { App, calledBack, introspect, type Started, start } from "./kit.ts";
import { UpstreamProvider, type UpstreamProviderOptions } from "./upstream-provider.ts";

interface Both extends Started {
  readonly remote: UpstreamProvider;
}

/** An authority that lets people sign in with an upstream provider. */
async function startBoth(
  remoteOptions: Partial<UpstreamProviderOptions> = {},
  options: Partial<AuthorityOptions> = {},
): Promise<Both> {
  let remote: UpstreamProvider | undefined;
  // The URLs are known only when both listen, so the authority gets that of the provider late.
  const signIn = upstream({
    issuer: "http://127.0.0.1:1",
    clientId: "authority",
    clientSecret: "between-the-two",
    name: "Big Provider",
    scopes: ["openid"],
  });
  const late = {
    ...signIn,
    get issuer() {
      return remote?.issuer ?? "http://127.0.0.1:1";
    },
  };
  const started = await start({ signIn: late, ...options });
  remote = await UpstreamProvider.start({ redirectUri: `${started.issuer}/callback`, ...remoteOptions });
  return { ...started, remote };
}

/** A storage that cannot write upstream tokens while `failing.isOn`. */
function createFailingTokens() {
  const inner = createMemoryStorage();
  const failing = { isOn: false };
  const { kv, log, bus } = inner;
  const set: Storage["kv"]["set"] = async (key, ...rest) => {
    const isToken = key.includes("/upstream/") && !key.endsWith("/lock");
    if (failing.isOn && isToken) throw Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" });
    return kv.set(key, ...rest);
  };
  const storage: Storage = {
    log,
    bus,
    kv: { set, get: kv.get.bind(kv), delete: kv.delete.bind(kv), list: kv.list.bind(kv) },
  };
  return { storage, failing };
}

/** Allows, and signs in at the upstream provider. */
async function login(app: App): Promise<URLSearchParams> {
  const consent = await app.browser.open(app.authorizeUrl());
  return calledBack(await app.browser.press(consent, "allow"));
}

async function loginForTokens(app: App) {
  return (await app.redeem((await login(app)).get("code") ?? "")).body;
}

const minutes = (count: number) => vi.advanceTimersByTime(count * 60_000);
afterEach(() => vi.useRealTimers());
const letTimePass = () => vi.useFakeTimers({ toFake: ["Date", "performance"] });

describe("signing in with an upstream provider", () => {
  test("asks for consent here first, and ends in tokens of the authority", async () => {
    const { issuer, remote, errors, events, ...rest } = await startBoth();
    const app = await App.register(issuer);
    const consent = await app.browser.open(app.authorizeUrl());
    expect(consent.text).toContain("You sign in with Big Provider");
    expect(remote.countOf("GET /auth")).toBe(0);
    const query = calledBack(await app.browser.press(consent, "allow"));
    expect([query.get("iss"), query.get("state")]).toEqual([issuer, "some-state"]);
    const { body } = await app.redeem(query.get("code") ?? "");
    expect(body).toMatchObject({ token_type: "Bearer", scope: "notes:read" });
    expect(await remote.knows(body["access_token"])).toBe(false);
    expect(await introspect({ issuer, events, errors, ...rest }, body["access_token"])).toMatchObject({
      active: true,
      sub: "zoe",
      client_id: app.clientId,
    });
    expect(errors).toEqual([]);
    expect(events.map(({ type }) => type)).toEqual(["client-registered", "signed-in", "allowed", "token-issued"]);
  });

  test("does not start after a denial here, and ends with the client after a denial there", async () => {
    const { issuer, remote } = await startBoth();
    const app = await App.register(issuer);
    const consent = await app.browser.open(app.authorizeUrl());
    expect(calledBack(await app.browser.press(consent, "deny")).get("error")).toBe("access_denied");
    expect(remote.countOf("GET /auth")).toBe(0);
    remote.denies = true;
    expect((await login(app)).get("error")).toBe("access_denied");
  });

  test("as another person the next time belongs to that person", async () => {
    const both = await startBoth();
    const app = await App.register(both.issuer);
    await loginForTokens(app);
    both.remote.person = "yan";
    // Signed out there, so that it asks again.
    app.browser.cookies.splice(
      0,
      app.browser.cookies.length,
      ...app.browser.cookies.filter(({ name }) => !/^up/.test(name)),
    );
    const { access_token } = await loginForTokens(app);
    expect((await introspect(both, access_token))["sub"]).toBe("yan");
  });

  test("goes on with known metadata while newer cannot be fetched", async () => {
    letTimePass();
    const { issuer, remote } = await startBoth();
    const app = await App.register(issuer);
    await login(app);
    const asked = remote.countOf("GET /.well-known/openid-configuration");
    remote.hidesMetadata = true;
    minutes(61);
    expect((await login(app)).get("code")).toBeTruthy();
    expect(remote.countOf("GET /.well-known/openid-configuration")).toBe(asked + 1);
  });

  test("that cannot be stored is not said to be a failure of the provider", async () => {
    const storage = createDisk();
    const { issuer, events } = await startBoth({}, { storage, secrets: [randomSecret()] });
    const app = await App.register(issuer);
    const consent = await app.browser.open(app.authorizeUrl());
    storage.fullFor = "/upstream-state/";
    const refused = await app.browser.press(consent, "allow");
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([503, "60"]);
    expect(refused.text).not.toContain("Big Provider");
    storage.fullFor = "/Grant/";
    const query = calledBack(await app.browser.press(consent, "allow"));
    expect([query.get("error"), query.get("error_description")]).toEqual([
      "temporarily_unavailable",
      "the server cannot store anything now",
    ]);
    expect(events.map(({ type }) => type)).toEqual(["client-registered"]);
  });

  test("that fails there is reported to the client without details", async () => {
    const { issuer, remote, errors } = await startBoth();
    const app = await App.register(issuer);
    const consent = await app.browser.open(app.authorizeUrl());
    const stopped = new Browser((url) => url.href.startsWith(`${issuer}/callback`));
    stopped.cookies.push(...app.browser.cookies);
    const { url } = await stopped.press(consent, "allow");
    remote.isDown = true;
    app.browser.cookies.push(...stopped.cookies);
    const query = calledBack(await app.browser.open(url));
    expect([query.get("error"), query.get("error_description")]).toEqual([
      "server_error",
      "the sign-in with Big Provider failed",
    ]);
    expect(errors).toHaveLength(1);
  });

  test("that fails in any other way is reported to the operator without secrets", async () => {
    const { issuer, events, errors } = await startBoth();
    const app = await App.register(issuer);
    const consent = await app.browser.open(app.authorizeUrl());
    const stopped = new Browser((url) => url.href.startsWith(`${issuer}/callback`));
    stopped.cookies.push(...app.browser.cookies);
    const back = new URL((await stopped.press(consent, "allow")).url);
    app.browser.cookies.push(...stopped.cookies);
    const code = back.searchParams.get("code") ?? "";
    // The callback of another login: it is refused although it has a code.
    back.searchParams.set("iss", "https://evil.example");
    const query = calledBack(await app.browser.open(back.href));
    expect(query.get("error")).toBe("server_error");
    const told = inspect([errors, events], { depth: null, showHidden: true });
    expect(told).toContain("redeem a login");
    expect(code.length).toBeGreaterThan(10);
    for (const secret of [code, back.searchParams.get("state") ?? "", "between-the-two"]) {
      expect(told).not.toContain(secret);
    }
  });
});

test("the page names a provider that cannot be reached", async () => {
  const { issuer, remote, errors } = await startBoth();
  const app = await App.register(issuer);
  const consent = await app.browser.open(app.authorizeUrl());
  remote.isDown = true;
  const { status, text } = await app.browser.press(consent, "allow");
  expect([status, errors.length]).toEqual([502, 1]);
  expect(text).toContain("Big Provider cannot be reached now");
});

describe("T51: a victim cannot be made to finish an attacker's login", () => {
  /** The callback URL of an attacker, caught before it is opened. */
  async function caughtCallback({ issuer }: Both): Promise<[App, string]> {
    const attacker = await App.register(issuer);
    const browser = new Browser((url) => url.href.startsWith(`${issuer}/callback`));
    const consent = await browser.open(attacker.authorizeUrl());
    const { url } = await browser.press(consent, "allow");
    attacker.browser.cookies.push(...browser.cookies);
    return [attacker, url];
  }

  test("because the callback is refused in another browser", async () => {
    const both = await startBoth();
    const [, url] = await caughtCallback(both);
    const victim = new Browser(() => false);
    const refused = await victim.open(url);
    expect(refused.status).toBe(403);
    expect(refused.text).toContain("started in another browser");
    expect(both.events.map(({ type }) => type)).toEqual(["client-registered"]);
  });

  test("because the callback is refused in a browser with its own login, too", async () => {
    const both = await startBoth();
    const [, url] = await caughtCallback(both);
    const victim = await App.register(both.issuer);
    await victim.browser.open(victim.authorizeUrl());
    expect((await victim.browser.open(url)).status).toBe(403);
  });

  test("because the callback works once", async () => {
    const both = await startBoth();
    const [app, url] = await caughtCallback(both);
    const [one, two] = await Promise.all([app.browser.fetch(url), app.browser.fetch(url)]);
    expect([one.status, two.status].sort()).toEqual([303, 400]);
    const location = (one.headers.get("location") ?? two.headers.get("location")) as string;
    expect(calledBack(await app.browser.open(location)).get("code")).toBeTruthy();
    expect((await app.browser.open(url)).status).toBe(400);
  });

  test("because an unknown state is refused", async () => {
    const both = await startBoth();
    const app = await App.register(both.issuer);
    await app.browser.open(app.authorizeUrl());
    expect((await app.browser.open(`${both.issuer}/callback?code=x&state=made-up`)).status).toBe(400);
  });

  test("because consent for one client does not count for another one", async () => {
    const both = await startBoth();
    const one = await App.register(both.issuer);
    const two = await App.register(both.issuer, { client_name: "Another" }, one.browser);
    await login(one);
    const asked = both.remote.asked.length;
    const page = await two.browser.open(two.authorizeUrl());
    expect(page.text).toContain("“Another” wants access");
    expect(both.remote.asked.length).toBe(asked);
  });
});

describe("N24: our tokens live as long as those upstream", () => {
  test("when those end, ours are inactive and the client must sign in again", async () => {
    letTimePass();
    const both = await startBoth();
    const app = await App.register(both.issuer);
    const { access_token, refresh_token } = await loginForTokens(app);
    await both.remote.endAll();
    minutes(1.1);
    expect(await introspect(both, access_token)).toEqual({ active: false });
    const refused = await app.refresh(refresh_token);
    expect([refused.status, refused.body["error"]]).toEqual([400, "invalid_grant"]);
    const events = both.events.filter(({ type }) => type !== "not-found");
    expect(events.at(-1)).toMatchObject({ type: "upstream-ended", subject: "zoe", clientId: app.clientId });
    await expect(both.authority.upstreamToken({ subject: "zoe", clientId: app.clientId })).rejects.toThrow(
      "sign in again",
    );
  });

  test.each(["none", "client_secret_basic"])(
    "a refresh (%s) notices that, too, and revokes the rest",
    async (method) => {
      letTimePass();
      const both = await startBoth();
      const app = await App.register(both.issuer, { token_endpoint_auth_method: method });
      const { access_token, refresh_token } = await loginForTokens(app);
      await both.remote.endAll();
      minutes(1.1);
      expect((await app.refresh(refresh_token)).body["error"]).toBe("invalid_grant");
      expect(await introspect(both, access_token)).toEqual({ active: false });
    },
  );

  test("the upstream provider is asked once a minute", async () => {
    letTimePass();
    const both = await startBoth();
    const app = await App.register(both.issuer);
    const { access_token } = await loginForTokens(app);
    const asked = () => both.remote.countOf("POST /token/introspection");
    for (let times = 0; times < 3; times += 1) await introspect(both, access_token);
    expect(asked()).toBe(0);
    minutes(1.1);
    await Promise.all(Array.from({ length: 5 }, () => introspect(both, access_token)));
    expect(asked()).toBe(1);
  });

  test("without introspection, userinfo is asked", async () => {
    letTimePass();
    const both = await startBoth({ hasIntrospection: false });
    const app = await App.register(both.issuer);
    const { access_token } = await loginForTokens(app);
    minutes(1.1);
    expect((await introspect(both, access_token))["active"]).toBe(true);
    expect(both.remote.countOf("GET /me")).toBe(1);
    await both.remote.endAll();
    minutes(1.1);
    expect(await introspect(both, access_token)).toEqual({ active: false });
  });

  test("while the provider cannot be reached, tokens are neither confirmed nor revoked", async () => {
    letTimePass();
    const both = await startBoth();
    const app = await App.register(both.issuer);
    const { access_token } = await loginForTokens(app);
    both.remote.isDown = true;
    minutes(1.1);
    expect(await introspect(both, access_token)).toMatchObject({ error: "server_error" });
    both.remote.isDown = false;
    expect((await introspect(both, access_token))["active"]).toBe(true);
  });

  test("a failed upstream renewal does not end the session", async () => {
    letTimePass();
    const both = await startBoth();
    const app = await App.register(both.issuer);
    const { refresh_token } = await loginForTokens(app);
    const holder = { subject: "zoe", clientId: app.clientId };
    minutes(11);
    both.remote.isDown = true;
    await expect(both.authority.upstreamToken(holder)).rejects.toMatchObject({ code: "connection-closed" });
    expect((await app.refresh(refresh_token)).status).toBe(500);
    both.remote.isDown = false;
    expect(await both.remote.knows(await both.authority.upstreamToken(holder))).toBe(true);
    expect((await app.refresh(refresh_token)).status).toBe(200);
  });

  test("renewed upstream tokens that cannot be stored are not lost", async () => {
    letTimePass();
    const { storage, failing } = createFailingTokens();
    const both = await startBoth({}, { storage, secrets: [randomSecret()] });
    const app = await App.register(both.issuer);
    const { refresh_token } = await loginForTokens(app);
    minutes(11);
    failing.isOn = true;
    const before = both.remote.countOf("POST /token");
    expect((await app.refresh(refresh_token)).status).toBe(503);
    // The provider accepts neither the old tokens any more, nor a second use of the old refresh token.
    expect(both.remote.countOf("POST /token") - before).toBe(1);
    failing.isOn = false;
    expect((await app.refresh(refresh_token)).status).toBe(200);
    const token = await both.authority.upstreamToken({ subject: "zoe", clientId: app.clientId });
    expect(await both.remote.knows(token)).toBe(true);
  });

  test("a refresh of ours renews the upstream token in time", async () => {
    letTimePass();
    const both = await startBoth();
    const app = await App.register(both.issuer);
    const { refresh_token } = await loginForTokens(app);
    const before = both.remote.countOf("POST /token");
    minutes(5);
    const { status, body } = await app.refresh(refresh_token);
    expect([status, both.remote.countOf("POST /token") - before]).toEqual([200, 1]);
    minutes(9);
    expect((await introspect(both, body["access_token"]))["active"]).toBe(true);
  });

  test("a server gets an upstream token for its own calls, renewed once for parallel callers", async () => {
    letTimePass();
    const both = await startBoth();
    const app = await App.register(both.issuer);
    await loginForTokens(app);
    const holder = { subject: "zoe", clientId: app.clientId };
    const first = await both.authority.upstreamToken(holder);
    expect(await both.remote.knows(first)).toBe(true);
    expect(await both.authority.upstreamToken(holder)).toBe(first);
    minutes(11);
    const before = both.remote.countOf("POST /token");
    const renewed = await Promise.all(Array.from({ length: 8 }, () => both.authority.upstreamToken(holder)));
    expect([new Set(renewed).size, both.remote.countOf("POST /token") - before]).toEqual([1, 1]);
    expect(renewed[0]).not.toBe(first);
    await expect(both.authority.upstreamToken({ subject: "yan", clientId: app.clientId })).rejects.toMatchObject({
      code: "unauthorized",
    });
  });

  test("a revocation here revokes the upstream tokens", async () => {
    const both = await startBoth();
    const app = await App.register(both.issuer);
    const { access_token } = await loginForTokens(app);
    const there = await both.authority.upstreamToken({ subject: "zoe", clientId: app.clientId });
    await both.authority.revoke({ subject: "zoe" });
    expect(await introspect(both, access_token)).toEqual({ active: false });
    expect(await both.remote.knows(there)).toBe(false);
  });

  test("a revocation here that fails half-way can be repeated", async () => {
    const { storage, failing } = createFailingTokens();
    const both = await startBoth({}, { storage, secrets: [randomSecret()] });
    const app = await App.register(both.issuer);
    await loginForTokens(app);
    const there = await both.authority.upstreamToken({ subject: "zoe", clientId: app.clientId });
    failing.isOn = true;
    await expect(both.authority.revoke({ subject: "zoe" })).rejects.toThrow("connect ECONNREFUSED");
    failing.isOn = false;
    await both.authority.revoke({ subject: "zoe" });
    expect(await both.remote.knows(there)).toBe(false);
  });

  test("upstream tokens are neither stored nor sent in plain text", async () => {
    const storage = createMemoryStorage();
    const both = await startBoth({}, { storage, secrets: [randomSecret()] });
    // Too long to occur by chance in what is sealed.
    both.remote.person = "zoe-of-big-provider";
    const app = await App.register(both.issuer);
    const tokens = await loginForTokens(app);
    const there = await both.authority.upstreamToken({ subject: "zoe-of-big-provider", clientId: app.clientId });
    const kept = JSON.stringify(await storage.kv.list("", { limit: 1_000 }));
    expect(kept.length).toBeGreaterThan(1_000);
    for (const secret of [there, tokens.access_token, tokens.refresh_token, both.remote.person, app.clientId]) {
      expect(kept).not.toContain(secret);
    }
    expect(JSON.stringify(tokens)).not.toContain(there);
  });
});
