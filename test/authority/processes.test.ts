import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { decodeJwt } from "jose";
import { createMemoryStorage, randomSecret } from "portolan/storage";
import { type Authority, type AuthorityOptions, createAuthority } from "portolan-authority";
import { describe, expect, onTestFinished, test } from "vitest";
import { App, calledBack, introspect, people, resource } from "./kit.ts";

/** Authorities of one issuer over one storage, each as another process would have it; the first listens at the issuer. */
async function startTwo(options: Partial<AuthorityOptions> = {}) {
  const servers = await Promise.all([listen(), listen()]);
  const issuer = addressOf(servers[0]);
  const all: AuthorityOptions = {
    issuer,
    name: "Acme",
    resources: [{ resource, name: "Notes", scopes: { "notes:read": "Read your notes" } }],
    registration: { dynamic: true },
    signIn: people(),
    storage: createMemoryStorage(),
    secrets: [randomSecret()],
    ...options,
  };
  // Together, so that they race for the keys.
  const [one, two] = await Promise.all([createAuthority(all), createAuthority(all)]);
  attach(servers[0], one);
  attach(servers[1], two);
  return { issuer, other: addressOf(servers[1]), one, two, all, servers };
}

async function listen(): Promise<Server> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return server;
}

function attach(server: Server, { handle }: Authority): void {
  server.removeAllListeners("request").on("request", (request, response) => handle(request, response));
}

const addressOf = (server: Server) => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

describe("two processes over one storage", () => {
  test("sign with one key", async () => {
    const { issuer, other } = await startTwo();
    const [here, there] = await Promise.all([issuer, other].map(async (url) => (await fetch(`${url}/jwks`)).json()));
    expect(here.keys).toHaveLength(1);
    expect(there).toEqual(here);
    expect(here.keys[0]).not.toHaveProperty("d");
  });

  test("go on with what the other one has begun", async () => {
    const { issuer, other } = await startTwo();
    const app = await App.register(other);
    const begun = await app.browser.open(app.authorizeUrl());
    expect(begun.url.startsWith(other)).toBe(true);
    // The resumption leads to the issuer, which is the other process.
    const consent = await app.browser.press(begun, "sign-in", { name: "ada", password: "correct horse" });
    expect(consent.url.startsWith(issuer)).toBe(true);
    const code = calledBack(await app.browser.press(consent, "allow")).get("code") ?? "";
    const { status, body } = await app.redeem(code, {}, {}, other);
    expect(status).toBe(200);
    expect(decodeJwt(body["access_token"]).iss).toBe(issuer);
    const [here, there] = await Promise.all([
      app.refresh(body["refresh_token"], {}, issuer),
      app.refresh(body["refresh_token"], {}, other),
    ]);
    expect([here.status, there.status]).toEqual([200, 200]);
    expect(here.body).toEqual(there.body);
  });

  test("do not redeem a code twice", async () => {
    const { issuer, other } = await startTwo({ accessTokens: "opaque" });
    const app = await App.register(issuer);
    const code = (await app.login()).get("code") ?? "";
    const answers = await Promise.all([issuer, other, issuer, other].map((url) => app.redeem(code, {}, {}, url)));
    expect(answers.filter(({ status }) => status === 200).length).toBeLessThanOrEqual(1);
  });

  test("know of each other's revocations", async () => {
    const started = await startTwo({ accessTokens: "opaque" });
    const { issuer, one, two } = started;
    const app = await App.register(issuer);
    const { body } = await app.loginForTokens();
    const about = { issuer, authority: two, events: [], errors: [] };
    expect(two.protection).toEqual(one.protection);
    expect((await introspect(about, body["access_token"]))["active"]).toBe(true);
    await two.revoke({ subject: "ada" });
    expect(await introspect({ ...about, authority: one }, body["access_token"])).toEqual({ active: false });
  });
});

describe("a process that starts again", () => {
  test("takes what was given before, with an older secret too", async () => {
    const older = randomSecret();
    const { issuer, all, servers, one } = await startTwo({ secrets: [older] });
    const app = await App.register(issuer);
    const { body } = await app.loginForTokens();
    await one.close();
    attach(servers[0], await createAuthority({ ...all, secrets: [randomSecret(), older] }));
    const { status, body: renewed } = await app.refresh(body["refresh_token"]);
    expect(status).toBe(200);
    expect(decodeJwt(renewed["access_token"]).sub).toBe("ada");
    // Still signed in, too.
    expect((await app.browser.open(app.authorizeUrl())).text).toContain("Signed in as");
  });

  test("says so when no secret opens what is kept", async () => {
    const { all } = await startTwo();
    await expect(createAuthority({ ...all, secrets: [randomSecret()] })).rejects.toThrow("secrets: none opens");
  });
});
