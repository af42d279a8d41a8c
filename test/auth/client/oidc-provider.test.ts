import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import Provider, { type Configuration } from "oidc-provider";
import { oauth } from "portolan/auth/client";
import type { ProtectOptions } from "portolan/auth/server";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import type { TestAuthority } from "./kit/authority.ts";
import { Browser } from "./kit/browser.ts";
import { Person } from "./kit/person.ts";
import { RecordingStore } from "./kit/recording-store.ts";
import { hour, reasonOf, TestClock } from "./kit/site.ts";
import { connectTo, startProtected, textOf, type Way, ways } from "./kit/world.ts";

const server = { clientId: "server", clientSecret: "secret of the server" };

/** An oidc-provider with its default configuration and its own login, on loopback. */
async function startProvider(format: "jwt" | "opaque"): Promise<{ issuer: string; asked: string[] }> {
  for (const name of ["info", "warn"] as const) {
    const spy = vi.spyOn(console, name).mockImplementation(() => {});
    onTestFinished(() => spy.mockRestore());
  }
  const asked: string[] = [];
  let handle: ((...args: Parameters<ReturnType<Provider["callback"]>>) => unknown) | undefined;
  const listener = createServer((request, response) => {
    asked.push(`${request.method} ${request.url?.split("?")[0]}`);
    handle?.(request, response);
  });
  await new Promise<void>((resolve) => listener.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    listener.close();
    listener.closeAllConnections();
  });
  const issuer = `http://127.0.0.1:${(listener.address() as AddressInfo).port}`;
  const configuration: Configuration = {
    clients: [
      {
        client_id: server.clientId,
        client_secret: server.clientSecret,
        redirect_uris: [],
        response_types: [],
        grant_types: [],
      },
    ],
    cookies: { keys: ["a key for cookies"] },
    scopes: ["openid", "offline_access", "read", "write"],
    pkce: { required: () => true },
    rotateRefreshToken: true,
    features: {
      registration: { enabled: true },
      revocation: { enabled: true },
      introspection: { enabled: true, allowedPolicy: async () => true },
      dPoP: { enabled: true },
      resourceIndicators: {
        enabled: true,
        getResourceServerInfo: async (_context, resource) => ({
          scope: "read write",
          audience: resource,
          accessTokenFormat: format,
          accessTokenTTL: 3_600,
          ...(format === "jwt" && { jwt: { sign: { alg: "RS256" } } }),
        }),
      },
    },
  };
  const provider = new Provider(issuer, configuration);
  handle = provider.callback();
  return { issuer, asked };
}

async function start(format: "jwt" | "opaque", way: Way = "stateless", options: Partial<ProtectOptions> = {}) {
  const provider = await startProvider(format);
  const { issuer } = provider;
  const issuers = [format === "jwt" ? issuer : { issuer, endpoint: `${issuer}/token/introspection`, ...server }];
  const clock = new TestClock();
  const given = { way, issuers, now: clock.now, scopes: ["read"], ...options };
  const guarded = await startProtected({ issuer } as TestAuthority, given);
  const person = new Person();
  const browser = new Browser();
  person.does = (page) => browser.signIn(page, person.redirectUri, { login: "ada", password: "any" });
  const store = new RecordingStore();
  const auth = oauth({ redirect: person, store, now: clock.now });
  return { provider, guarded, person, browser, auth, store, clock, way };
}

describe("a server that trusts a plain oidc-provider", () => {
  test.each(ways)("accepts a login over %s, with a token that is verified by the provider's keys", async (way) => {
    const { provider, guarded, person, browser, auth } = await start("jwt", way, { scopes: ["read"] });
    const client = await connectTo(guarded.url, way, { auth });
    expect(textOf(await client.callTool("whoami"))).toMatch(/^ada by /);
    // One page for the name, one for the consent.
    expect([person.visits.length, browser.pages.length]).toEqual([1, 2]);
    expect(browser.pages[1]).toContain(guarded.resource);
    expect(provider.asked.filter((one) => one === "POST /reg")).toHaveLength(1);
    expect(provider.asked.filter((one) => one === "POST /token")).toHaveLength(1);
  });

  test("accepts a login with a token that is introspected", async () => {
    const { provider, guarded, auth } = await start("opaque");
    const client = await connectTo(guarded.url, "stateless", { auth });
    expect(textOf(await client.callTool("whoami"))).toMatch(/^ada by /);
    expect(provider.asked).toContain("POST /token/introspection");
  });

  test("accepts a token that the provider has renewed, with a new refresh token", async () => {
    const { provider, guarded, auth, store, person } = await start("opaque");
    const client = await connectTo(guarded.url, "stateless", { auth });
    const [before] = store.kept("token");
    expect(before).toMatchObject({ issuer: provider.issuer, refreshToken: expect.any(String) });
    guarded.site.instead.set("/mcp", ({ headers }) =>
      headers.authorization === `Bearer ${before?.["accessToken"]}` ? { status: 401 } : undefined,
    );
    expect(textOf(await client.callTool("whoami"))).toMatch(/^ada by /);
    const [after] = store.kept("token");
    expect(after?.["refreshToken"]).not.toBe(before?.["refreshToken"]);
    expect(person.visits).toHaveLength(1);
  });

  test("requires more scopes for some calls", async () => {
    const scopesFor = ({ name }: { name: string | undefined }) => (name === "write" ? ["write"] : []);
    const { guarded, auth, person } = await start("jwt", "stateless", { scopes: ["read"], scopesFor });
    const client = await connectTo(guarded.url, "stateless", { auth });
    expect(textOf(await client.callTool("write"))).toBe("written");
    const wanted = ["read offline_access", "read offline_access write", "read offline_access write"];
    expect(person.visits.map((page) => page.searchParams.get("scope"))).toEqual(wanted);
    // It grants a client only the scopes that it has registered.
    expect(new Set(person.visits.map((page) => page.searchParams.get("client_id"))).size).toBe(2);
  });

  test("refuses the tokens after a logout", async () => {
    const { provider, guarded, auth, store, person, clock } = await start("opaque");
    const client = await connectTo(guarded.url, "stateless", { auth });
    const [token] = store.kept("token");
    await auth.logout(guarded.url);
    expect(provider.asked).toContain("POST /token/revocation");
    const { clientId } = token!["client"] as { clientId: string };
    const body = new URLSearchParams({
      grant_type: "refresh_token",
      client_id: clientId,
      refresh_token: String(token?.["refreshToken"]),
    });
    const answer = await fetch(`${provider.issuer}/token`, { method: "POST", body });
    expect([answer.status, await answer.json()]).toMatchObject([400, { error: "invalid_grant" }]);
    clock.pass(hour / 4);
    await client.callTool("whoami");
    expect(person.visits).toHaveLength(2);
  });

  test("accepts tokens that are bound to a key, with the provider's nonces and proofs", async () => {
    const { guarded, auth, store } = await start("jwt", "stateless", { requireDpop: true });
    const client = await connectTo(guarded.url, "stateless", { auth });
    expect(textOf(await client.callTool("whoami"))).toMatch(/^ada by /);
    expect(store.kept("token")[0]).toMatchObject({ tokenType: "DPoP" });
  });

  test("T46: refuses a token that the provider issued for another server", async () => {
    const one = await start("jwt");
    await connectTo(one.guarded.url, "stateless", { auth: one.auth });
    const [foreign] = one.store.kept("token");
    const other = await startProtected({ issuer: one.provider.issuer } as TestAuthority);
    const auth = { authorize: () => ({ authorization: `Bearer ${foreign?.["accessToken"]}` }) };
    expect((await reasonOf(connectTo(other.url, "stateless", { auth }))).message).toContain("audience");
  });
});
