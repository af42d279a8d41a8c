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
  test("replaces the one before, and the token that renewed it where there is a new one", async () => {
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

  test("keeps the token that renewed it where no other is given", async () => {
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

  test("is renewed shortly before its end, so that no call is refused", async () => {
    const { authority, server, clock, events, connect } = await startStored();
    const client = await connect();
    const before = server.site.asked.length;
    clock.pass(hour - 20_000);
    await client.callTool("whoami");
    expect(server.site.asked.length - before).toBe(1);
    expect(authority.grants("refresh_token")).toHaveLength(1);
    expect(events.at(-1)?.kind).toBe("renewed");
  });

  test("is renewed when the server refuses it, whatever its time says", async () => {
    const { authority, server, person, connect } = await startStored();
    const client = await connect();
    const [token] = authority.accessTokens;
    server.site.instead.set("/mcp", ({ headers }) =>
      headers.authorization === `Bearer ${token}` ? { status: 401 } : undefined,
    );
    expect(textOf(await client.callTool("whoami"))).toContain("ada");
    expect([authority.grants("refresh_token").length, person.visits.length]).toEqual([1, 1]);
  });

  test("is not asked for again at a token endpoint that just gave it", async () => {
    const { authority, clock, connect } = await startStored();
    authority.lifeSeconds = 1;
    clock.ahead = 0;
    const client = await connect();
    await client.callTool("whoami");
    expect(authority.asked("token").length).toBeLessThanOrEqual(3);
  });
});

describe("a store that cannot be written", () => {
  test("fails the call that signed in, with the store's own error", async () => {
    const { store, connect } = await startStored();
    store.broken = new Error("disk full");
    expect(String(await reasonOf(connect()))).toContain("disk full");
  });

  test("fails the call that renewed when the server had refused the token", async () => {
    const { authority, server, store, connect } = await startStored();
    const client = await connect();
    const [token] = authority.accessTokens;
    server.site.instead.set("/mcp", ({ headers }) =>
      headers.authorization === `Bearer ${token}` ? { status: 401 } : undefined,
    );
    store.broken = new Error("disk full");
    expect((await reasonOf(client.callTool("whoami"))).message).toContain("disk full");
  });

  test("fails the call that renewed in time: the token that renews is spent and the new one would be lost", async () => {
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
  test("by invalid_grant forgets the tokens and keeps the registration", async () => {
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

  test("by invalid_client forgets the registration too, and makes another", async () => {
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
  ])("by a bare %i is as good as one that is explained", async (status, registrations) => {
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
  test("because the client is unknown has it register again the next time", async () => {
    const { authority, store, connect } = await startStored();
    authority.answer("token", { status: 401, body: { error: "invalid_client" } }, 1);
    const reason = await reasonOf(connect());
    expect(reason.message).toContain("gave no token: invalid_client");
    expect(store.kept("client")).toEqual([]);
    await connect();
    expect(authority.asked("register")).toHaveLength(2);
  });
});

describe("what a token may do", () => {
  const protectWrite = {
    scopes: ["read"],
    scopesFor: ({ name }: { name: string | undefined }) => (name === "write" ? ["write"] : []),
  };

  test.each(ways)("grows when a server of %s asks for more, and what it could do before stays", async (way) => {
    const { authority, person, connect } = await startStored({ way, protect: protectWrite });
    const client = await connect();
    expect(textOf(await client.callTool("write"))).toBe("written");
    expect(person.visits.map((page) => page.searchParams.get("scope"))).toEqual(["read", "read write"]);
    await client.callTool("whoami");
    expect(person.visits).toHaveLength(2);
    expect(authority.grants("refresh_token")).toHaveLength(0);
  });

  test("T47: is asked for once where it is not given", async () => {
    const { authority, server, person, connect } = await startStored({ protect: protectWrite });
    const client = await connect();
    authority.grantedScope = "read";
    const before = server.site.askedFor("/mcp").length;
    const reason = await reasonOf(client.callTool("write"));
    expect(reason.message).toContain("wants the scopes read write, which were asked for and not given");
    expect(person.visits).toHaveLength(2);
    expect(server.site.askedFor("/mcp").length - before).toBe(2);
    await reasonOf(client.callTool("write"));
    expect(person.visits).toHaveLength(2);
  });

  test("T47: is asked for three times at most where the server wants something else every time", async () => {
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

  test("is not asked for where a refusal has nothing to do with scopes", async () => {
    const { server, person, connect } = await startStored();
    const client = await connect();
    server.site.instead.set("/mcp", () => ({ status: 403, body: { error: "not on Sundays" } }));
    const reason = await reasonOf(client.callTool("whoami"));
    expect(reason.message).toContain("403: not on Sundays");
    expect(person.visits).toHaveLength(1);
  });
});
