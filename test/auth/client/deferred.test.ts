import { deferred, LoginRequired, memoryStore, oauth } from "portolan/auth/client";
import { describe, expect, test } from "vitest";
import { comeBack } from "./kit/person.ts";
import { RecordingStore } from "./kit/recording-store.ts";
import { hour, reasonOf, until } from "./kit/site.ts";
import { connectTo, startWorld, textOf, ways } from "./kit/world.ts";

const redirect = deferred("https://app.example.com/callback");

/** A program that cannot wait: it gets the URL for the person and sends them there. */
async function beginLogin(world: Awaited<ReturnType<typeof startWorld>>) {
  const reason = await reasonOf(world.connect());
  const needed = reason instanceof LoginRequired ? reason : (reason.cause as LoginRequired);
  expect(needed).toBeInstanceOf(LoginRequired);
  return { reason, needed, callback: await comeBack(new URL(needed.authorizationUrl)) };
}

describe("a deferred login", () => {
  test.each(ways)("rejects a call to a server of %s with the sign-in URL, and completes in finish()", async (way) => {
    const world = await startWorld({ way, oauth: { redirect } });
    const { reason, needed, callback } = await beginLogin(world);
    expect(reason.code).toBe("login-required");
    expect(new URL(needed.authorizationUrl).searchParams.get("state")).toBe(needed.state);
    expect(world.authority.asked("token")).toEqual([]);
    expect(await world.auth.finish(callback)).toEqual({ server: world.server.url });
    const client = await world.connect();
    expect(textOf(await client.callTool("whoami"))).toBe("ada by client-1");
    expect(world.authority.asked("token")).toHaveLength(1);
  });

  test("can be finished by another process that shares the store", async () => {
    const store = memoryStore();
    const world = await startWorld({ oauth: { redirect, store } });
    const { callback } = await beginLogin(world);
    const other = oauth({ redirect, store });
    await other.finish(callback.href);
    const client = await connectTo(world.server.url, "stateless", { auth: other });
    expect(textOf(await client.callTool("whoami"))).toBe("ada by client-1");
  });

  test("T48: can be finished only once", async () => {
    const world = await startWorld({ oauth: { redirect } });
    const { callback } = await beginLogin(world);
    const both = await Promise.allSettled([world.auth.finish(callback), world.auth.finish(callback)]);
    expect(both.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
    expect((await reasonOf(world.auth.finish(callback))).message).toContain("no login is waiting for this URL");
    expect(world.authority.asked("token")).toHaveLength(1);
  });

  test.each<[string, (callback: URL) => void]>([
    ["that is unknown", (callback) => callback.searchParams.set("state", "made-up")],
    ["that is missing", (callback) => callback.searchParams.delete("state")],
  ])("T48: is not finished by a state %s, and can still be finished", async (_, change) => {
    const world = await startWorld({ oauth: { redirect } });
    const { callback } = await beginLogin(world);
    const changed = new URL(callback);
    change(changed);
    expect((await reasonOf(world.auth.finish(changed))).message).toContain("no login is waiting");
    expect(world.authority.asked("token")).toEqual([]);
    await world.auth.finish(callback);
  });

  test("T48: is not finished for another account", async () => {
    const store = memoryStore();
    const world = await startWorld({ oauth: { redirect, store, account: "ada" } });
    const { callback } = await beginLogin(world);
    expect((await reasonOf(oauth({ redirect, store, account: "eve" }).finish(callback))).message).toContain("no login");
    await world.auth.finish(callback);
  });

  test("T43: is not finished by the answer of another issuer", async () => {
    const world = await startWorld({ oauth: { redirect } });
    const { callback } = await beginLogin(world);
    callback.searchParams.set("iss", "https://evil.example.com");
    await reasonOf(world.auth.finish(callback));
    expect(world.authority.asked("token")).toEqual([]);
  });

  test("T48: expires", async () => {
    const store = memoryStore();
    const world = await startWorld({ oauth: { redirect, store, loginMs: 1 } });
    const { needed, callback } = await beginLogin(world);
    await until(async () => (await store.get(JSON.stringify(["", "", "login", needed.state]))) === undefined);
    expect((await reasonOf(world.auth.finish(callback))).message).toContain("it expired");
    expect(world.authority.asked("token")).toEqual([]);
  });

  test("rejects with access_denied when the person refuses", async () => {
    const world = await startWorld({ oauth: { redirect } });
    const { callback } = await beginLogin(world);
    callback.searchParams.delete("code");
    callback.searchParams.set("error", "access_denied");
    const reason = await reasonOf(world.auth.finish(callback));
    expect([reason.error, reason.message]).toEqual(["access_denied", expect.stringContaining("access_denied")]);
  });

  test("starts again for every call, each with its own state", async () => {
    const world = await startWorld({ oauth: { redirect } });
    const one = await beginLogin(world);
    const two = await beginLogin(world);
    expect(one.needed.state).not.toBe(two.needed.state);
    await world.auth.finish(one.callback);
    expect(world.authority.asked("register")).toHaveLength(1);
  });
});

describe("a logout", () => {
  test("deletes the tokens, revokes them, and the next call needs a login", async () => {
    const store = new RecordingStore();
    const world = await startWorld({ oauth: { store } });
    const client = await world.connect();
    const [token] = store.kept("token");
    await world.auth.logout(world.server.url);
    expect(world.authority.revoked).toEqual([token?.["refreshToken"]]);
    expect(store.kept("token")).toEqual([]);
    expect(store.kept("client")).toHaveLength(1);
    expect(world.events.at(-1)?.kind).toBe("signed-out");
    await client.callTool("whoami");
    expect(world.person.visits).toHaveLength(2);
  });

  test("revokes the access token if there is no refresh token", async () => {
    const world = await startWorld();
    world.authority.givesRefreshTokens = false;
    await world.connect();
    await world.auth.logout(world.server.url);
    expect(world.authority.revoked).toEqual(world.authority.accessTokens);
  });

  test("deletes the tokens even if the authorization server cannot be reached, and reports that they were not revoked", async () => {
    const store = new RecordingStore();
    const world = await startWorld({ oauth: { store } });
    await world.connect();
    await world.authority.site.stop();
    expect((await reasonOf(world.auth.logout(world.server.url))).message).toContain("failed");
    expect(store.kept("token")).toEqual([]);
  });

  test("and a renewal use the configured secret, which is not in the store", async () => {
    const store = new RecordingStore();
    const client = { clientId: "known", clientSecret: "configured-secret" };
    const world = await startWorld({ oauth: { store, client } });
    const redirectUris = [world.person.redirectUri];
    world.authority.clients.set("known", { redirectUris, secret: client.clientSecret, method: "client_secret_basic" });
    const connected = await world.connect();
    world.clock.pass(2 * hour);
    await connected.callTool("whoami");
    await world.auth.logout(world.server.url);
    const shown = [...world.authority.asked("token"), ...world.authority.asked("revoke")];
    const basic = `Basic ${btoa("known:configured-secret")}`;
    expect(shown.map(({ headers }) => headers.authorization)).toEqual([basic, basic, basic]);
    expect([world.authority.revoked.length, world.person.visits.length]).toEqual([1, 1]);
    expect(JSON.stringify([...store.rows])).not.toContain("configured-secret");
  });

  test("without a login does nothing", async () => {
    const world = await startWorld();
    await world.auth.logout(world.server.url);
    expect(world.authority.site.asked).toEqual([]);
  });

  test("affects one server only", async () => {
    const one = await startWorld();
    await one.connect();
    const two = await startWorld();
    const client = await connectTo(two.server.url, "stateless", { auth: one.auth });
    await one.auth.logout(one.server.url);
    two.clock.pass(hour / 2);
    await client.callTool("whoami");
    expect(one.person.visits).toHaveLength(2);
  });
});
