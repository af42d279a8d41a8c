import { decodeJwt } from "jose";
import { createMemoryStorage, randomSecret } from "portolan/storage";
import { createRedisStorage } from "portolan/storage/redis";
import { createAuthority } from "portolan-authority";
import { createClient } from "redis";
import { describe, expect, onTestFinished, test } from "vitest";
import { freePort } from "../kit/free-port.ts";
import { startRedis } from "../storage/redis-server.ts";
import { startProcess } from "./in-process.ts";
import { App, calledBack, introspect, people, resource, type Started, start } from "./kit.ts";

/** The storages that the processes may share. */
const storages = {
  "a storage in memory": async () => ({ storage: createMemoryStorage() }),
  Redis: async () => {
    const redis = await startRedis();
    const redisUrl = `redis://127.0.0.1:${redis.port}`;
    const storage = createRedisStorage(createClient({ url: redisUrl }));
    onTestFinished(async () => {
      await storage.close();
      await redis.stop();
    });
    return { storage, redisUrl };
  },
};

/** Two processes with an authority of one issuer over one storage; the first listens at the issuer. */
async function startTwo(over: keyof typeof storages, accessTokens: "jwt" | "opaque" = "jwt") {
  const { storage, ...redis } = await storages[over]();
  const [port, otherPort] = [await freePort(), await freePort()];
  const issuer = `http://127.0.0.1:${port}`;
  const shared = {
    issuer,
    name: "Acme",
    resources: [{ resource, name: "Notes", scopes: { "notes:read": "Read your notes" } }],
    registration: { dynamic: true },
    secrets: [randomSecret()],
    introspection: { clientId: "servers", clientSecret: "between-servers" },
    accessTokens,
  };
  const { path: users } = people();
  // In parallel, so that they race for the keys.
  await Promise.all([port, otherPort].map((one) => startProcess(storage, { ...shared, ...redis, users, port: one })));
  const authority = await createAuthority({ ...shared, signIn: people(), storage });
  const here: Started = { issuer, authority, events: [], errors: [] };
  return { issuer, other: `http://127.0.0.1:${otherPort}`, here };
}

describe.each(Object.keys(storages) as (keyof typeof storages)[])("two processes over %s", (over) => {
  test("sign with one key", async () => {
    const { issuer, other } = await startTwo(over);
    const [here, there] = await Promise.all([issuer, other].map(async (url) => (await fetch(`${url}/jwks`)).json()));
    expect(here.keys).toHaveLength(1);
    expect(there).toEqual(here);
    expect(here.keys[0]).not.toHaveProperty("d");
  });

  test("continue logins of the other one", async () => {
    const { issuer, other } = await startTwo(over);
    const app = await App.register(other);
    const begun = await app.browser.open(app.authorizeUrl());
    expect(begun.url.startsWith(other)).toBe(true);
    // The login resumes at the issuer, which is the other process.
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
    const { issuer, other } = await startTwo(over);
    const app = await App.register(issuer);
    const code = (await app.login()).get("code") ?? "";
    const answers = await Promise.all([issuer, other, issuer, other].map((url) => app.redeem(code, {}, {}, url)));
    const given = answers.filter(({ status }) => status === 200);
    expect(given.length).toBeLessThanOrEqual(1);
    for (const { body } of given) expect((await app.refresh(body["refresh_token"])).status).toBe(400);
  });

  test("see each other's revocations", async () => {
    const { issuer, here } = await startTwo(over, "opaque");
    const app = await App.register(issuer);
    const { body } = await app.loginForTokens();
    expect((await introspect(here, body["access_token"]))["active"]).toBe(true);
    await here.authority.revoke({ subject: "ada" });
    expect(await introspect(here, body["access_token"])).toEqual({ active: false });
  });
});

describe("a process that starts again", () => {
  test("accepts tokens from before, also with an older secret", async () => {
    const [storage, older, signIn] = [createMemoryStorage(), randomSecret(), people()];
    const before = await start({ storage, secrets: [older], signIn });
    const app = await App.register(before.issuer);
    const { body } = await app.loginForTokens();
    await before.authority.close();
    const after = await start({ issuer: before.issuer, storage, secrets: [randomSecret(), older], signIn });
    const { status, body: renewed } = await app.refresh(body["refresh_token"], {}, after.address);
    expect(status).toBe(200);
    expect(decodeJwt(renewed["access_token"])).toMatchObject({ sub: "ada", iss: before.issuer });
    // The person is still signed in, too.
    const again = await app.browser.open(app.authorizeUrl().replace(before.issuer, after.address));
    expect(again.text).toContain("Signed in as");
  });

  test("fails with the reason when no secret opens the stored keys", async () => {
    const storage = createMemoryStorage();
    const { issuer } = await start({ storage, secrets: [randomSecret()] });
    await expect(start({ issuer, storage, secrets: [randomSecret()] })).rejects.toThrow("secrets: none opens");
  });
});
