import { type OAuthEvent, oauth } from "portolan/auth/client";
import { protect } from "portolan/auth/server";
import { connect } from "portolan/client";
import { createServer } from "portolan/server";
import { serveHttp } from "portolan/server/http";
import { createAuthority, developmentUser, upstream } from "portolan-authority";
import { afterEach, expect, onTestFinished, test, vi } from "vitest";
import { Browser } from "./browser.ts";
import { serve } from "./kit.ts";
import { UpstreamProvider } from "./upstream-provider.ts";

const redirectUri = "http://127.0.0.1:9999/callback";

/** A person with a browser who allows everything. */
function somebody() {
  const visits: string[] = [];
  const browser = new Browser((url) => url.href.startsWith(redirectUri));
  const begin = async () => ({
    redirectUri,
    async visit(page: URL) {
      visits.push(page.href);
      const consent = await browser.open(page.href);
      return new URL((await browser.press(consent, "allow")).url);
    },
    close: async () => {},
  });
  return { visits, redirect: { begin } };
}

/** A server of ours behind an authority of ours, with an upstream provider. */
async function startServer() {
  let remote: UpstreamProvider | undefined;
  const signIn = upstream({ issuer: "http://127.0.0.1:1", clientId: "authority", clientSecret: "between-the-two" });
  const late = {
    ...signIn,
    get issuer() {
      return remote?.issuer ?? "http://127.0.0.1:1";
    },
  };
  const server = createServer({ name: "notes", version: "1.0.0" }).tool("whoami", {
    run: (_, { principal }) => String(principal.subject),
  });
  const origin = await serve(async (origin) => {
    const resource = `${origin}/mcp`;
    const resources = [{ resource, scopes: { read: "Read your notes" } }];
    const authority = await createAuthority({
      ...{ issuer: origin, name: "Acme", resources, signIn: late, registration: { dynamic: true } },
      onError: () => {},
    });
    const serving = serveHttp(server, {
      auth: protect({ resource, issuers: [authority.protection], onError: () => {} }),
    });
    onTestFinished(() => serving.close(0));
    return (request, response) => authority.handle(request, response, () => serving.node(request, response));
  });
  remote = await UpstreamProvider.start({ redirectUri: `${origin}/callback` });
  return { url: `${origin}/mcp`, remote };
}

/** Sends the person to the page and follows its redirect, because nothing is asked there. */
async function passThrough(page: URL): Promise<URL> {
  const response = await fetch(page, { redirect: "manual" });
  return new URL(response.headers.get("location") ?? "about:blank");
}

test("a development user signs in to a server that requires scopes, and the token is renewed", async () => {
  vi.useFakeTimers({ toFake: ["Date", "performance"] });
  const server = createServer({ name: "notes", version: "1.0.0" }).tool("whoami", {
    run: (_, { principal }) => JSON.stringify([principal.subject, principal.scopes]),
  });
  const origin = await serve(async (origin) => {
    const resource = `${origin}/mcp`;
    const scopes = { "notes:read": "Read your notes", "notes:write": "Change your notes" };
    const authority = await createAuthority({
      ...{ issuer: origin, name: "Acme", resources: [{ resource, scopes }], registration: { dynamic: true } },
      signIn: developmentUser("alice"),
    });
    const serving = serveHttp(server, {
      auth: protect({ resource, issuers: [authority.protection], scopes: ["notes:read"] }),
    });
    onTestFinished(() => serving.close(0));
    return (request, response) => authority.handle(request, response, () => serving.node(request, response));
  });
  const events: OAuthEvent["kind"][] = [];
  const begin = async () => ({ redirectUri, visit: passThrough, close: async () => {} });
  const auth = oauth({ redirect: { begin }, onEvent: ({ kind }) => events.push(kind) });
  const client = await connect(`${origin}/mcp`, { auth });
  onTestFinished(() => client.close());
  const whoami = async () => (await client.callTool("whoami")).content;
  expect(await whoami()).toEqual([{ type: "text", text: '["alice",["notes:read"]]' }]);
  vi.advanceTimersByTime(9.5 * 60_000);
  expect(await whoami()).toEqual([{ type: "text", text: '["alice",["notes:read"]]' }]);
  expect(events).toEqual(["registered", "visiting", "signed-in", "renewed"]);
});

afterEach(() => vi.useRealTimers());

test("after the upstream session ends, our client has the person sign in again, once", async () => {
  vi.useFakeTimers({ toFake: ["Date", "performance"] });
  const { url, remote } = await startServer();
  const { visits, redirect } = somebody();
  const events: OAuthEvent["kind"][] = [];
  const client = await connect(url, { auth: oauth({ redirect, onEvent: ({ kind }) => events.push(kind) }) });
  onTestFinished(() => client.close());
  const whoami = async () => (await client.callTool("whoami")).content;
  expect(await whoami()).toEqual([{ type: "text", text: "zoe" }]);
  await remote.endAll();
  vi.advanceTimersByTime(2.5 * 60_000);
  expect(await whoami()).toEqual([{ type: "text", text: "zoe" }]);
  expect(visits).toHaveLength(2);
  expect(events).toEqual(["registered", "visiting", "signed-in", "expired", "visiting", "signed-in"]);
});

test("when the upstream provider cannot be reached, the call fails without a sign-in page", async () => {
  vi.useFakeTimers({ toFake: ["Date", "performance"] });
  const { url, remote } = await startServer();
  const { visits, redirect } = somebody();
  const client = await connect(url, { auth: oauth({ redirect }) });
  onTestFinished(() => client.close());
  remote.isDown = true;
  vi.advanceTimersByTime(2.5 * 60_000);
  await expect(client.callTool("whoami")).rejects.toThrow("cannot be verified now");
  remote.isDown = false;
  expect(await client.callTool("whoami")).toMatchObject({ content: [{ text: "zoe" }] });
  expect(visits).toHaveLength(1);
});
