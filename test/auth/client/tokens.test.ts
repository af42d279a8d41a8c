import { describe, expect, test } from "vitest";
import { RecordingStore } from "./kit/recording-store.ts";
import { hour, reasonOf } from "./kit/site.ts";
import { startWorld, textOf, type WorldOptions, ways } from "./kit/world.ts";

const startStored = async (options: WorldOptions = {}) => {
  const store = new RecordingStore();
  const world = await startWorld({ ...options, oauth: { store, ...options.oauth } });
  return { ...world, store };
};

describe("a token that is renewed", () => {
  test("replaces the access token, and the refresh token if there is a new one", async () => {
    const { authority, clock, store, connect } = await startStored();
    const client = await connect();
    const [before] = store.kept("token");
    clock.pass(2 * hour);
    await client.callTool("whoami");
    const [after] = store.kept("token");
    expect(after?.["refreshToken"]).not.toBe(before?.["refreshToken"]);
    expect([...authority.refreshTokens.keys()]).toEqual([after?.["refreshToken"]]);
    clock.pass(2 * hour);
    await client.callTool("whoami");
    const used = authority.grants("refresh_token").map((form) => form.get("refresh_token"));
    expect(used).toEqual([before?.["refreshToken"], after?.["refreshToken"]]);
  });

  test("keeps the refresh token if there is no new one", async () => {
    const { authority, clock, store, person, connect } = await startStored();
    authority.rotates = false;
    const client = await connect();
    const [before] = store.kept("token");
    for (let times = 0; times < 2; times += 1) {
      clock.pass(2 * hour);
      await client.callTool("whoami");
    }
    expect(store.kept("token")[0]?.["refreshToken"]).toBe(before?.["refreshToken"]);
    expect([authority.grants("refresh_token").length, person.visits.length]).toEqual([2, 1]);
  });

  test("is renewed shortly before it expires, so that no call is refused", async () => {
    const { authority, server, clock, events, connect } = await startStored();
    const client = await connect();
    const before = server.site.asked.length;
    clock.pass(hour - 20_000);
    await client.callTool("whoami");
    expect(server.site.asked.length - before).toBe(1);
    expect(authority.grants("refresh_token")).toHaveLength(1);
    expect(events.at(-1)?.kind).toBe("renewed");
  });

  test("is renewed when the server refuses it, before it expires", async () => {
    const { authority, server, person, connect } = await startStored();
    const client = await connect();
    const [token] = authority.accessTokens;
    server.site.instead.set("/mcp", ({ headers }) =>
      headers.authorization === `Bearer ${token}` ? { status: 401 } : undefined,
    );
    expect(textOf(await client.callTool("whoami"))).toContain("ada");
    expect([authority.grants("refresh_token").length, person.visits.length]).toEqual([1, 1]);
  });

  test("is not requested again at a token endpoint that has just issued it", async () => {
    const { authority, clock, connect } = await startStored();
    authority.lifeSeconds = 1;
    clock.ahead = 0;
    const client = await connect();
    await client.callTool("whoami");
    expect(authority.asked("token").length).toBeLessThanOrEqual(3);
  });
});

describe("a store that cannot be written", () => {
  test("fails the call that signed in, with the store's error", async () => {
    const { store, connect } = await startStored();
    store.broken = new Error("disk full");
    expect(String(await reasonOf(connect()))).toContain("disk full");
  });

  test("fails the call that renewed after a 401", async () => {
    const { authority, server, store, connect } = await startStored();
    const client = await connect();
    const [token] = authority.accessTokens;
    server.site.instead.set("/mcp", ({ headers }) =>
      headers.authorization === `Bearer ${token}` ? { status: 401 } : undefined,
    );
    store.broken = new Error("disk full");
    expect((await reasonOf(client.callTool("whoami"))).message).toContain("disk full");
  });

  test("fails the call that renewed in time: the refresh token is used up and the new one would be lost", async () => {
    const { clock, store, person, connect } = await startStored();
    const client = await connect();
    clock.pass(hour - 20_000);
    store.broken = new Error("disk full");
    const reason = await reasonOf(client.callTool("whoami"));
    expect([reason.code, reason.message]).toEqual(["store-failed", expect.stringContaining("disk full")]);
    expect(person.visits).toHaveLength(1);
  });
});

describe("a renewal that is refused", () => {
  test("with invalid_grant deletes the tokens and keeps the registration", async () => {
    const { authority, clock, store, person, events, connect } = await startStored();
    const client = await connect();
    authority.forget();
    clock.pass(2 * hour);
    expect(textOf(await client.callTool("whoami"))).toBe("ada by client-1");
    expect(events.map(({ kind }) => kind)).toContain("expired");
    expect([person.visits.length, authority.asked("register").length]).toEqual([2, 1]);
    expect(authority.grants("refresh_token")).toHaveLength(1);
    expect(store.kept("client")).toHaveLength(1);
  });

  test("with invalid_client deletes the registration, too, and registers again", async () => {
    const { authority, clock, store, person, connect } = await startStored();
    const client = await connect();
    authority.clients.delete("client-1");
    authority.clients.set("somebody", { redirectUris: [] });
    clock.pass(2 * hour);
    expect(textOf(await client.callTool("whoami"))).toBe("ada by client-2");
    expect([person.visits.length, authority.asked("register").length]).toEqual([2, 2]);
    expect(store.kept("client")).toMatchObject([{ clientId: "client-2" }]);
  });

  test.each([
    [400, 1],
    [401, 2],
  ])("with a bare %i counts like one with an OAuth error", async (status, registrations) => {
    const { authority, clock, person, connect } = await startStored();
    const client = await connect();
    clock.pass(2 * hour);
    authority.answer("token", { status }, 1);
    expect(textOf(await client.callTool("whoami"))).toContain("ada");
    expect([person.visits.length, authority.asked("register").length]).toEqual([2, registrations]);
  });

  test("is not tried again with the same token", async () => {
    const { authority, clock, person, connect } = await startStored();
    const client = await connect();
    authority.forget();
    clock.pass(2 * hour);
    person.does = async () => {
      throw new Error("nobody is there");
    };
    await reasonOf(client.callTool("whoami"));
    await reasonOf(client.callTool("whoami"));
    expect(authority.grants("refresh_token")).toHaveLength(1);
  });
});

describe("a code that is refused", () => {
  test("because the client is unknown makes it register again the next time", async () => {
    const { authority, store, connect } = await startStored();
    authority.answer("token", { status: 401, body: { error: "invalid_client" } }, 1);
    const reason = await reasonOf(connect());
    expect(reason.message).toContain("issued no token: invalid_client");
    expect(store.kept("client")).toEqual([]);
    await connect();
    expect(authority.asked("register")).toHaveLength(2);
  });
});

describe("the scopes of a token", () => {
  const protectWrite = {
    scopes: ["read"],
    scopesFor: ({ name }: { name: string | undefined }) => (name === "write" ? ["write"] : []),
  };

  test.each(ways)("grow when a server of %s requires more, and include the previous ones", async (way) => {
    const { authority, person, connect } = await startStored({ way, protect: protectWrite });
    const client = await connect();
    expect(textOf(await client.callTool("write"))).toBe("written");
    expect(person.visits.map((page) => page.searchParams.get("scope"))).toEqual(["read", "read write"]);
    await client.callTool("whoami");
    expect(person.visits).toHaveLength(2);
    expect(authority.grants("refresh_token")).toHaveLength(0);
  });

  test("T47: are requested once if they are not granted", async () => {
    const { authority, server, person, connect } = await startStored({ protect: protectWrite });
    const client = await connect();
    authority.grantedScope = "read";
    const before = server.site.askedFor("/mcp").length;
    const reason = await reasonOf(client.callTool("write"));
    expect(reason.message).toContain("requires the scopes read write, which were requested and not granted");
    expect(person.visits).toHaveLength(2);
    expect(server.site.askedFor("/mcp").length - before).toBe(2);
    await reasonOf(client.callTool("write"));
    expect(person.visits).toHaveLength(2);
  });

  test("T47: are requested three times at most if the server requires another one each time", async () => {
    const { server, person, connect } = await startStored();
    const client = await connect();
    let times = 0;
    server.site.instead.set("/mcp", () => {
      times += 1;
      const challenge = `Bearer error="insufficient_scope", scope="more-${times}"`;
      return { status: 403, headers: { "www-authenticate": challenge } };
    });
    const reason = await reasonOf(client.callTool("whoami"));
    expect(reason.message).toContain("has asked for more scopes 3 times for one request");
    expect([times, person.visits.length]).toEqual([4, 4]);
  });

  test("are not requested after a 403 that does not concern scopes", async () => {
    const { server, person, connect } = await startStored();
    const client = await connect();
    server.site.instead.set("/mcp", () => ({ status: 403, body: { error: "not on Sundays" } }));
    const reason = await reasonOf(client.callTool("whoami"));
    expect(reason.message).toContain("403: not on Sundays");
    expect(person.visits).toHaveLength(1);
  });
});
